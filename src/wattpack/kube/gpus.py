"""GPUs of a node as bit sets and numbers, and the GPUs on which a pod without a usable index is counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from wattpack.kube.facts import Held, PodFacts
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


def take(left: list[int], gpus: int, milli: int) -> None:
    """Subtract `milli` of each of the GPUs from `left`, the milli left on every GPU of a node."""
    for g in gpu_numbers(gpus):
        left[g] -= milli


class Counted(NamedTuple):
    """How a pod is counted on its node."""

    task: TaskClass
    gpus: int  # of the task, as a bit set
    parts: tuple[tuple[int, int], ...]  # (GPU, milli) that it holds beside the task
    why: str  # what could not be counted where the pod is said to be, or not in full; "": nothing
    named: dict[str, int]  # numbers of the GPUs that the pod names otherwise


def room_for(pod: PodFacts, gpus: int | None, left: Sequence[int], numbers: Mapping[str, int]) -> Counted:
    """How a pod is counted on a node with `left` milli on its GPUs, whose names `numbers` knows.

    `gpus` None: not known, as for pods of other schedulers. No GPU is counted below 0 milli left. A pod whose GPUs are
    missing or taken already holds as much elsewhere, as far as there is room: GPUs in use must not look free, and the
    rest of the node is as good as before.
    """
    task = pod.task
    if task.num_gpu == 0 and not pod.holds:
        return Counted(task, 0, (), "", {})
    named = _numbers(pod.holds, left, numbers)
    if gpus is None and pod.holds and task.num_gpu:
        known = [named.get(one.gpu) for one in pod.holds]
        gpus = bits(g for g in known if g is not None) if None not in known else None
    if task.num_gpu:
        chosen = gpus if gpus is not None else first_fitting(task, left)
        if chosen.bit_count() == task.num_gpu and all(_fits(g, task.gpu_milli, left) for g in gpu_numbers(chosen)):
            return Counted(task, chosen, (), "", named)
        said: list[int | None] = [*gpu_numbers(gpus or 0)]
        said += [None] * (task.num_gpu - len(said))
        wanted = [(g, task.gpu_milli) for g in said[: task.num_gpu]]
    else:
        wanted = [(named.get(one.gpu), one.milli) for one in pod.holds]
    bare = TaskClass(task.cpu_milli, task.memory_mib, 0, 0)
    parts, astray, missing = _parts(wanted, left)
    why = ""
    if astray:
        why = f"GPU {'-'.join(map(str, astray))} of its node: not there, or taken by others already"
    elif missing:
        wish = (
            f"{task.num_gpu} GPU x {task.gpu_milli} milli" if task.num_gpu else f"{missing} milli of GPUs that it holds"
        )
        why = f"{wish} are not free on its node"
    return Counted(bare, 0, parts, why, named)


def _fits(gpu: int, milli: int, left: Sequence[int]) -> bool:
    return gpu < len(left) and left[gpu] >= milli


def _numbers(holds: Sequence[Held], left: Sequence[int], numbers: Mapping[str, int]) -> dict[str, int]:
    """The GPUs named; one that nobody named before is the first that nobody holds, or the emptiest."""
    found: dict[str, int] = {}
    for name, milli in holds:
        if name == "" or name in found:
            continue
        if name in numbers:
            found[name] = numbers[name]
        elif name.isascii() and name.isdigit() and len(name) < 3:
            found[name] = int(name)
        else:
            taken = {*numbers.values(), *found.values()}
            free = [g for g in range(len(left)) if g not in taken and left[g] >= milli]
            if free:
                found[name] = max(free, key=lambda g: (left[g], -g))
    return found


def _parts(
    wanted: Iterable[tuple[int | None, int]], left: Sequence[int]
) -> tuple[tuple[tuple[int, int], ...], list[int], int]:
    """Where each part is counted, the GPUs named that have no room for theirs, and what has no room anywhere."""
    rest, parts, homeless, astray = list(left), [], [], []
    for gpu, milli in wanted:
        if gpu is not None and _fits(gpu, milli, rest):
            rest[gpu] -= milli
            parts.append((gpu, milli))
        else:
            homeless.append(milli)
            astray += [] if gpu is None else [gpu]
    missing = 0
    for milli in sorted(homeless, reverse=True):
        fitting = [(have, g) for g, have in enumerate(rest) if have >= milli]
        most, gpu = min(fitting) if fitting else max(((have, -g) for g, have in enumerate(rest)), default=(0, 0))
        taken = min(milli, most)
        missing += milli - taken
        if taken:
            rest[abs(gpu)] -= taken
            parts.append((abs(gpu), taken))
    return tuple(parts), astray, missing


def first_fitting(task: TaskClass, left: Sequence[int]) -> int:
    """GPUs for a pod whose node alone is known: the first free ones, or for a share the fullest GPU with room."""
    if task.gpu_milli == GPU_MILLI:
        free = [g for g, milli in enumerate(left) if milli == GPU_MILLI]
        return bits(free[: task.num_gpu]) if len(free) >= task.num_gpu else 0
    fitting = [(milli, g) for g, milli in enumerate(left) if milli >= task.gpu_milli]
    return 1 << min(fitting)[1] if fitting else 0
