"""An experiment as data: a TOML or JSON file whose lists are axes, resolved to scenarios before anything runs.

    policy = ["fgd", "pwr:0.1+fgd:0.9"]     # needed; the rest has defaults
    trace = ["default", "my-tasks.csv"]     # built-in names, or files beside this one
    seeds = 10                              # a count, or a list of seeds

Several blocks `[[experiment]]` are several such products; what stands above them holds for each that does not say
otherwise. The reader is strict, and tells all problems at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any

from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import UP_TO
from wattpack.datasets.sources import DATACENTERS, load_datacenter, load_trace
from wattpack.errors import UserError
from wattpack.experiments.axes import (
    DEFAULT_SEEDS,
    MAX_RUNS,
    MAX_SEED,
    MAX_SEEDS,
    Block,
    Experiment,
    SteadyAxes,
    first_seeds,
    resolve,
)
from wattpack.experiments.chosen import check_models
from wattpack.experiments.document import read_document
from wattpack.experiments.scenario import Inputs
from wattpack.experiments.spec_numbers import NEEDS, NUMBERS
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PROFILES, PowerProfile
from wattpack.model.tasks import Workload
from wattpack.policies.expression import parse

MAX_VALUES = MAX_SEEDS  # of one axis: a list of seeds is held to what a count may be
AXES = ("datacenter", "trace", "policy", "seeds", "profile", *NUMBERS)

__all__ = ["AXES", "DEFAULT_SEEDS", "Block", "Experiment", "first_seeds", "load_experiment", "resolve"]


def load_experiment(path: str | Path) -> Experiment:
    """The experiment of a file. Whatever is wrong with it is told in one `UserError`: `file: place: problem; ...`."""
    file = Path(path)
    document = read_document(file)
    reader = _Reader(file.parent)
    experiment = reader.experiment(document, file.stem)
    if reader.problems:
        raise UserError(f"{file}: {'; '.join(reader.problems)}")
    return experiment


class _Reader:
    """Turns a document into blocks and reads what they name; notes problems with their place and goes on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self.told: set[str] = set()  # lists of known names
        self.datacenters: dict[str, Datacenter] = {}
        self.traces: dict[str, Workload] = {}
        self.profiles: dict[str, PowerProfile] = {}
        self.broken: set[str] = set()  # files that could not be read: told once

    def problem(self, place: str, text: object) -> None:
        what, semicolon, known = str(text).partition("; known")
        if semicolon and known in self.told:  # the same list of names for every misspelt one is hard to read
            text = what
        self.told.add(known)
        self.problems.append(f"{place}: {text}")

    def experiment(self, document: dict[str, Any], stem: str) -> Experiment:
        self.known_keys(document, "", ("name", "experiment", *AXES))
        name = document.get("name", stem)
        if not isinstance(name, str) or name == "":
            self.problem("name", f"{name!r}, expected a text")
        tables = document.get("experiment")
        shared = {key: value for key, value in document.items() if key in AXES}
        if tables is None:
            blocks = [self.block(shared, dict.fromkeys(AXES, ""))]
        elif not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
            self.problem("experiment", "expected one or more blocks [[experiment]]")
            blocks = []
        else:
            blocks = [self.table(table, shared, f"experiment[{number}].") for number, table in enumerate(tables, 1)]
        runs = sum(len(block) for block in blocks)
        if runs > MAX_RUNS:
            self.problem("experiment", f"{runs:,} runs, expected at most {MAX_RUNS:,}")
        return Experiment(str(name), tuple(blocks), Inputs(self.datacenters, self.traces, self.profiles))

    def table(self, table: dict[str, Any], shared: dict[str, Any], place: str) -> Block:
        self.known_keys(table, place, AXES)
        return self.block({**shared, **table}, {axis: place if axis in table else "" for axis in AXES})

    def known_keys(self, table: dict[str, Any], place: str, known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                self.problem(f"{place}{key}", f"unknown key, expected {', '.join(known)}")

    def block(self, table: dict[str, Any], places: dict[str, str]) -> Block:
        """A block; `places[axis]` is what stands before the axis' name where it was said."""
        if "policy" not in table:
            self.problem("policy", "missing, expected one or more policy expressions")
        at = {axis: f"{places[axis]}{axis}" for axis in AXES}
        policies = tuple(self.policies(table.get("policy", []), at["policy"]))
        block = Block(
            policies,
            self.names(table.get("trace", "default"), at["trace"], self.trace),
            self.names(table.get("datacenter", alibaba2023.NAME), at["datacenter"], self.datacenter),
            self.seeds(table.get("seeds", DEFAULT_SEEDS), at["seeds"]),
            self.names(table.get("profile", PAPER.name), at["profile"], self.profile),
            self.numbers(table.get("up_to", UP_TO), at["up_to"], "up_to"),
            self.numbers(table.get("batch", 1), at["batch"], "batch"),
            self.numbers(table.get("batch_milp_seconds", 0.0), at["batch_milp_seconds"], "batch_milp_seconds"),
            self.steady(table, at),
        )
        self.known_models(block, at["profile"])
        for axis, other in NEEDS.items():
            if axis in table and other not in table:
                self.problem(at[axis], f"without {other}, expected that too")
        if "batch_seconds" in table and "steady" not in table:
            self.problem(at["batch_seconds"], "a fill-up has no time, expected steady loads too")
        return block

    def values(self, value: object, place: str, kind: type | tuple[type, ...], what: str) -> Iterable[tuple[str, Any]]:
        """The values of an axis with their places: those of the list, or the one value; wrong ones are told."""
        several = isinstance(value, list)
        found = value if isinstance(value, list) else [value]
        if several and not found:
            self.problem(place, f"an empty list, expected {what}")
        if len(found) > MAX_VALUES:
            self.problem(place, f"{len(found):,} values, expected at most {MAX_VALUES:,}")
            return
        seen: set[object] = set()
        for number, one in enumerate(found, 1):
            where = f"{place}[{number}]" if several else place
            if not isinstance(one, kind) or isinstance(one, bool):
                self.problem(where, f"{_short(repr(one))}, expected {what}")
            elif one in seen:
                self.problem(where, f"{_short(repr(one))} again, expected it once")
            else:
                seen.add(one)
                yield where, one

    def names(self, value: object, place: str, check: Any) -> tuple[str, ...]:
        found = []
        for where, name in self.values(value, place, str, "a name"):
            check(where, name)
            found.append(name)
        return tuple(found)

    def policies(self, value: object, place: str) -> Iterable[str]:
        seen: dict[str, str] = {}
        for where, text in self.values(value, place, str, "a policy expression"):
            try:
                expression = parse(text).expression
            except UserError as fault:
                self.problem(where, fault)
                continue
            if expression in seen:
                self.problem(where, f"{text!r} is {seen[expression]!r} again, expected it once")
            else:
                seen[expression] = text
                yield expression

    def seeds(self, value: object, place: str) -> tuple[int, ...]:
        if not isinstance(value, list):
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_SEEDS:
                self.problem(place, f"{_short(repr(value))}, expected a count from 1 to {MAX_SEEDS} or a list of seeds")
                return ()
            return first_seeds(value)
        found = []
        for where, seed in self.values(value, place, int, "a seed: a whole number from 0"):
            if not 0 <= seed <= MAX_SEED:
                self.problem(where, f"{_short(str(seed))}, expected 0 to {MAX_SEED}")
            found.append(seed)
        return tuple(found)

    def numbers(self, value: object, place: str, axis: str) -> tuple[Any, ...]:
        wanted, found = NUMBERS[axis], []
        for where, number in self.values(value, place, wanted.kind, wanted.what):
            if not wanted.good(number):
                self.problem(where, f"{_short(str(number))}, expected {wanted.expected}")
                continue  # 10**400 is no float
            found.append(number if wanted.kind is int else float(number))
        return tuple(found)

    def steady(self, table: dict[str, Any], at: dict[str, str]) -> SteadyAxes:
        keys = [field.name for field in fields(SteadyAxes) if field.name in table]
        return SteadyAxes(**{key: self.numbers(table[key], at[key], key) for key in keys})

    def datacenter(self, place: str, name: str) -> None:
        self.read(place, name, DATACENTERS, load_datacenter, self.datacenters)
        if name in self.datacenters and self.datacenters[name].gpu_milli == 0:
            self.problem(place, f"{name!r} has no node with a GPU, expected at least one")

    def trace(self, place: str, name: str) -> None:
        self.read(place, name, alibaba2023.TRACES, load_trace, self.traces)
        if name in self.traces and len(self.traces[name]) == 0:
            self.problem(place, f"{name!r} has no tasks, expected at least one")

    def profile(self, place: str, name: str) -> None:
        if name in PROFILES:
            self.profiles[name] = PROFILES[name]
        else:
            self.problem(place, f"unknown profile {name!r}, expected {', '.join(PROFILES)}")

    def read(self, place: str, name: str, built_in: Sequence[str], load: Any, loaded: dict[str, Any]) -> None:
        """Files are beside the experiment, wherever the command is given."""
        if name in loaded or name in self.broken:
            return
        try:
            loaded[name] = load(name if name in built_in or name == "" else str(self.folder / name))
        except UserError as fault:
            self.broken.add(name)
            self.problem(place, fault)

    def known_models(self, block: Block, place: str) -> None:
        """Every power profile must know every model of every datacenter."""
        pairs = product(block.profiles, block.datacenters)
        for profile, datacenter in ((p, d) for p, d in pairs if p in self.profiles and d in self.datacenters):
            try:
                check_models(self.datacenters[datacenter], self.profiles[profile])
            except UserError as fault:
                self.problem(place, f"{profile!r} for {datacenter!r}: {fault}")


def _short(text: str) -> str:
    """A value as a line can hold it."""
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text):,} characters)"
