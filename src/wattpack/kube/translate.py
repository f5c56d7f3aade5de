"""Nodes and pods of a cluster as the engine needs them: nodes with CPU, memory, GPUs; tasks with their class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from wattpack.errors import UserError
from wattpack.kube.dialects import DIALECTS, foreign_name
from wattpack.kube.dialects.dialect import WHOLE, Asked, Dialect, GpuRequest
from wattpack.kube.objects import Amounts, Container, Node, NodeSelectorTerm, Pod, Resources
from wattpack.kube.objects import Unreadable as Unreadable
from wattpack.kube.products import model_of
from wattpack.kube.quantity import cpu_milli_down, cpu_milli_up, memory_mib_down, memory_mib_up, nano
from wattpack.model.catalog import GPUS, PAPER_NAMES
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.tasks import TaskClass, check_class

MAX_AMOUNT = 10**12  # milli-vCPU or MiB of one node or pod, as in files: far above any machine, far below overflow
MAX_POD_GPUS = 10**6
FINISHED = ("Succeeded", "Failed")
PLAIN = frozenset({"cpu", "memory", "ephemeral-storage", "pods", WHOLE})  # names that no dialect has for itself
TIME_SLICED = "nvidia.com/gpu.shared"


class NodeFacts(NamedTuple):
    """What the engine needs to know of a node. Equal facts: nothing has changed."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str  # of the power profile, "" without GPUs
    cpu_model: str  # "" is the profile's default


class PodFacts(NamedTuple):
    uid: str
    namespace: str
    name: str
    task: TaskClass
    node: str  # "" while it is not bound
    gpus: tuple[int, ...] | None  # of a bound pod, from the annotation; None if it does not say
    finished: bool
    scheduler: str
    created: str


@dataclass(frozen=True)
class Reading:
    """How to read a cluster: the dialect and the settings. Make another one with `dataclasses.replace`."""

    dialect: Dialect = DIALECTS["alibaba"]
    profile: PowerProfile = PAPER
    gpu_model_label: str = "nvidia.com/gpu.product"
    cpu_model_label: str = ""
    gpu_memory_mib: int = 0  # of one GPU, for dialects that ask for memory; 0: unknown
    models: Mapping[str, str] = field(default_factory=dict)  # own names for labels -> models of the profile

    def __post_init__(self) -> None:
        for label, model in self.models.items():
            if model not in self.known_models:
                expected = ", ".join(self.known_models)
                raise UserError(f"[models]: {label!r} is {model!r}, expected a model with known watts ({expected})")

    @cached_property
    def known_models(self) -> tuple[str, ...]:
        return tuple(self.profile.known_gpus)

    @cached_property
    def _models(self) -> dict[str, str]:
        return {}

    def model(self, label: str) -> str:
        """The model of the profile that a label means, "" if none."""
        found = self._models.get(label)
        if found is None:
            found = self.models.get(label) or model_of(label, self.known_models)
            if len(self._models) < 10_000:  # labels come from outside
                self._models[label] = found
        return found


def read_node(node: Node, reading: Reading) -> NodeFacts:
    name, dialect = node.metadata.name, reading.dialect
    try:
        allocatable = node.status.allocatable
        cpu = cpu_milli_down(nano(allocatable.get("cpu", 0)))
        memory = memory_mib_down(nano(allocatable.get("memory", 0)))
        gpus = dialect.node_gpus(node)
        if max(cpu, memory) > MAX_AMOUNT:
            raise Unreadable(f"{cpu} milli-vCPU and {memory} MiB, expected at most {MAX_AMOUNT}")
        if gpus > MAX_GPUS:
            raise Unreadable(f"{gpus} GPUs, expected at most {MAX_GPUS}")
        model = _gpu_model(node, reading) if gpus else ""
        return NodeFacts(name, cpu, memory, gpus, model, _cpu_model(node, reading))
    except Unreadable as fault:
        raise Unreadable(f"node {name}: {fault}") from None


def _gpu_model(node: Node, reading: Reading) -> str:
    labels = node.metadata.labels
    for label in (reading.gpu_model_label, *reading.dialect.model_labels):
        if label in labels:
            model = reading.model(labels[label])
            if model == "":
                raise Unreadable(
                    f"label {label} is {labels[label]!r}, a model without a power entry: "
                    f'map it in the configuration, [models] "{labels[label]}" = "..."'
                )
            return model
    raise Unreadable(f"has GPUs but no label {reading.gpu_model_label}, expected their model there")


def _cpu_model(node: Node, reading: Reading) -> str:
    if reading.cpu_model_label == "" or reading.cpu_model_label not in node.metadata.labels:
        return ""
    text = node.metadata.labels[reading.cpu_model_label]
    names = {name.lower().replace(" ", "-"): name for name in reading.profile.cpus}
    found = names.get(text.lower().replace(" ", "-").replace("_", "-"))
    if found is None:
        known = ", ".join(sorted(reading.profile.cpus))
        raise Unreadable(f"label {reading.cpu_model_label} is {text!r}, a CPU without a power entry; known: {known}")
    return found


