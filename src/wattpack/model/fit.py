"""Filter: whether a task fits a node; if not, the first condition that fails."""

from __future__ import annotations

from wattpack.jit import inner, kernel
from wattpack.model.records import NodeRecord, TaskRecord

MAX_TASKS = 1001  # tasks a node may hold

# Verdicts, in the order in which conditions are tested. The reason why a task fails is the highest verdict over all
# nodes: the condition that ruled out the last candidates.
FITS = 0
NO_MODEL = 1
NO_CPU_MODEL = 2
NO_POOL = 3
NO_GPU = 4
NO_CPU = 5
NO_MEMORY = 6
NO_SLOT = 7
VERDICTS = ("fits", "gpu_model", "cpu_model", "pool", "gpu", "cpu", "memory", "task_limit")
VERDICT_WORDS = (
    "fits",
    "GPU model not allowed by the task",
    "CPU model not allowed by the task",
    "node not open to the task",
    "not enough free GPU",
    "not enough free CPU",
    "not enough free memory",
    f"holds {MAX_TASKS} tasks already",
)


@kernel
def allows(models: int, model: int) -> bool:
    """Whether the set of models (bits) contains `model`."""
    return (models >> model) & 1 == 1


@inner
def is_candidate(node: NodeRecord, task: TaskRecord, g: int) -> bool:
    """Whether GPU `g` has room for a sharing task, and no GPU before it has the same amount left.

    A score that depends on the amounts left is the same for both.
    """
    if node.gpu_left[g] < task.gpu_milli:
        return False
    for earlier in range(g):
        if node.gpu_left[earlier] == node.gpu_left[g]:
            return False
    return True


@kernel
def fits(node: NodeRecord, task: TaskRecord) -> int:
    """`FITS`, or the first of Cond. 5, 4, the pool, 3, 1, 2 and the task limit that fails. `node`: a NODE record."""
    if not allows(task.gpu_models, node.model):
        return NO_MODEL
    if not allows(task.cpu_models, node.cpu_model):
        return NO_CPU_MODEL
    if not allows(task.pools, node.pool):
        return NO_POOL
    if task.kind == 0:
        if node.gpu_most < task.gpu_milli:
            return NO_GPU
    elif node.gpu_free < task.num_gpu:
        return NO_GPU
    if node.cpu_left < task.cpu_milli:
        return NO_CPU
    if node.memory_left < task.memory_mib:
        return NO_MEMORY
    if node.tasks >= MAX_TASKS:
        return NO_SLOT
    return FITS
