"""A public trace as tasks with times: `wattpack.import_trace`, and what it and `wattpack import-trace` say of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from wattpack.answers.csv_output import write_timed_tasks
from wattpack.answers.text import Shown, say
from wattpack.datasets.formats import FORMATS as WITHOUT_CLUSTERS
from wattpack.datasets.formats.format import Assumed, Format
from wattpack.datasets.formats.imported import Imported
from wattpack.datasets.formats.imported import import_trace as read_trace
from wattpack.errors import UserError
from wattpack.kube import pod_trace
from wattpack.model.tasks import Workload

if TYPE_CHECKING:
    from pandas import DataFrame

FORMATS: dict[str, Format] = {**WITHOUT_CLUSTERS, pod_trace.FORMAT.name: pod_trace.FORMAT}


@dataclass(repr=False, kw_only=True)
class ImportedTrace(Shown, Imported):
    """The answer of `wattpack.import_trace`: the `trace`, and what became of the file's lines."""

    kind: Format
    assumed: Assumed

    @property
    def trace(self) -> Workload:
        """The tasks with their times, for `wattpack.simulate` and the others."""
        return replace(self.tasks.workload, times=self.tasks)

    def show(self, console: Console) -> None:
        say(console, *lines_of(self, self.kind, self.assumed))

    def to_pandas(self) -> DataFrame:
        """A row a task: what it asks for, and its times."""
        return self.trace.to_pandas()

    def save(self, path: str | Path) -> Path:
        """Write the tasks as a CSV file, as `wattpack import-trace --out` does, and return its path."""
        write_timed_tasks(Path(path), self.tasks)
        return Path(path)


def import_trace(
    format: str,
    file: str | Path,
    *,
    vcpu_per_gpu: float = Assumed.vcpu_per_gpu,
    memory_gib_per_gpu: float = Assumed.memory_gib_per_gpu,
    gpus_per_node: int = Assumed.gpus_per_node,
    processors_per_gpu: int = Assumed.processors_per_gpu,
    time_zone: str = Assumed.time_zone,
    nodes: str | Path | Iterable[str | Path] = (),
    gpu_only: bool = False,
    strict: bool = False,
) -> ImportedTrace:
    """Read a trace in a public format: alibaba2025, alibaba-spot2026, philly, helios, acme, swf, sacct, kubernetes.

    What a format does not say is assumed, by the keywords; bad lines are refused and counted, with `strict` they are an
    error. `nodes`: files with the nodes of the cluster (kubernetes). `gpu_only`: without the tasks that have no GPU.
    """
    if format not in FORMATS:
        raise UserError(f"unknown format {format!r}, expected one of {', '.join(FORMATS)}")
    beside = [Path(nodes)] if isinstance(nodes, str | Path) else [Path(one) for one in nodes]
    assumed = Assumed(vcpu_per_gpu, memory_gib_per_gpu, gpus_per_node, processors_per_gpu, time_zone)
    kind = format_of(format, beside, "nodes")
    found = read_trace(kind, Path(file), assumed, strict, gpu_only)
    return ImportedTrace(**vars(found), kind=kind, assumed=assumed)


def format_of(name: str, nodes: list[Path], option: str) -> Format:
    """The reader of a format; that of clusters may have files of nodes beside it."""
    if nodes and name != pod_trace.FORMAT.name:
        raise UserError(f"{option} with format {name}, expected format {pod_trace.FORMAT.name}")
    return pod_trace.format_beside(nodes) if name == pod_trace.FORMAT.name else FORMATS[name]


def lines_of(imported: Imported, kind: Format, assumed: Assumed) -> Iterator[str]:
    """What was read, refused and assumed, a line each."""
    tasks = imported.tasks
    milli = tasks.workload.gpu_request_milli()
    days = tasks.arrival_s.max() / 86_400
    on_clock = f", from {tasks.start:%Y-%m-%dT%H:%M:%SZ} on" if tasks.start else ""
    yield f"read      {len(tasks):,} tasks of {imported.jobs:,} jobs, arriving over {days:,.1f} days{on_clock}"
    at_start, endless = int((tasks.arrival_s == 0).sum()), int((tasks.duration_s == math.inf).sum())
    yield f"          {(milli > 0).sum():,} with GPUs, {at_start:,} at time 0, {endless:,} never leave"
    for reason, count in imported.not_tasks.items():
        yield f"no tasks  {count:,} {kind.counted}s: {reason}"
    if imported.refused:
        yield f"refused   {imported.refused:,} {kind.counted}s"
        for place, reason in imported.first_refused:
            yield f"          {kind.counted} {place}: {reason}"
        if imported.refused > len(imported.first_refused):
            yield f"          and {imported.refused - len(imported.first_refused):,} more"
    for text in (*kind.assumed_in_words(assumed), *kind.notes):
        yield f"assumed   {text}"