def smallest_gpu_memory_mib(nodes: Iterable[Node], reading: Reading) -> int:
    """MiB of the smallest GPU of the nodes, 0 if none is known: what an amount of GPU memory is a share of."""
    found = []
    for node in nodes:
        try:
            gpus = reading.dialect.node_gpus(node)
            if gpus:
                found.append(reading.dialect.memory_mib(node) or _catalog_memory_mib(_gpu_model(node, reading)))
        except Unreadable:
            continue  # `read_node` says so
    return min((memory for memory in found if memory > 0), default=0)


def _catalog_memory_mib(model: str) -> int:
    entry = GPUS.get(PAPER_NAMES.get(model, model))
    return entry.memory_mib or 0 if entry else 0


def read_pod(pod: Pod, reading: Reading) -> PodFacts:
    metadata, spec = pod.metadata, pod.spec
    try:
        task = read_task(pod, reading)
        gpus = _gpu_index(pod, task, reading) if spec.node_name and task.num_gpu else None
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
    )


def read_task(pod: Pod, reading: Reading) -> TaskClass:
    total, containers = pod_requests(pod)
    annotations, dialect = pod.metadata.annotations, reading.dialect
    for name in [*(total.keys() - PLAIN), *annotations]:
        other = foreign_name(dialect, name)
        if other:
            raise Unreadable(f"asks in {name}, which is dialect {other}; the configured one is {dialect.name}")
    if total.get(TIME_SLICED):
        raise Unreadable(f"asks for {TIME_SLICED}: the share of a time-sliced GPU is not known")
    asked = Asked(pod.metadata.namespace, annotations, total, containers, reading.gpu_memory_mib, reading.known_models)
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
    except UserError as fault:  # a fault of a dialect: its shares are checked there
        raise Unreadable(str(fault)) from None
    return task


def pod_requests(pod: Pod) -> tuple[dict[str, int], list[dict[str, int]]]:
    """What the pod asks for as a whole, and each container (init containers too), by resource in billionths.

    As Kubernetes counts: the containers and the sidecars together, or the largest init container with the sidecars
    started before it, whichever is more; requests of the pod itself replace that; then the overhead.
    """
    spec = pod.spec
    containers = [_requests(container) for container in spec.containers]
    if len(containers) == 1 and not spec.init_containers and not spec.overhead and spec.resources is None:
        return containers[0], containers
    total: dict[str, int] = {}
    for container in containers:
        _add(total, container)
    sidecars: dict[str, int] = {}
    most: dict[str, int] = {}
    for init in spec.init_containers:
        asked = _requests(init)
        containers.append(asked)
        if init.restart_policy == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            _raise_to(most, sidecars)
        else:
            together = dict(sidecars)
            _add(together, asked)
            _raise_to(most, together)
    _raise_to(total, most)
    if spec.resources is not None:
        total |= _of(spec.resources)
    _add(total, {name: nano(amount) for name, amount in spec.overhead.items()})
    return total, containers


def _requests(container: Container) -> dict[str, int]:
    return _of(container.resources)


def _of(resources: Resources) -> dict[str, int]:
    """Requests, and limits where there is no request."""
    amounts: Amounts = resources.limits | resources.requests if resources.limits else resources.requests
    return {name: nano(amount) for name, amount in amounts.items()}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)


def gpu_spec(pod: Pod, wanted: GpuRequest, reading: Reading) -> str:
    """The models that a pod allows, as `A|B`: those of its dialect that its node selector and affinity leave."""
    allowed = [set(wanted.models)] if wanted.models else []
    for label in (reading.gpu_model_label, *reading.dialect.model_labels):
        if label in pod.spec.node_selector:
            allowed.append({pod.spec.node_selector[label]})
        wants = _affinity_values(pod, label)
        if wants:
            allowed.append(wants)
    if not allowed:
        return ""
    # A name that we do not know stays as it is: it fits no node, and is told so.
    named = [{reading.model(label) or label for label in labels} for labels in allowed]
    both = set.intersection(*named)
    if not both:
        raise Unreadable(f"no GPU model is left by {' and '.join('|'.join(sorted(names)) for names in named)}")
    return "|".join(sorted(both))


def _affinity_values(pod: Pod, label: str) -> set[str]:
    """Values of `label` that a required node affinity allows; empty if it does not say."""
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


def _gpu_index(pod: Pod, task: TaskClass, reading: Reading) -> tuple[int, ...] | None:
    """GPUs of a bound pod as its annotation says them."""
    text = reading.dialect.read_index(pod.metadata.annotations)
    if text == "":
        return None
    parts = text.split("-")
    gpus = tuple(int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 3)
    good = len(gpus) == len(parts) == len(set(gpus)) and all(gpu < MAX_GPUS for gpu in gpus)
    if not good:
        raise Unreadable(f"GPU index {text!r}, expected different numbers below {MAX_GPUS} like 0-3-4")
    if len(gpus) != task.num_gpu:
        raise Unreadable(f"GPU index {text!r} for a pod that asks for {task.num_gpu} GPUs, expected as many")
    return gpus


def binding_annotations(gpus: Sequence[int], task: TaskClass, reading: Reading) -> dict[str, str]:
    """What to write with the Binding so that the chosen GPUs are known afterwards; nothing without GPUs."""
    return reading.dialect.write_index(gpus, task) if gpus else {}
