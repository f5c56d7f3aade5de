"""The datacenters and traces that the page may name: built-in ones, files of the command line, uploads; no path."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from wattpack.datasets import alibaba2023
from wattpack.datasets.power_files import load_power, read_power_file
from wattpack.datasets.sources import DATACENTERS, load_datacenter, load_trace
from wattpack.datasets.timed_files import read_timed_tasks
from wattpack.energy.zones import ZONES
from wattpack.errors import UserError
from wattpack.experiments.recent import Recent
from wattpack.files import make_folder, why, write_whole
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PROFILES, PowerProfile
from wattpack.model.tasks import Workload
from wattpack.ui.answers import DatacenterLine, Trace, Uploaded
from wattpack.ui.open_nodes import Labels, labels_beside
from wattpack.ui.wire import Asked

MAX_UPLOAD_BYTES = 64 << 20  # 1.5 million tasks
MOST_UPLOADS = 100
NUMBER = re.compile(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?( [A-Z]{3})?")
UPLOADS = "uploads"


class Sources:
    """Files by the name that the page uses for them."""

    def __init__(
        self, folder: Path, datacenters: Sequence[str] = (), traces: Sequence[str] = (), power: Path | None = None
    ) -> None:
        self.folder = folder
        self.power = power
        self.profiles = profiles_with(power)  # the first is the one of questions that name none
        self.datacenters = {name: name for name in (*datacenters, *DATACENTERS)}
        self.traces = {name: name for name in (*traces, *alibaba2023.TRACES)}
        self._loaded = Recent(64)
        for name in datacenters:
            self.read_nodes(name)  # one that cannot be read stops the command
        for name in traces:
            load_trace(name)
        for file in sorted((folder / UPLOADS).glob("*/*.csv")):
            kind = file.parent.name.partition("-")[0]
            (self.datacenters if kind == "nodes" else self.traces)[f"{file.parent.name}/{file.name}"] = str(file)

    def load(self, path: str, read):  # type: ignore[no-untyped-def]
        """Read once; a file that changed is read again."""
        changed = 0
        if path not in (*DATACENTERS, *alibaba2023.TRACES):
            try:
                changed = Path(path).stat().st_mtime_ns
            except OSError as fault:
                raise UserError(f"{path}: cannot be read ({why(fault)}), expected the CSV file") from None
        return self._loaded.get((path, changed, read), lambda: read(path))

    def datacenter_path(self, name: str) -> str:
        if name not in self.datacenters:
            raise UserError(f"datacenter {name!r}: not one of this page's, expected {_some(self.datacenters)}")
        return self.datacenters[name]

    def trace_path(self, name: str) -> str:
        if name not in self.traces:
            raise UserError(f"trace {name!r}: not one of this page's, expected {_some(self.traces)}")
        return self.traces[name]

    def profile(self, name: str | None) -> PowerProfile:
        name = name or next(iter(self.profiles))
        _, with_file, label = name.partition("+")
        if with_file and name not in self.profiles:  # a run or a question of a page that had another power file, or one
            raise UserError(
                f"profile {name!r} is of a power file ({label}), expected the page of wattpack ui --power FILE"
            )
        if name not in self.profiles:
            raise UserError(f"profile {name!r}, expected one of {', '.join(self.profiles)}")
        return self.profiles[name]

    def profile_options(self, name: str | None) -> dict[str, str]:
        """The options of a command that choose this profile."""
        found = self.profile(name).name
        if found in PROFILES:
            return {} if found == PAPER.name else {"profile": found}
        return {"profile": found.partition("+")[0], "power": str(self.power)}

    def read_nodes(self, path: str) -> Datacenter:
        """With the models of the power file, if there is one."""
        return load_datacenter(path, power=self.profile(None))

    def datacenter(self, asked: Asked) -> Datacenter:
        """The datacenter of a question, with its edits."""
        path, watts = self.datacenter_path(asked.datacenter), self.profile(asked.profile)
        if not (asked.add or asked.remove or asked.replace):
            found: Datacenter = self.load(path, self.read_nodes)
            return found
        return load_datacenter(path, power=watts, add=asked.add, remove=asked.remove, replace=asked.replace)

    def labels(self, asked: Asked) -> Labels:
        """Labels and taints of the nodes of a question's datacenter, before its edits."""
        path = self.datacenter_path(asked.datacenter)
        datacenter: Datacenter = self.load(path, self.read_nodes)
        return labels_beside(path, datacenter.names)

    def trace(self, name: str) -> Workload:
        found: Workload = self.load(self.trace_path(name), load_trace)
        return found

    def signal(self, option: str, text: str) -> str:
        """A number or a country; the page names no files."""
        zones = {word.lower() for zone in ZONES for word in (zone.iso3, zone.iso2, zone.name)}
        if NUMBER.fullmatch(text) or (option == "carbon" and text.lower() in zones):
            return text
        expected = "a country like DEU or g CO2e per kWh" if option == "carbon" else "a number"
        raise UserError(f"{option} {text!r}, expected {expected}")

    def keep_upload(self, kind: Literal["nodes", "tasks"], name: str, data: bytes) -> Uploaded:
        """Check a file and keep it: nothing is kept of a file that cannot be read."""
        safe = re.sub(r"[^A-Za-z0-9._-]", "_", name.replace("\\", "/").rpartition("/")[2]).lstrip(".")[-80:]
        if not safe.endswith(".csv"):
            raise UserError(f"{safe or 'the file'}: not a CSV file, expected a name that ends in .csv")
        kept = self.folder / UPLOADS
        if kept.is_dir() and sum(1 for _ in kept.iterdir()) >= MOST_UPLOADS:
            raise UserError(f"{safe}: {MOST_UPLOADS} files are kept already, expected fewer ({kept} may be emptied)")
        place = f"{kind}-{hashlib.sha256(data).hexdigest()[:8]}"
        file = make_folder(kept / place) / safe
        write_whole(file, lambda temporary: temporary.write_bytes(data))
        try:
            read = self.read_nodes if kind == "nodes" else load_trace
            text = repr(self.load(str(file), read)).partition(": ")[2]
        except UserError as fault:
            file.unlink()
            if not any(file.parent.iterdir()):
                file.parent.rmdir()
            raise UserError(str(fault).replace(str(file), safe)) from None
        (self.datacenters if kind == "nodes" else self.traces)[f"{place}/{safe}"] = str(file)
        return Uploaded(kind, f"{place}/{safe}", text)

    def datacenter_lines(self) -> list[DatacenterLine]:
        found = []
        for name, path in self.datacenters.items():
            with suppress(UserError):  # a file that is gone or was spoilt is not offered
                own: Datacenter = self.load(path, self.read_nodes)
                found.append(DatacenterLine(name, len(own), int(own.gpus.sum()), repr(own).partition(": ")[2]))
        return found

    def trace_lines(self) -> list[Trace]:
        found = []
        for name, path in self.traces.items():
            with suppress(UserError):
                own: Workload = self.load(path, load_trace)
                found.append(Trace(name, len(own), name in alibaba2023.TRACES or _has_times(path)))
        return found


def profiles_with(power: Path | None) -> dict[str, PowerProfile]:
    """By name: those of a power file, laid over the profile that it names and then the others; the built-in ones."""
    if power is None:
        return dict(PROFILES)
    first = read_power_file(power).parent.name
    laid = [load_power(power, name) for name in dict.fromkeys((first, *PROFILES))]
    return {profile.name: profile for profile in laid} | PROFILES


def _has_times(path: str) -> bool:
    try:
        read_timed_tasks(path)
    except UserError:
        return False
    return True


def _some(names: dict[str, str]) -> str:
    shown = list(names)
    return ", ".join(shown[:6]) + (", ..." if len(shown) > 6 else "")
