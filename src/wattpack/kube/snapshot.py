"""A snapshot of a cluster, as our files hold it: nodes, tasks in order of arrival, and the node and GPUs of each task.

Nodes that take no new pods (cordoned, not ready) stay with their tasks, closed; so do nodes whose GPUs only others may
give out, or hold pods that are not understood: no task with GPUs may go there. Pods that belong to a node (of a
DaemonSet, or static) are not tasks, because no policy can move them: what they take is subtracted from the node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from wattpack.kube.constraints import Constraints, constraints_of, constraints_on, is_ready
from wattpack.kube.dialects import DIALECTS
from wattpack.kube.dialects.dra import DRA, reads_claims
from wattpack.kube.dialects.mig import MIG
from wattpack.kube.dialects.node_devices import WHOLE, node_count
from wattpack.kube.dra.claims import Claims
from wattpack.kube.facts import Held, NodeFacts, PodFacts
from wattpack.kube.node_models import cpu_model
from wattpack.kube.not_kept import GATED, NotKept, note_pod
from wattpack.kube.not_understood import (
    NotUnderstood,
    asks_for_memory,
    not_understood,
    unknown_accelerators,
    unread_devices,
)
from wattpack.kube.objects import Node, Pod, Unreadable
from wattpack.kube.place_pods import Task, place_pods
from wattpack.kube.pools import in_pools
from wattpack.kube.read_claims import Usable, with_claims
from wattpack.kube.read_node import gpu_memories, read_node, with_slices
from wattpack.kube.read_pod import FINISHED, belongs_to_node, read_cpu_and_memory, read_pod
from wattpack.kube.reading import Reading
from wattpack.model.pools import CPU, HELD, NONE, only_words
from wattpack.model.tasks import TaskClass

NAMELESS = "without a name, expected metadata.name"


class Access(NamedTuple):
    """Which tasks a node takes, in the words of model/pools.py, and why not all."""

    pool: str = ""
    only: str = ""
    why: str = ""


@dataclass
class Snapshot:
    nodes: list[NodeFacts] = field(default_factory=list)
    access: dict[str, Access] = field(default_factory=dict)  # by node
    tasks: list[Task] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)  # reason -> "node X" or "pod NAMESPACE/NAME"
    # Pods that hold accelerators of the nodes but are not tasks: those nodes take no tasks with GPUs.
    not_understood: list[NotUnderstood] = field(default_factory=list)
    uncounted: list[NotUnderstood] = field(default_factory=list)  # others that are not tasks: nodes are not empty
    finished: int = 0
    of_nodes: int = 0  # pods that belong to a node
    passed_over: Counter[str] = field(default_factory=Counter)  # waiting pods that are no tasks
    leaving: int = 0  # tasks that are being deleted: nobody can move them
    dialects: Counter[str] = field(default_factory=Counter)  # tasks with GPUs by dialect
    cpu_assumed: dict[str, list[str]] = field(default_factory=dict)  # what is assumed and why -> nodes
    at_most: dict[str, list[str]] = field(default_factory=dict)  # why a request cannot be read -> pods
    index_chosen: list[str] = field(default_factory=list)  # tasks without an index of the GPUs they hold
    memory_assumed: list[str] = field(default_factory=list)  # tasks that ask for GPU memory, on GPUs by the catalog
    not_kept: NotKept = field(default_factory=NotKept)  # what pods ask of a scheduler and files cannot say
    # The pools of every pod that is a task or was one, by namespace and name: of finished pods too, for their trace.
    pool_spec: dict[tuple[str, str], str] = field(default_factory=dict)

    def leave_out(self, what: str, fault: Unreadable | str) -> None:
        self.left_out.setdefault(str(fault).removeprefix(f"{what}: "), []).append(what)


class _Taking:
    """The snapshot while it is taken."""

    def __init__(self, nodes: Sequence[Node], reading: Reading, claims: Claims) -> None:
        if reading.gpu_memory_mib == 0:
            reading = replace(reading, memories=gpu_memories(nodes, reading))
        self.reading, self.claims, self.found = reading, claims, Snapshot()
        # Without classes, nobody can say what a claim asks for: what is held is counted, and nothing else may come.
        self.reads_claims = reads_claims(reading.dialect) and bool(claims.inventory.classes)
        self.usable: dict[tuple[str, str], Usable] = {}  # of pods with claims, by namespace and name
        self.objects = {node.metadata.name: node for node in nodes}
        self.known: dict[str, NodeFacts] = {}
        self.closed: dict[str, list[tuple[str, str]]] = {}  # node -> (word of model/pools.py, why)
        self.readable: list[tuple[PodFacts, Pod]] = []
        self.ended: list[tuple[PodFacts, Pod]] = []
        for node in nodes:
            self.take_node(node)

    def close(self, node: str, word: str, why: str) -> None:
        if (word, why) not in self.closed.setdefault(node, []):
            self.closed[node].append((word, why))

    def take_node(self, node: Node) -> None:
        name = node.metadata.name
        try:
            if name == "":
                raise Unreadable(NAMELESS)
            self.known[name] = self.with_slices(read_node(node, self.reading))
        except Unreadable as fault:
            self.found.leave_out(f"node {name}", fault)
            return
        if unread := unread_devices(node, self.reading.dialect, self.known[name].gpus):
            self.found.leave_out(f"node {name}", f"counted without {', '.join(unread)}, which no dialect in use reads")
        if self.known[name].cpu_model == "":
            self.found.cpu_assumed.setdefault(cpu_model(node.metadata.labels, self.reading).how, []).append(name)
        if node.spec.unschedulable:
            self.close(name, NONE, "cordoned")
        if not is_ready(node):
            self.close(name, NONE, "not ready")
        if MIG.on_node(node) and self.reading.dialect is not MIG:
            self.close(name, CPU, "MIG devices")

    def with_slices(self, facts: NodeFacts) -> NodeFacts:
        """The node with the GPUs that slices offer. Tasks with claims may go there, unless claims cannot be read.

        A node that offers GPUs both in slices and as resources takes no task: the same GPU could be given out twice.
        """
        offered = self.claims.inventory.gpus(facts.name)
        if offered.count == 0:
            return facts
        if not self.reads_claims or facts.gpus:
            self.close(facts.name, CPU, "resource claims")
        return with_slices(facts, offered, self.reading)

    def take_pod(self, pod: Pod) -> None:
        name, node = f"pod {pod.metadata.namespace}/{pod.metadata.name}", pod.spec.node_name
        if pod.metadata.name == "":
            self.found.leave_out(name, NAMELESS)
            return
        if pod.status.phase in FINISHED:  # it holds nothing, whether it can be read or not
            self.found.finished += 1
            self.take_ended(pod)
            return
        if node and node not in self.known:
            self.found.leave_out(name, "its node is left out or not in the files")
            return
        try:
            facts = self.read(pod)
        except Unreadable as fault:
            self.found.leave_out(name, fault)
            if node:
                self.hold(pod, not_understood(pod))
            return
        if not node and pod.metadata.deletion_timestamp:
            self.found.passed_over["being deleted"] += 1
            return
        if not node and pod.spec.scheduling_gates:
            self.found.not_kept.note(GATED, facts)
            return
        if belongs_to_node(pod) and facts.task.num_gpu == 0:
            if node:
                self.found.of_nodes += 1
                self.subtract(node, facts.task)
            else:
                self.found.passed_over["of DaemonSets"] += 1
            return
        if pod.metadata.deletion_timestamp:
            self.found.leaving += 1
            facts = facts._replace(task=facts.task._replace(pool_spec=HELD))
        self.readable.append((facts, pod))
        note_pod(self.found.not_kept, facts, pod)

    def take_ended(self, pod: Pod) -> None:
        """A finished pod holds nothing; a trace has it as a task, which may go where the pod could."""
        if belongs_to_node(pod) or pod.spec.resource_claims:
            return
        node = self.known.get(pod.spec.node_name)
        try:
            self.ended.append((read_pod(pod, self.reading, node.model if node else ""), pod))
        except Unreadable:
            return  # whoever reads the trace is told

    def read(self, pod: Pod) -> PodFacts:
        """The pod as a task, with what it holds through claims."""
        node = self.known.get(pod.spec.node_name)
        facts = read_pod(pod, self.reading, node.model if node else "")
        unknown = unknown_accelerators(pod, self.reading.dialect, claims_are_read=True)
        if unknown:
            raise Unreadable(f"asks for {', '.join(unknown)}, which no dialect reads")
        if pod.spec.resource_claims and node is None and not self.reads_claims:
            raise Unreadable("asks through resource claims, which cannot be read without their device classes")
        found = with_claims(pod, facts, self.claims, self.listed)
        if found.usable is not None:
            return self.read_usable(found.facts, found.usable, found.stays)
        if facts.doubt:
            self.found.at_most.setdefault(facts.doubt, []).append(f"{facts.namespace}/{facts.name}")
        if facts.holds and not facts.task.num_gpu:
            return facts._replace(task=facts.task._replace(pool_spec=HELD))
        cut = facts.dialect == MIG.name and self.reading.dialect is not MIG
        if cut or (belongs_to_node(pod) and facts.task.num_gpu):
            facts = facts._replace(task=facts.task._replace(pool_spec=HELD))
        return facts

    def read_usable(self, facts: PodFacts, usable: Usable, stays: bool) -> PodFacts:
        """A pod with claims. Files cannot say which GPUs a task may have: a node counts if all of its GPUs will do."""
        whole = {
            name: gpus
            for name, gpus in usable.items()
            if name in self.known and (facts.dialect != DRA.name or gpus == (1 << self.known[name].gpus) - 1)
        }
        if facts.dialect == DRA.name and not self.reads_claims:
            self.close(facts.node, CPU, "resource claims")
        if stays or (facts.node and not whole):
            return facts._replace(task=facts.task._replace(pool_spec=HELD))
        if not whole:
            raise Unreadable("its claims fit only some GPUs of a node, or a node that is left out")
        self.usable[facts.namespace, facts.name] = whole
        return facts

    @cached_property
    def listed(self) -> list[Node]:
        return [self.objects[name] for name in self.known]

    def hold(self, pod: Pod, held: NotUnderstood) -> None:
        """A pod on a node that is not a task: its CPU and memory are subtracted, no task with GPUs may go there."""
        if held.resource:
            self.found.not_understood.append(held)
            self.close(held.node, CPU, "pods not understood")
        else:
            self.found.uncounted.append(held)
        try:
            self.subtract(held.node, read_cpu_and_memory(pod))
        except Unreadable:
            self.close(held.node, NONE, "pods not understood")

    def subtract(self, node: str, task: TaskClass) -> None:
        facts = self.known[node]
        cpu, memory = facts.cpu_milli - task.cpu_milli, facts.memory_mib - task.memory_mib
        whole = max(facts.capacity_milli, facts.cpu_milli)
        self.known[node] = facts._replace(cpu_milli=max(0, cpu), memory_mib=max(0, memory), capacity_milli=whole)

    def placed(self) -> list[tuple[Task, Pod]]:
        """The tasks in order of arrival. Of pods without room where they are, what they hold of GPUs are tasks."""
        tasks, refused = place_pods(self.readable, self.known)
        for one in refused:
            self.found.leave_out(f"pod {one.facts.namespace}/{one.facts.name}", one.why)
            self.found.uncounted.append(not_understood(one.pod)._replace(resource=""))
            self.subtract(one.facts.node, one.taken)
            tasks += [(part, one.pod) for part in one.parts]
        return tasks

    def finish(self) -> Snapshot:
        found, tasks = self.found, self.placed()
        found.nodes = [self.known[name] for name in sorted(self.known)]
        wanted = [self.constraints(task.pod, pod) for task, pod in tasks]
        past = {(facts.namespace, facts.name): self.constraints(facts, pod) for facts, pod in self.ended}
        past |= {
            (task.pod.namespace, task.pod.name): own
            for (task, pod), own in zip(tasks, wanted, strict=True)
            if not belongs_to_node(pod)
        }
        only = {name: only_words(*(word for word, _ in why)) for name, why in self.closed.items()}
        free = [own for (task, _), own in zip(tasks, wanted, strict=True) if task.pod.task.pool_spec == ""]
        free += past.values()
        sliced = {name for name in self.known if self.claims.inventory.gpus(name).count}
        pools = in_pools([self.objects[name] for name in sorted(self.known)], only, free, sliced)
        for name in sorted(self.known):
            why = [why for _, why in self.closed.get(name, [])] + ([pools.closed[name]] if name in pools.closed else [])
            said = "; ".join(dict.fromkeys(why)) or ("tainted" if pools.only[name] else "")
            found.access[name] = Access(pools.name[name], pools.only[name], said)
        for (task, pod), constraints in zip(tasks, wanted, strict=True):
            own = task.pod.task
            spec = own.pool_spec or pools.spec[constraints]
            found.tasks.append(replace(task, pod=task.pod._replace(task=own._replace(pool_spec=spec))))
            if not task.is_part:
                self.note_assumed(task, pod)
        found.pool_spec = {name: pools.spec[constraints] for name, constraints in past.items()}
        return found

    def constraints(self, facts: PodFacts, pod: Pod) -> Constraints:
        """Where the task may go. Its number of whole GPUs is left to the engine, where every node offers whole ones."""
        dialect = facts.dialect if facts.dialect in DIALECTS else ""
        node = self.objects.get(facts.node)
        own = constraints_on(pod, node, dialect) if node is not None else constraints_of(pod, dialect)
        usable = self.usable.get((facts.namespace, facts.name))
        if usable is not None:
            own = own._replace(nodes=frozenset(usable))
        others = tuple((name, amount) for name, amount in own.resources if name != WHOLE)
        asks_whole = len(others) < len(own.resources) and not self.whole_everywhere
        return own._replace(resources=((WHOLE, 1), *others) if asks_whole else others)

    @cached_property
    def whole_everywhere(self) -> bool:
        """Whether every node with GPUs offers whole ones."""
        return all(node_count(self.objects[name], WHOLE) for name, node in self.known.items() if node.gpus)

    def note_assumed(self, task: Task, pod: Pod) -> None:
        name = f"{task.pod.namespace}/{task.pod.name}"
        if task.pod.task.num_gpu:
            self.found.dialects[task.pod.dialect or "nvidia"] += 1
            if task.gpus and task.pod.gpus is None and not all(one.gpu for one in task.pod.holds or [Held("", 0)]):
                self.found.index_chosen.append(name)
            if asks_for_memory(pod) and self.reading.gpu_memory_mib == 0:
                self.found.memory_assumed.append(name)


def take_snapshot(
    nodes: Sequence[Node], pods: Iterable[Pod], reading: Reading, claims: Claims | None = None
) -> Snapshot:
    """What the files of a cluster hold; `claims` are those of dynamic resource allocation."""
    taking = _Taking(nodes, reading, claims or Claims())
    for pod in pods:
        taking.take_pod(pod)
    return taking.finish()
