"""A Kubernetes pod as the engine needs it: a task with its amounts and models, and the GPUs of a bound pod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wattpack.errors import UserError
from wattpack.kube.dialects import DIALECTS, foreign_name, most_held
from wattpack.kube.dialects.dialect import Asked, GpuRequest
from wattpack.kube.dialects.mig import SLICES as MIG_SLICES
from wattpack.kube.dialects.node_devices import TIME_SLICED, WHOLE
from wattpack.kube.dialects.vgpu import MODEL_ANNOTATIONS
from wattpack.kube.facts import MAX_AMOUNT, Held, PodFacts
from wattpack.kube.objects import NodeSelectorTerm, Pod, Unreadable
from wattpack.kube.pod_requests import pod_requests
from wattpack.kube.quantity import cpu_milli_up, memory_mib_up
from wattpack.kube.reading import Reading
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass, check_class

MAX_POD_GPUS = 10**6
FINISHED = ("Succeeded", "Failed")  # phases of pods that hold nothing any more
PLAIN = frozenset({"cpu", "memory", "ephemeral-storage", "pods", WHOLE})  # names that belong to no dialect
MIRROR = "kubernetes.io/config.mirror"  # the annotation of a static pod


def read_pod(pod: Pod, reading: Reading, on_model: str = "") -> PodFacts:
    """The pod's facts; raises Unreadable with the pod's name. `on_model`: the GPU model of the node it is bound to."""
    metadata, spec = pod.metadata, pod.spec
    try:
        task, dialect, gpus, holds, doubt = (
            _on_node(pod, reading, on_model) if spec.node_name else _waiting(pod, reading)
        )
    except Unreadable as fault:
        raise Unreadable(f"pod {metadata.namespace}/{metadata.name}: {fault}") from None
    return PodFacts(
        metadata.uid,
        metadata.namespace,
        metadata.name,
        task,
        spec.node_name,
        gpus,
        pod.status.phase in FINISHED,
        spec.scheduler_name,
        metadata.creation_timestamp or "",
        dialect,
        of_node=belongs_to_node(pod),
        holds=holds,
        only_by=_only_by(pod, dialect),
        doubt=doubt,
    )


def _only_by(pod: Pod, dialect: str) -> str:
    """The scheduler without whose annotations a pod of this dialect gets no GPU; "" for whole GPUs in plain words."""
    own = DIALECTS.get(dialect)
    if own is None or own.only_by == "":
        return ""
    asked, said = pod_requests(pod)[0], pod.metadata.annotations.keys() - MODEL_ANNOTATIONS
    return own.only_by if any(map(own.owns, [*(name for name in asked if asked[name]), *said])) else ""


class _Read(NamedTuple):
    """The fields of `PodFacts` that the dialects tell."""

    task: TaskClass
    dialect: str
    gpus: tuple[int, ...] | None = None
    holds: tuple[Held, ...] = ()
    doubt: str = ""


def _waiting(pod: Pod, reading: Reading) -> _Read:
    return _Read(*read_task_and_dialect(pod, reading, ""))


def _on_node(pod: Pod, reading: Reading, on_model: str) -> _Read:
    """What a pod holds: what its scheduler wrote, what it asks for, or the most that it can hold.

    Whatever it says, one pod must not make its whole node doubtful.
    """
    bare, asked = read_cpu_and_memory(pod), asked_by(pod, reading, on_model)
    written = reading.dialect.held(asked)
    try:
        task, dialect = read_task_and_dialect(pod, reading, on_model)
    except Unreadable as fault:
        task, dialect, doubt = bare, spoken(pod, reading), str(fault)
    else:
        doubt = ""
    if written:
        whole = {one.milli for one in written} == {GPU_MILLI} and len({one.gpu for one in written}) == len(written)
        if doubt == "" and (whole or len(written) == 1):
            task = task._replace(num_gpu=len(written), gpu_milli=written[0].milli)
            numbers = tuple(int(one.gpu) for one in written if one.gpu.isdigit() and int(one.gpu) < MAX_GPUS)
            if len(numbers) == len(written):
                return _Read(task, dialect, numbers)
            return _Read(task, dialect, holds=written)
        return _Read(bare, dialect, holds=written)
    if doubt:
        holds = tuple(Held("", milli) for milli in _most(asked, reading))
        return _Read(bare, dialect, holds=_at_index(pod, holds, reading), doubt=doubt)
    if task.num_gpu == 0:
        return _Read(task, dialect)
    try:
        return _Read(task, dialect, _gpu_index(pod, task.num_gpu, reading))
    except Unreadable as fault:  # the GPUs are held all the same, by other numbers
        return _Read(bare, dialect, holds=(Held("", task.gpu_milli),) * task.num_gpu, doubt=str(fault))


def _most(asked: Asked, reading: Reading) -> list[int]:
    """A node has no more GPUs than `MAX_GPUS`, so nobody holds more."""
    sliced = [GPU_MILLI] * min(asked.devices(TIME_SLICED), MAX_GPUS)
    return (most_held(reading.dialect, asked) + sliced)[: MAX_GPUS * MIG_SLICES]


def _at_index(pod: Pod, holds: tuple[Held, ...], reading: Reading) -> tuple[Held, ...]:
    """On the GPUs that the pod's annotation names, where it names as many."""
    try:
        gpus = _gpu_index(pod, len(holds), reading)
    except Unreadable:
        return holds
    return holds if gpus is None else tuple(Held(str(gpu), one.milli) for gpu, one in zip(gpus, holds, strict=True))


