"""GPUs of a node as bit sets and numbers, and the GPUs on which a pod without a usable index is counted."""

from __future__ import annotations

from collections.abc import Iterable

from wattpack.kube.facts import PodFacts
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass


def bits(gpus: Iterable[int]) -> int:
    """GPU numbers as a bit set."""
    return sum(1 << g for g in set(gpus))


def gpu_numbers(gpus: int) -> tuple[int, ...]:
    """A bit set as GPU numbers, ascending."""
    return tuple(g for g in range(gpus.bit_length()) if (gpus >> g) & 1)


def annotated_gpus(pod: PodFacts) -> int | None:
    """The GPUs in the pod's annotation as a bit set; None: it has none."""
    return None if pod.gpus is None else bits(pod.gpus)


def take(left: list[int], task: TaskClass, gpus: int) -> None:
    """Subtract what the task takes of each of its GPUs from `left`, the milli left on every GPU of a node."""
    for g in gpu_numbers(gpus):
        left[g] -= task.gpu_milli


def room_for(pod: PodFacts, gpus: int | None, left: list[int]) -> tuple[TaskClass, int, str]:
    """How a pod is counted on a node with `left` milli on its GPUs: the task, its GPUs, and the conflict, if any.

    `gpus` None: not known, as for pods of other schedulers. No GPU is counted below 0 milli left: if GPUs are missing
    or taken already, only the pod's CPU and memory are counted, and the conflict says so.
    """
    task = pod.task
    if task.num_gpu == 0:
        return task, 0, ""
    chosen = gpus if gpus is not None else first_fitting(task, left)
    numbers = gpu_numbers(chosen)
    if len(numbers) == task.num_gpu and all(g < len(left) and left[g] >= task.gpu_milli for g in numbers):
        return task, chosen, ""
    bare = TaskClass(task.cpu_milli, task.memory_mib, 0, 0)
    if not numbers:
        return bare, 0, f"{task.num_gpu} GPU x {task.gpu_milli} milli are not free on its node"
    return bare, 0, f"GPU {'-'.join(map(str, numbers))} of its node: not there, or taken by others already"


def first_fitting(task: TaskClass, left: list[int]) -> int:
    """GPUs for a pod whose node alone is known: the first free ones, or for a share the fullest GPU with room."""
    if task.gpu_milli == GPU_MILLI:
        free = [g for g, milli in enumerate(left) if milli == GPU_MILLI]
        return bits(free[: task.num_gpu]) if len(free) >= task.num_gpu else 0
    fitting = [(milli, g) for g, milli in enumerate(left) if milli >= task.gpu_milli]
    return 1 << min(fitting)[1] if fitting else 0
