"""Pods as tasks on their nodes and GPUs, for a snapshot: which GPUs each of them is counted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from wattpack.kube.facts import NodeFacts, PodFacts
from wattpack.kube.gpus import annotated_gpus, gpu_numbers, room_for, take
from wattpack.kube.objects import Pod
from wattpack.model.pools import HELD
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass


@dataclass(frozen=True)
class Task:
    pod: PodFacts
    created_s: int | None  # since the oldest pod was created
    deleted_s: int | None
    gpus: tuple[int, ...]
    is_part: bool = False  # of what a pod holds: the pod is another task, or none


class Refused(NamedTuple):
    """A pod without room on its node, and what it takes there of CPU and memory, as far as there is any."""

    facts: PodFacts
    pod: Pod
    why: str
    taken: TaskClass
    parts: list[Task]  # what it holds of GPUs


class Placed(NamedTuple):
    """The tasks in order of arrival, and the pods for which their nodes have no room."""

    tasks: list[tuple[Task, Pod]]
    refused: list[Refused]


def place_pods(pods: Sequence[tuple[PodFacts, Pod]], nodes: Mapping[str, NodeFacts]) -> Placed:
    """Each pod with its GPUs.

    GPUs are assigned first to pods that say which, then to the others, the largest first: a share must not take a GPU
    that a pod with whole GPUs needs. What a pod holds beside a task, or without room for it, are tasks of their own,
    which stay where they are.
    """
    left = {name: [GPU_MILLI] * node.gpus for name, node in nodes.items()}
    cpu_left = {name: [node.cpu_milli, node.memory_mib] for name, node in nodes.items()}
    times = (_seconds(pod.metadata.creation_timestamp) for _, pod in pods)
    numbers = {name: {gpu: at for at, gpu in enumerate(node.gpu_ids)} for name, node in nodes.items()}
    start = min((seconds for seconds in times if seconds), default=0)
    tasks: list[tuple[Task, Pod]] = []
    refused: list[Refused] = []
    for facts, pod in sorted(
        pods,
        key=lambda pair: (not says_where(pair[0]), pair[0].doubt != "", -pair[0].task.num_gpu, -pair[0].task.gpu_milli),
    ):
        gpus: tuple[int, ...] = ()
        seconds = (_seconds(pod.metadata.creation_timestamp), _seconds(pod.metadata.deletion_timestamp))
        created, deleted = (time - start if time else None for time in seconds)
        if facts.node:
            found = room_for(facts, annotated_gpus(facts), left[facts.node], numbers[facts.node])
            task, chosen, why = found.task, found.gpus, found.why
            numbers[facts.node] |= found.named
            room, model = cpu_left[facts.node], nodes[facts.node].model
            if task.gpu_spec and model not in task.gpu_spec.split("|"):
                why = f"asks for {task.gpu_spec} and is on a node with {model or 'no GPU'}"
            if why == "" and (room[0] < task.cpu_milli or room[1] < task.memory_mib):
                why = "CPU or memory that its node does not have left"
            cpu, memory = min(room[0], task.cpu_milli), min(room[1], task.memory_mib)
            room[0], room[1] = room[0] - cpu, room[1] - memory
            held = found.parts or tuple((gpu, task.gpu_milli) for gpu in gpu_numbers(chosen) if why)
            for gpu, milli in held:
                left[facts.node][gpu] -= milli
            parts = [
                Task(part_of(facts, at, milli), created, deleted, (g,), True) for at, (g, milli) in enumerate(held)
            ]
            if why:
                refused.append(Refused(facts, pod, why, TaskClass(cpu, memory, 0, 0), parts))
                continue
            tasks += [(part, pod) for part in parts]
            take(left[facts.node], chosen, task.gpu_milli)
            gpus = gpu_numbers(chosen)
        tasks.append((Task(facts, created, deleted, gpus), pod))
    tasks.sort(key=lambda pair: (pair[0].created_s or 0, pair[0].pod.namespace, pair[0].pod.name))
    return Placed(tasks, refused)


def says_where(facts: PodFacts) -> bool:
    """Whether anything says which GPUs the pod has."""
    return facts.gpus is not None or any(one.gpu for one in facts.holds)


def part_of(facts: PodFacts, number: int, milli: int) -> PodFacts:
    """A GPU, or a part of one, that a pod holds: a task of its own, which nobody can move."""
    return facts._replace(name=f"{facts.name}+gpu{number}", task=TaskClass(0, 0, 1, milli, pool_spec=HELD))


def _seconds(time: str | None) -> int:
    """Seconds since 1970, 0 without a readable time."""
    try:
        return int(datetime.fromisoformat(time).timestamp()) if time else 0
    except ValueError:
        return 0