def spoken(pod: Pod, reading: Reading) -> str:
    """The first dialect in use in whose words a pod asks by resources, "" if none."""
    asked = pod_requests(pod)[0]
    parts = reading.dialect.parts or (reading.dialect,)
    return next((part.name for part in parts if any(amount and part.owns(name) for name, amount in asked.items())), "")


def belongs_to_node(pod: Pod) -> bool:
    """Whether the pod is a part of its node: one of a DaemonSet, or a static one."""
    owners = {owner.kind for owner in pod.metadata.owner_references}
    return "DaemonSet" in owners or "Node" in owners or MIRROR in pod.metadata.annotations


def read_task(pod: Pod, reading: Reading, on_model: str = "") -> TaskClass:
    """What the pod asks for, as a class of tasks."""
    return read_task_and_dialect(pod, reading, on_model)[0]


def read_cpu_and_memory(pod: Pod) -> TaskClass:
    """The same without GPUs, for a pod whose request for GPUs cannot be read."""
    total, _ = pod_requests(pod)
    cpu, memory = cpu_milli_up(total.get("cpu", 0)), memory_mib_up(total.get("memory", 0))
    if max(cpu, memory) > MAX_AMOUNT:
        raise Unreadable(f"asks for {cpu} milli-vCPU and {memory} MiB, expected at most {MAX_AMOUNT}")
    return TaskClass(cpu, memory, 0, 0)


def read_task_and_dialect(pod: Pod, reading: Reading, on_model: str) -> tuple[TaskClass, str]:
    """An amount of GPU memory is a share of the GPUs of the pod's node, or of the smallest that hold it."""
    asked, dialect = asked_by(pod, reading, on_model), reading.dialect
    total = asked.total_nano
    # Annotations in words that are not read say nothing about a pod that runs; one that waits could get too little.
    words = pod.metadata.annotations if not pod.spec.node_name else ()
    for name in [*(name for name in total.keys() - PLAIN if total[name]), *words]:
        other = foreign_name(dialect, name)
        if other:
            raise Unreadable(f"asks in {name}, which is dialect {other}; the configured one is {dialect.name}")
    if total.get(TIME_SLICED):
        raise Unreadable(f"asks for {TIME_SLICED}: the share of a time-sliced GPU is not known")
    wanted = dialect.request(asked)
    cpu, memory = cpu_milli_up(total.get("cpu", 0)), memory_mib_up(total.get("memory", 0))
    if max(cpu, memory) > MAX_AMOUNT or wanted.num_gpu > MAX_POD_GPUS:
        raise Unreadable(
            f"asks for {cpu} milli-vCPU, {memory} MiB and {wanted.num_gpu} GPUs, expected at most {MAX_AMOUNT} and "
            f"{MAX_POD_GPUS} GPUs"
        )
    spec = gpu_spec(pod, wanted, reading) if wanted.num_gpu else ""
    task = TaskClass(cpu, memory, wanted.num_gpu, wanted.gpu_milli, spec)
    try:
        check_class(task)
    except UserError as fault:  # dialects check their shares: a bug in one
        raise Unreadable(str(fault)) from None
    return task, wanted.dialect


