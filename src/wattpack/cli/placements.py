"""Placements as they are, and what a policy's own would have saved: the second half of `wattpack replay`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.csv_files import Row, read_rows
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import ALLOCATED, CPU_POWER, FRAGMENTATION, GPU_POWER, MICRO
from wattpack.engine.runs.record import Run, gpu_index_text
from wattpack.errors import UserError
from wattpack.model.nodes import MAX_GPUS, Datacenter
from wattpack.model.power import GPU_MILLI, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.policies.expression import parse

NOT_UNDERSTOOD = "not-understood.csv"  # beside the files of `wattpack import`: pods whose GPUs would look free


@dataclass(frozen=True)
class Placements:
    """Where each task of a workload is."""

    file: Path
    node: NDArray[np.int32]  # -1: nowhere
    gpus: NDArray[np.int32]  # bit set


@dataclass(frozen=True)
class Outcome:
    power_w: float
    served_gpus: float
    requested_gpus: float
    fragmentation_gpus: float
    placed: int
    nodes_in_use: int

    @property
    def grar(self) -> float:
        return self.served_gpus / self.requested_gpus if self.requested_gpus else 1.0


def refuse_not_understood(*files: Path) -> None:
    """Refuse files of an import that could not count all that pods hold, whichever of them lies in its folder."""
    for folder in dict.fromkeys(file.parent for file in files):
        told = folder / NOT_UNDERSTOOD
        if not told.is_file():
            continue
        from wattpack.kube.not_understood import NotUnderstood, refusal

        rows = [
            NotUnderstood(*(row.text(column) for column in NotUnderstood._fields))
            for row in read_rows(told, NotUnderstood._fields, ())
        ]
        if rows:
            raise UserError(f"{told}: {refusal(rows)}, expected an import that understands them (--dialect)")


def read_placements(file: Path, datacenter: Datacenter, workload: Workload) -> Placements:
    """`task,node,gpu_index`; a task that is not in the file is nowhere."""
    tasks = {name: i for i, name in enumerate(workload.task_names or ())}
    nodes = {name: n for n, name in enumerate(datacenter.names)}
    if len(tasks) < len(workload):
        raise UserError(f"{file}: two tasks of the tasks file have the same name, expected different ones")
    node, gpus = np.full(len(workload), -1, dtype=np.int32), np.zeros(len(workload), dtype=np.int32)
    seen: set[str] = set()
    for row in read_rows(file, ("task", "node", "gpu_index"), ()):
        task = row.text("task")
        if task not in tasks or task in seen:
            raise row.fault("task", "a task of the tasks file, once")
        seen.add(task)
        name = row.text("node")
        if name == "":
            continue
        if name not in nodes:
            raise row.fault("node", "empty or a node of the nodes file")
        node[tasks[task]] = nodes[name]
        gpus[tasks[task]] = _bits(row)
    return Placements(file, node, gpus)


def _bits(row: Row) -> int:
    parts = row.text("gpu_index").split("-") if row.text("gpu_index") else []
    numbers = {int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 3}
    if len(numbers) != len(parts) or any(number >= MAX_GPUS for number in numbers):
        raise row.fault("gpu_index", f"empty or different numbers below {MAX_GPUS} like 0-3-4")
    return sum(1 << number for number in numbers)


def engine_with(
    placements: Placements, datacenter: Datacenter, workload: Workload, target: Target, profile: PowerProfile
) -> Engine:
    """The datacenter with every task where it is. A task that does not fit there is the file's fault."""
    from wattpack.optimise.bound.offline import place_all  # 0.3 s of scipy that a plain replay does without

    engine = Engine(datacenter, workload.classes, parse("fgd"), target, profile)
    fault = int(place_all(engine.state, engine.plan, workload.sequence, placements.node, placements.gpus))
    if fault >= 0:
        name, where = workload.task_name(fault), datacenter.names[placements.node[fault]]
        gpus = gpu_index_text(int(placements.gpus[fault])) or "none"
        raise UserError(
            f"{placements.file}: task {name} does not fit on node {where} (GPUs {gpus}), expected room for it"
        )
    return engine


def measure(
    placements: Placements, datacenter: Datacenter, workload: Workload, target: Target, profile: PowerProfile
) -> Outcome:
    """What the placements as they are serve and draw."""
    engine = engine_with(placements, datacenter, workload, target, profile)
    totals = engine.state.totals
    return Outcome(
        power_w=int(totals[CPU_POWER] + totals[GPU_POWER]) / 1000,
        served_gpus=int(totals[ALLOCATED]) / GPU_MILLI,
        requested_gpus=int(workload.gpu_request_milli().sum()) / GPU_MILLI,
        fragmentation_gpus=float(totals[FRAGMENTATION : FRAGMENTATION + 6].sum()) / MICRO / GPU_MILLI,
        placed=int((placements.node >= 0).sum()),
        nodes_in_use=len(np.unique(placements.node[placements.node >= 0])),
    )


def outcome_of(run: Run) -> Outcome:
    """The same of a policy's own run, after its last task."""
    if len(run) == 0:
        power_w = int(run.start[CPU_POWER] + run.start[GPU_POWER]) / 1000
        return Outcome(power_w, 0, 0, float(run.start[FRAGMENTATION:].sum()) / MICRO / GPU_MILLI, 0, 0)
    return Outcome(
        power_w=float(run.power_w[-1]),
        served_gpus=float(run.allocated_milli[-1]) / GPU_MILLI,
        requested_gpus=float(run.requested_milli[-1]) / GPU_MILLI,
        fragmentation_gpus=float(run.fragmentation_milli[-1]) / GPU_MILLI,
        placed=int((run.node >= 0).sum()),
        nodes_in_use=len(np.unique(run.node[run.node >= 0])),
    )


def print_side_by_side(rows: Sequence[tuple[str, str, str]]) -> None:
    """A name and two values a row, after an empty line."""
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    print()
    for name, left, right in rows:
        print(f"{name:<{widths[0]}}  {left:>{widths[1]}}  {right:>{widths[2]}}")


def print_saving(now: Outcome, policy: Outcome, expression: str) -> None:
    """Both side by side, and the difference in watts and percent of what is drawn now."""
    rows = [
        ("", "as it is", expression),
        ("power, W", f"{now.power_w:,.0f}", f"{policy.power_w:,.0f}"),
        ("GRAR", f"{now.grar:.4f}", f"{policy.grar:.4f}"),
        ("GPUs served", f"{now.served_gpus:,.1f}", f"{policy.served_gpus:,.1f}"),
        ("tasks placed", f"{now.placed:,}", f"{policy.placed:,}"),
        ("nodes in use", f"{now.nodes_in_use:,}", f"{policy.nodes_in_use:,}"),
        ("fragmentation, GPUs", f"{now.fragmentation_gpus:,.1f}", f"{policy.fragmentation_gpus:,.1f}"),
    ]
    print_side_by_side(rows)
    saved = now.power_w - policy.power_w
    percent = 100 * saved / now.power_w if now.power_w else 0.0
    word = "saves" if saved >= 0 else "costs"
    print(f"{expression} {word} {abs(saved):,.0f} W, {abs(percent):.1f} % of the power as it is")
    if abs(now.served_gpus - policy.served_gpus) > 0.0005 or now.placed != policy.placed:
        print("  (not the same tasks are served: compare the watts with that in mind)")
