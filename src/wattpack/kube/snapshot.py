"""A snapshot of a cluster, as our files hold it: nodes, tasks in order of arrival, and the node and GPUs of each task.

Pods that belong to a node (of a DaemonSet, or static) are not tasks, because no policy can move them: what they take is
subtracted from the node. Nodes that accept no new pods (control plane, cordoned, not ready) are left out with the pods
on them, because nothing may move there.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from wattpack.kube.facts import NodeFacts, PodFacts
from wattpack.kube.gpus import annotated_gpus, gpu_numbers, room_for, take
from wattpack.kube.not_understood import NotUnderstood, not_understood, unknown_accelerators
from wattpack.kube.objects import Node, Pod, Unreadable
from wattpack.kube.read_node import read_node, smallest_gpu_memory_mib
from wattpack.kube.read_pod import FINISHED, read_pod
from wattpack.kube.reading import Reading
from wattpack.model.power import GPU_MILLI

CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
NAMELESS = "without a name, expected metadata.name"
MIRROR = "kubernetes.io/config.mirror"  # the annotation of a static pod


@dataclass(frozen=True)
class Task:
    pod: PodFacts
    created_s: int | None  # since the oldest pod was created
    deleted_s: int | None
    gpus: tuple[int, ...]


@dataclass
class Snapshot:
    nodes: list[NodeFacts] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)  # reason -> "node X" or "pod NAMESPACE/NAME"
    not_understood: list[NotUnderstood] = field(
        default_factory=list
    )  # pods that hold accelerators of the nodes but are not tasks
    finished: int = 0
    of_nodes: int = 0  # pods that belong to a node
    index_chosen: int = 0  # tasks without an index of the GPUs they hold

    def leave_out(self, what: str, fault: Unreadable | str) -> None:
        self.left_out.setdefault(str(fault).removeprefix(f"{what}: "), []).append(what)


def take_snapshot(nodes: Sequence[Node], pods: Iterable[Pod], reading: Reading) -> Snapshot:
    if reading.gpu_memory_mib == 0:
        reading = replace(reading, gpu_memory_mib=smallest_gpu_memory_mib(nodes, reading))
    found = Snapshot()
    known = _read_nodes(nodes, reading, found)
    readable: list[tuple[PodFacts, Pod]] = []
    for pod in pods:
        name = f"pod {pod.metadata.namespace}/{pod.metadata.name}"
        if pod.metadata.name == "":
            found.leave_out(name, NAMELESS)
            continue
        try:
            facts = read_pod(pod, reading)
        except Unreadable as fault:
            found.leave_out(name, fault)
            if (
                pod.spec.node_name in known
                and pod.status.phase not in FINISHED
                and (held := not_understood(pod)).resource
            ):
                found.not_understood.append(held)
            continue
        unknown = unknown_accelerators(pod, reading.dialect)
        if facts.finished:
            found.finished += 1
        elif facts.node and facts.node not in known:
            found.leave_out(name, "its node is left out or not in the files")
        elif unknown:
            found.leave_out(name, f"asks for {', '.join(unknown)}, which no dialect reads")
            if facts.node:
                found.not_understood.append(not_understood(pod))
        elif belongs_to_node(pod) and facts.task.num_gpu == 0:
            if facts.node:
                found.of_nodes += 1
                known[facts.node] = _without(known[facts.node], facts)
        else:
            readable.append((facts, pod))
    found.nodes = [known[name] for name in sorted(known)]
    found.tasks = _placed(readable, known, found)
    return found


def _read_nodes(nodes: Iterable[Node], reading: Reading, found: Snapshot) -> dict[str, NodeFacts]:
    known = {}
    for node in nodes:
        name = node.metadata.name
        if why := NAMELESS if name == "" else _takes_no_pods(node):
            found.leave_out(f"node {name}", why)
            continue
        try:
            known[name] = read_node(node, reading)
        except Unreadable as fault:
            found.leave_out(f"node {name}", fault)
    return known


def _takes_no_pods(node: Node) -> str:
    """Why the node accepts no new pods, "" if it does. Other taints exclude only some pods."""
    if any(taint.key in CONTROL_PLANE for taint in node.spec.taints):
        return "a node of the control plane"
    if node.spec.unschedulable:
        return "cordoned: no pod may move there"
    if any(condition.type == "Ready" and condition.status != "True" for condition in node.status.conditions):
        return "not ready: no pod may move there"
    return ""


def belongs_to_node(pod: Pod) -> bool:
    owners = {owner.kind for owner in pod.metadata.owner_references}
    return "DaemonSet" in owners or "Node" in owners or MIRROR in pod.metadata.annotations


def _without(node: NodeFacts, pod: PodFacts) -> NodeFacts:
    cpu, memory = node.cpu_milli - pod.task.cpu_milli, node.memory_mib - pod.task.memory_mib
    return node._replace(cpu_milli=max(0, cpu), memory_mib=max(0, memory))


def _placed(readable: list[tuple[PodFacts, Pod]], known: dict[str, NodeFacts], found: Snapshot) -> list[Task]:
    """The tasks in order of arrival.

    GPUs are assigned first to pods with an index, then to the others, the largest first: a share must not take a GPU
    that a pod with whole GPUs needs.
    """
    left = {name: [GPU_MILLI] * node.gpus for name, node in known.items()}
    cpu_left = {name: [node.cpu_milli, node.memory_mib] for name, node in known.items()}
    start = min((seconds for _, pod in readable if (seconds := _seconds(pod.metadata.creation_timestamp))), default=0)
    tasks = []
    by_certainty = sorted(
        readable, key=lambda pair: (pair[0].gpus is None, -pair[0].task.num_gpu, -pair[0].task.gpu_milli)
    )
    for facts, pod in by_certainty:
        gpus: tuple[int, ...] = ()
        if facts.node:
            task, chosen, why = room_for(facts, annotated_gpus(facts), left[facts.node])
            room, model = cpu_left[facts.node], known[facts.node].model
            if task.gpu_spec and model not in task.gpu_spec.split("|"):
                why = f"asks for {task.gpu_spec} and is on a node with {model or 'no GPU'}"
            if why == "" and (room[0] < task.cpu_milli or room[1] < task.memory_mib):
                why = "CPU or memory that its node does not have left"
            if why:
                found.leave_out(f"pod {facts.namespace}/{facts.name}", why)
                if facts.task.num_gpu and known[facts.node].gpus:  # without GPUs on the node, none would look free
                    found.not_understood.append(not_understood(pod))
                continue
            room[0] -= task.cpu_milli
            room[1] -= task.memory_mib
            take(left[facts.node], task, chosen)
            gpus = gpu_numbers(chosen)
            found.index_chosen += bool(gpus) and facts.gpus is None
        times = (pod.metadata.creation_timestamp, pod.metadata.deletion_timestamp)
        created, deleted = (seconds - start if (seconds := _seconds(time)) else None for time in times)
        tasks.append(Task(facts, created, deleted, gpus))
    return sorted(tasks, key=lambda task: (task.created_s or 0, task.pod.namespace, task.pod.name))


def _seconds(time: str | None) -> int:
    """Seconds since 1970, 0 without a readable time."""
    try:
        return int(datetime.fromisoformat(time).timestamp()) if time else 0
    except ValueError:
        return 0


def hidden_names() -> Callable[[str, str], str]:
    """A function that replaces every (kind, name) by a meaningless name; the next import uses other names."""
    salt = secrets.token_bytes(16)
    given: dict[tuple[str, str], str] = {}
    taken: set[str] = set()

    def hide(kind: str, name: str) -> str:
        known = given.get((kind, name))
        if known is None:
            digest = hashlib.blake2b(f"{kind} {name}".encode(), key=salt).hexdigest()
            known = next(cut for length in range(8, 129) if (cut := f"{kind}-{digest[:length]}") not in taken)
            given[kind, name] = known
            taken.add(known)
        return known

    return hide
