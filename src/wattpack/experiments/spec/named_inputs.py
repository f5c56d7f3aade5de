"""The datacenters, traces and power profiles that an experiment file names: loaded once, problems reported once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from wattpack.datasets import alibaba2023
from wattpack.datasets.cap_speed_files import CapSpeeds
from wattpack.datasets.edits import split_edits
from wattpack.datasets.power_files import load_power
from wattpack.datasets.sources import DATACENTERS, load_datacenter, load_trace
from wattpack.datasets.speed_files import SpeedTable
from wattpack.datasets.timed_trace import TimedTrace
from wattpack.energy.signal import Signal
from wattpack.errors import UserError
from wattpack.experiments.scenario import Inputs
from wattpack.experiments.spec.axes import Block
from wattpack.experiments.spec.chosen import check_models
from wattpack.experiments.timed_fields import load_cap_tables, load_signals, load_speed_tables
from wattpack.experiments.timed_options import Timed
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PROFILES, PowerProfile
from wattpack.model.tasks import Workload
from wattpack.model.timed_tasks import TimedTasks


class NamedInputs:
    """Loads inputs by name. `problem(place, text)` is called for each that is wrong."""

    def __init__(self, folder: Path, problem: Callable[[str, object], None]) -> None:
        self.folder, self.problem = folder, problem
        self.datacenters: dict[str, Datacenter] = {}
        self.traces: dict[str, Workload] = {}
        self.profiles: dict[str, PowerProfile] = {}
        self.watts = PAPER  # knows the models of node files: the first profile of a block
        self.broken: set[str] = set()  # files that could not be read: reported once
        self.with_times = False  # whether the block has runs in time
        self.timed: dict[str, TimedTrace | TimedTasks] = {}
        self.signals: dict[tuple[str, str], Signal] = {}
        self.power_files: dict[tuple[Path, str | None], None] = {}  # with the profile that each is laid over
        self.speeds: dict[str, SpeedTable] = {}
        self.cap_speeds: dict[str, CapSpeeds] = {}

    def loaded(self) -> Inputs:
        in_time = (self.timed, self.signals, self.speeds, self.cap_speeds)
        return Inputs(self.datacenters, self.traces, self.profiles, *in_time)

    def datacenter(self, place: str, name: str) -> None:
        self._read(place, name, DATACENTERS, partial(load_datacenter, power=self.watts), self.datacenters)
        if name in self.datacenters and self.datacenters[name].gpu_milli == 0:
            self.problem(place, f"{name!r} has no node with a GPU, expected at least one")

    def trace(self, place: str, name: str) -> None:
        self._read(place, name, alibaba2023.TRACES, load_trace, self.traces)
        if name in self.traces and len(self.traces[name]) == 0:
            self.problem(place, f"{name!r} has no tasks, expected at least one")
        if self.with_times and name in self.traces and name not in self.timed:
            from wattpack.experiments.timed_scenarios import load_timed

            try:
                self.timed[name] = load_timed(name, self.folder / name)
            except UserError as fault:
                self.problem(place, fault)

    def signals_of(self, options: tuple[Timed, ...], place: str) -> None:
        """Signals, tables of speeds and targets that the options of runs in time name."""
        try:
            self.signals |= load_signals(options, self.folder)
            self.speeds |= load_speed_tables(options, self.folder)
            self.cap_speeds |= load_cap_tables(options, self.folder)
        except UserError as fault:
            self.problem(place, fault)
        for target in dict.fromkeys(one.target for one in options if one.target):
            self._read(f"{place}.target", target, alibaba2023.TRACES, load_trace, self.traces)

    def profile(self, place: str, name: str) -> None:
        if name in PROFILES:
            self.profiles[name] = PROFILES[name]
        else:
            self.problem(place, f"unknown profile {name!r}, expected {', '.join(PROFILES)}")

    def power_file(self, place: str, file: str, name: str | None) -> str | None:
        """The profile of a power file beside the experiment, over the profile `name`; what results call it."""
        if name is not None and name not in PROFILES:
            self.problem(place, f"unknown profile {name!r}, expected {', '.join(PROFILES)}")
            return None
        try:
            found = load_power(self.folder / file, name)
        except UserError as fault:
            if file not in self.broken:
                self.problem(place, fault)
            self.broken.add(file)
            return None
        self.power_files[self.folder / file, name] = None
        label, number = found.name, 1
        while self.profiles.setdefault(label, found) != found:  # another file of the same name
            number += 1
            label = f"{found.name}-{number}"
        return label

    def _read(self, place: str, name: str, built_in: Sequence[str], load: Any, loaded: dict[str, Any]) -> None:
        """Files are looked for beside the experiment, not in the current folder."""
        if name in loaded or name in self.broken:
            return
        try:
            is_whole = split_edits(name)[0] in built_in or name == ""
            loaded[name] = load(name if is_whole else str(self.folder / name))
        except UserError as fault:
            self.broken.add(name)
            self.problem(place, fault)

    def check_models(self, block: Block, place: str) -> None:
        """Every power profile must know every model of every datacenter."""
        pairs = product(block.profiles, block.datacenters)
        for profile, datacenter in ((p, d) for p, d in pairs if p in self.profiles and d in self.datacenters):
            try:
                check_models(self.datacenters[datacenter], self.profiles[profile])
            except UserError as fault:
                self.problem(place, f"{profile!r} for {datacenter!r}: {fault}")
