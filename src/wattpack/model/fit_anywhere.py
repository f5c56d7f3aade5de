"""Which classes of tasks fit some node of the empty datacenter, and why the others fit none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from wattpack.model.fit import FITS, fits
from wattpack.model.nodes import Datacenter
from wattpack.model.pools import ANY_POOL, HELD, names_no_pool
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.tasks import ANY_MODEL, TaskClass, Workload, task_records

# Why a task fits no node: nodes that could hold it are not open to it; none of them has a GPU or CPU model that it
# asks for; or it is larger than every node.
POOL, MODEL, SIZE = "pool", "model", "size"
REASONS = {
    POOL: "pool (nodes with room for them are closed to them: taints, node selectors, affinity)",
    MODEL: "model (nodes with room for them have other GPUs or CPUs than they ask for)",
    SIZE: "size (larger than every node)",
}


class Nowhere(NamedTuple):
    """Tasks of one class that fit no node, even of the empty datacenter."""

    task: TaskClass
    tasks: int
    reason: str  # one of REASONS
    all_tasks: int  # of the workload
    unknown_pools: bool = False  # it names pools of which no node has any

    @property
    def text(self) -> str:
        """What the tasks ask for, with their number."""
        task = self.task
        gpu = f"{task.num_gpu} x {task.gpu_milli} milli-GPU" if task.num_gpu else "no GPU"
        spec = f" of {task.gpu_spec}" if task.gpu_spec else ""
        pool = f", pool_spec {task.pool_spec}: no node is in it" if self.unknown_pools else ""
        return f"{self.tasks} x {task.cpu_milli} milli-vCPU, {task.memory_mib} MiB, {gpu}{spec}{pool}"


def fit_anywhere(datacenter: Datacenter, classes: Sequence[TaskClass], profile: PowerProfile) -> Iterator[bool]:
    """For each class, looked at one by one; nodes alike are looked at once."""
    for reason in why_nowhere(datacenter, classes, profile):
        yield reason == ""


def why_nowhere(datacenter: Datacenter, classes: Sequence[TaskClass], profile: PowerProfile) -> Iterator[str]:
    """For each class why it fits no node, "" where it fits one."""
    tasks, nodes = task_records(classes, datacenter, profile.default_cpu), datacenter.records(profile)
    kinds = [nodes[n] for n in dict(zip(datacenter.types.tolist(), range(len(datacenter)), strict=True)).values()]
    for k in range(len(classes)):
        yield _why(tasks[k], kinds)


def _why(task: Any, kinds: Sequence[Any]) -> str:
    """`task`: a TASK record, changed here and then put back."""
    own = task.pools, task.gpu_models, task.cpu_models
    try:
        if _fits_one(task, kinds):
            return ""
        task.pools = ANY_POOL
        if _fits_one(task, kinds):
            return POOL
        task.gpu_models = task.cpu_models = ANY_MODEL
        return MODEL if _fits_one(task, kinds) else SIZE
    finally:
        task.pools, task.gpu_models, task.cpu_models = own


def _fits_one(task: Any, kinds: Sequence[Any]) -> bool:
    return any(fits(node, task) == FITS for node in kinds)


def fit_nowhere(
    datacenter: Datacenter, workload: Workload, profile: PowerProfile = PAPER, with_held: bool = False
) -> list[Nowhere]:
    """The classes of tasks that fit no node of the empty datacenter.

    with_held: those too that are held where they are. Nobody would place them; a run that starts empty refuses them.
    """
    found = []
    reasons = why_nowhere(datacenter, workload.classes, profile)
    for task, count, reason in zip(workload.classes, workload.counts().tolist(), reasons, strict=True):
        if count > 0 and reason and (with_held or task.pool_spec != HELD):
            unknown = reason == POOL and names_no_pool(task.pool_spec, datacenter.pools)
            found.append(Nowhere(task, count, reason, len(workload), unknown))
    return found


def by_reason(kinds: Sequence[Nowhere]) -> str:
    """How many of the tasks fit no node, by reason: `of 104 tasks 14 by pool (...), 2 by size (...)`."""
    counts = {reason: sum(kind.tasks for kind in kinds if kind.reason == reason) for reason in REASONS}
    why = ", ".join(f"{count:,} by {REASONS[reason]}" for reason, count in counts.items() if count)
    return f"of {kinds[0].all_tasks:,} tasks {why}"