def asked_by(pod: Pod, reading: Reading, on_model: str) -> Asked:
    """What dialects see of the pod."""
    total, containers = pod_requests(pod)
    memories, metadata = reading.gpu_memories_mib, pod.metadata
    if on_model in reading.memories and not reading.gpu_memory_mib:
        memories = (reading.memories[on_model],)
    return Asked(
        *(metadata.namespace, metadata.annotations, total, containers, memories, reading.known_models),
        labels=metadata.labels,
        node=pod.spec.node_name,
    )


def gpu_spec(pod: Pod, wanted: GpuRequest, reading: Reading) -> str:
    """The models that the pod allows, as `A|B`: those named in its dialect, node selector and node affinity,
    and those with enough memory.
    """
    allowed = [set(wanted.models)] if wanted.models else []
    if wanted.gpu_memory_mib and not reading.gpu_memory_mib:
        large = {model for model, memory in reading.memories.items() if memory >= wanted.gpu_memory_mib}
        if len(large) < len(reading.memories):
            allowed.append(large)
    for label in (reading.gpu_model_label, *reading.dialect.model_labels):
        if label in pod.spec.node_selector:
            allowed.append({pod.spec.node_selector[label]})
        wants = _affinity_values(pod, label)
        if wants:
            allowed.append(wants)
    if not allowed:
        return ""
    # An unknown name is kept as it is: it matches no node, and the decision says so.
    named = [{reading.model(label) or label for label in labels} for labels in allowed]
    both = set.intersection(*named)
    if not both:
        sets = " and ".join("|".join(sorted(names)) for names in named)
        raise Unreadable(f"no GPU model is allowed by each of {sets}")
    return "|".join(sorted(both))


def _affinity_values(pod: Pod, label: str) -> set[str]:
    """Values of `label` that the required node affinity allows; empty: any."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return set()
    selector = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    if selector is None or not selector.node_selector_terms:
        return set()
    by_term = [_term_values(term, label) for term in selector.node_selector_terms]
    return set().union(*by_term) if all(by_term) else set()


def _term_values(term: NodeSelectorTerm, label: str) -> set[str]:
    found = [set(e.values) for e in term.match_expressions if e.key == label and e.operator == "In"]
    return set.intersection(*found) if found else set()


def _gpu_index(pod: Pod, number: int, reading: Reading) -> tuple[int, ...] | None:
    """GPUs in the annotation of a bound pod with so many; None: it has no such annotation."""
    text = reading.dialect.read_index(pod.metadata.annotations)
    if text == "":
        return None
    parts = text.split("-")
    gpus = tuple(int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 3)
    good = len(gpus) == len(parts) == len(set(gpus)) and all(gpu < MAX_GPUS for gpu in gpus)
    if not good:
        raise Unreadable(f"GPU index {text!r}, expected different numbers below {MAX_GPUS} like 0-3-4")
    if len(gpus) != number:
        raise Unreadable(f"GPU index {text!r}, expected {number} numbers, as many as the pod asks for")
    return gpus


def binding_annotations(gpus: Sequence[int], task: TaskClass, reading: Reading, dialect: str = "") -> dict[str, str]:
    """Annotations to write with the Binding, from which the chosen GPUs are read again later.

    `dialect`: the one the pod asks in.
    """
    own = DIALECTS[dialect] if dialect else reading.dialect
    return own.write_index(gpus, task) if gpus else {}
