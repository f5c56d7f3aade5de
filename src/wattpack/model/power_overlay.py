"""A power file laid over a profile: what it says wins, the rest is inherited from the profile and the catalog.

How a profile makes a curve of end points holds for inherited values too: under `paper` the context follows the maximum,
under `linear` and `concave` the idle watts, under `measured` it is the catalog's reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from wattpack.errors import UserError
from wattpack.model.catalog import CPUS, GPUS, PAPER_NAMES
from wattpack.model.gpu_names import models_meant
from wattpack.model.power import (
    CONCAVE,
    LINEAR,
    MEASURED,
    PAPER,
    PAPER_WATTS,
    PROFILES,
    TYPICAL_SHARE_OF_LIMIT,
    CpuPower,
    GpuPower,
    PowerProfile,
)
from wattpack.model.power_changes import ADDED, OVERRIDDEN, SET, UNCHANGED, Change, Overlay, Value
from wattpack.model.power_file import CpuItem, GpuItem, Points, PowerFile

MAX_MODELS_NAMED = 5  # in a fault


class Form(NamedTuple):
    """How a profile makes a curve of idle, context and limit."""

    context: str  # what an idle context draws: the "maximum", what an "idle" GPU draws, or the catalog's "reading"
    exponent: float = 1.0
    share_of_limit: float = 1.0


FORMS = {
    PAPER.name: Form("maximum"),
    LINEAR.name: Form("idle"),
    CONCAVE.name: Form("idle", exponent=0.7),
    MEASURED.name: Form("reading", share_of_limit=TYPICAL_SHARE_OF_LIMIT),
}


def lay_over(file: PowerFile, where: str, label: str, profile: str | None = None) -> Overlay:
    """`file` over the profile of this name, or over the one that the file names, or over the paper's.

    `label` is what the file is called where it has no name of its own. `where` names it in faults: all of them are
    reported at once.
    """
    parent = PROFILES[profile or file.profile or PAPER.name]
    reader = _Reader(file, parent)
    gpus = {name: gpu for name, item in file.gpu.items() if (gpu := reader.gpu(name, item)) is not None}
    if file.share_of_limit is not None:
        gpus = reader.rescaled(file.gpu) | gpus
    cpus = {name: cpu for name, item in file.cpu.items() if (cpu := reader.cpu(name, item)) is not None}
    if reader.faults:
        raise UserError(f"{where}: {'; '.join(reader.faults[:20])}" + (" ..." if len(reader.faults) > 20 else ""))
    found = replace(
        parent,
        name=f"{parent.name}+{file.name or label}",
        gpus={**parent.gpus, **{name: gpu for name, gpu in gpus.items() if name in parent.gpus}},
        further_gpus={**parent.further_gpus, **{name: gpu for name, gpu in gpus.items() if name not in parent.gpus}},
        cpus={**parent.cpus, **cpus},
        source=f"{parent.source}; changed by {file.name or label}",
    )
    node = file.node
    if node.default_cpu is not None and node.default_cpu not in found.cpus:
        known = ", ".join(sorted(found.cpus))
        raise UserError(f"{where}: node.default_cpu: {node.default_cpu}, expected a CPU with known watts: {known}")
    share = node.base_share_of_limits or 0.0
    limits = {name: reader.limit_w(name, file.gpu.get(name)) for name in found.known_gpus} if share > 0 else {}
    found = replace(
        found,
        default_cpu=node.default_cpu or found.default_cpu,
        base_w=node.base_w or 0.0,
        gpu_base_w={name: share * limit_w for name, limit_w in limits.items()},
    )
    said = {key: getattr(node, key) for key in node.__struct_fields__}
    head = {key: Value(value, "file") for key, value in said.items() if value is not None}
    changes = [Change("node", "", SET, head)] if head else []
    if file.share_of_limit is not None:
        changes.insert(0, Change("", "", SET, {"share_of_limit": Value(file.share_of_limit, "file")}))
    return Overlay(found, parent, (*changes, *reader.changes))


class _Reader:
    """Resolves the entries of one file; collects faults and changes."""

    def __init__(self, file: PowerFile, parent: PowerProfile) -> None:
        self.file, self.parent, self.form = file, parent, FORMS[parent.name]
        self.faults: list[str] = []
        self.changes: list[Change] = []

    def known(self, name: str) -> GpuPower | None:
        return self.parent.gpus.get(name) or self.parent.further_gpus.get(name)

    def limit_w(self, name: str, item: GpuItem | None = None) -> float:
        """The board's limit as the file, the profile or the catalog has it; 0: unknown."""
        if item is not None and item.limit_w is not None:
            return item.limit_w
        like = name if item is None or item.like is None else item.like
        said_w = 0.0 if item is None else item.max_w or (item.points[-1][1] if item.points else 0.0)
        if said_w > 0 and like != name:  # the limit of another model says nothing of one with its own maximum
            return said_w
        if self.form.context != "reading" and like in PAPER_WATTS:
            return PAPER_WATTS[like][1]
        entry = GPUS.get(PAPER_NAMES.get(like, like))
        return entry.limit_w if entry is not None else said_w

    def gpu(self, name: str, item: GpuItem) -> GpuPower | None:
        """The watts of an entry; None after a fault."""
        at, like = f'gpu."{name}"', item.like or name
        parent, entry = self.known(like), GPUS.get(PAPER_NAMES.get(like, like))
        if item.like is not None and parent is None and entry is None:
            self.faults.append(f"{at}.like: {item.like}, expected a model such as {self._close(like)}")
            return None
        values: dict[str, Value] = {}
        _take(values, "idle_w", item.idle_w, parent.idle_w if parent else None, self._of(like))
        if item.points is not None:
            points = self._whole(item.points, item, like, values)
        else:  # a curve of the catalog stays, unless the entry says something else of the draw in use
            points = parent.points if parent is not None and not _shaped(item) else ()
        if points:
            origin = "file" if item.points is not None else self._of(like)
            values["points"] = Value(f"{len(points)}, {points[0][1]:g} to {points[-1][1]:g} W", origin)
            values |= {"context_w": Value(points[0][1], origin), "max_w": Value(points[-1][1], origin)}
        else:
            self._take_maximum(values, name, item, like)
            self._take_context(values, item, like)
            inherited = parent.exponent if parent is not None else self.form.exponent
            _take(values, "exponent", item.exponent, inherited, self.parent.name)
        if not self._is_whole(at, name, values):
            return None
        for key in ("limit_w", "source", "confidence", "samples", "fit_error_w"):
            _take(values, key, getattr(item, key), None, "")
        idle_w, max_w, context_w = (float(values[key].value) for key in ("idle_w", "max_w", "context_w"))
        found = GpuPower(idle_w, max_w, context_w, float(values["exponent"].value) if not points else 1.0, points)
        self.changes.append(Change("gpu", name, _status(found, self.known(name)), values))
        return found

    def _of(self, like: str) -> str:
        return f"{self.parent.name}, {like}"

    def _whole(self, points: Points, item: GpuItem, like: str, values: dict[str, Value]) -> Points:
        """The points from share 0 on: where the first is above it, the context comes before."""
        if points[0][0] == 0:
            return points
        self._take_context(values, item, like)
        return ((0.0, float(values["context_w"].value)), *points) if "context_w" in values else points

    def _take_maximum(self, values: dict[str, Value], name: str, item: GpuItem, like: str) -> None:
        """Watts at full use: as said; a share of the limit where either is said; as inherited."""
        parent, limit_w = self.known(like), self.limit_w(name, item)
        said = item.share_of_limit or self.file.share_of_limit
        share = said or self.form.share_of_limit
        if parent is None or item.limit_w is not None or said is not None:
            _take(values, "max_w", item.max_w, share * limit_w or None, f"{share:g} of the limit, {limit_w:g} W")
        else:
            _take(values, "max_w", item.max_w, parent.max_w, self._of(like))

    def _take_context(self, values: dict[str, Value], item: GpuItem, like: str) -> None:
        """An idle context: as said, or by the profile's form."""
        entry = GPUS.get(PAPER_NAMES.get(like, like))
        if self.form.context == "maximum" and "max_w" in values:
            inherited, origin = float(values["max_w"].value), f"{self.parent.name}: the maximum"
        elif self.form.context == "reading" and entry is not None and entry.context_w is not None:
            inherited, origin = entry.context_w, self._of(like)
        elif "idle_w" in values:
            inherited, origin = float(values["idle_w"].value), f"{self.parent.name}: as idle"
        else:
            return
        _take(values, "context_w", item.context_w, inherited, origin)

    def _is_whole(self, at: str, name: str, values: Mapping[str, Value]) -> bool:
        """Whether idle and maximum are there, and idle <= context <= maximum."""
        missing = [key for key in ("idle_w", "max_w") if key not in values]
        if missing:
            meant = models_meant(name)
            other = f", or the name of a model that it knows: {', '.join(meant)}" if meant else ""
            self.faults.append(f"{at}: {_missing(missing)}{other}")
            return False
        for low, high in (("idle_w", "context_w"), ("context_w", "max_w")):
            if float(values[low].value) > float(values[high].value):
                self.faults.append(
                    f"{at}.{low}: {_with_origin(values[low])}, expected at most {high}, {_with_origin(values[high])}"
                )
                return False
        return True

    def rescaled(self, own: Iterable[str]) -> dict[str, GpuPower]:
        """All models of the profile with the file's share of the limit, but those that have an entry or a curve."""
        found, before, faults = {}, len(self.changes), len(self.faults)
        too_much = []  # (share of the limit, watts, limit, model): GPUs that draw more without work
        for name in sorted({*self.parent.known_gpus} - {*own}):
            gpu, known = self.gpu(name, GpuItem()), self.known(name)
            if gpu is not None and known is not None and not known.points:
                found[name] = gpu
            elif gpu is None and known is not None:
                least_w = known.idle_w if self.form.context == "maximum" else known.context_w
                limit_w = self.limit_w(name)
                too_much.append((least_w / limit_w, least_w, limit_w, name))
        del self.changes[before:]  # one line for all of them, as for their faults: the file does not name them
        del self.faults[faults:]
        if too_much:
            share, least_w, limit_w, name = max(too_much, key=lambda one: one[0])
            self.faults.append(
                f"share_of_limit: {self.file.share_of_limit:g}, expected at least {ceil(100 * share) / 100:g} for all "
                f"models, as {name} draws {least_w:g} of {limit_w:g} W without work; or a share_of_limit in the "
                "entries of your own GPUs"
            )
        return found

    def cpu(self, name: str, item: CpuItem) -> CpuPower | None:
        at, like = f'cpu."{name}"', item.like or name
        parent, entry = self.parent.cpus.get(like), CPUS.get(like)
        if item.like is not None and parent is None and entry is None:
            known = ", ".join(sorted(self.parent.cpus))
            self.faults.append(f"{at}.like: {item.like}, expected one of {known}")
            return None
        values: dict[str, Value] = {}
        for key in ("cores", "idle_w", "max_w"):
            _take(values, key, getattr(item, key), getattr(parent or entry, key, None), f"catalog, {like}")
        missing = [key for key in ("cores", "idle_w", "max_w") if key not in values]
        if missing:
            self.faults.append(f"{at}: {_missing(missing)}")
            return None
        cpu = CpuPower(int(values["cores"].value), float(values["idle_w"].value), float(values["max_w"].value))
        if cpu.idle_w > cpu.max_w:
            self.faults.append(f"{at}.idle_w: {cpu.idle_w:g}, expected at most max_w {cpu.max_w:g}")
            return None
        _take(values, "source", item.source, None, "")
        self.changes.append(Change("cpu", name, _status(cpu, self.parent.cpus.get(name)), values))
        return cpu

    def _close(self, name: str) -> str:
        """The models that the name may mean, or those that are nearest in spelling, or the first few."""
        from difflib import get_close_matches

        known = sorted({*self.parent.known_gpus, *GPUS})
        if meant := models_meant(name):
            return ", ".join(meant)
        return ", ".join(get_close_matches(name, known, MAX_MODELS_NAMED, 0.5) or known[:MAX_MODELS_NAMED])


def _status(found: GpuPower | CpuPower, before: GpuPower | CpuPower | None) -> str:
    return ADDED if before is None else UNCHANGED if found == before else OVERRIDDEN


def _missing(keys: list[str]) -> str:
    them = "it" if len(keys) == 1 else "them"
    return f"no {' and no '.join(keys)}, expected {them} here: the catalog does not have {them}"


def _take(values: dict[str, Value], key: str, said: float | str | None, inherited: float | None, origin: str) -> None:
    """Into `values`: what the file says, or what is inherited; nothing where there is neither."""
    if said is not None:
        values[key] = Value(said, "file")
    elif inherited is not None:
        values[key] = Value(inherited, origin)


def _with_origin(value: Value) -> str:
    return f"{value.value:g}" if value.origin == "file" else f"{value.value:g} ({value.origin})"


def _shaped(item: GpuItem) -> bool:
    """Whether the entry says anything of the draw in use."""
    return any(value is not None for value in (item.context_w, item.max_w, item.limit_w, item.exponent)) or (
        item.share_of_limit is not None
    )
