"""THE CONTRACT of a dialect: how a pod asks for GPUs, what it holds, how many a node has, where the index goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wattpack.kube.dialects.gpu_index import read_own_index, write_own_index
from wattpack.kube.dialects.node_devices import WHOLE, label_memory_mib, whole_gpus_of
from wattpack.kube.facts import Held
from wattpack.kube.objects import Node, Unreadable
from wattpack.kube.quantity import NANO, nano, whole
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass


class GpuRequest(NamedTuple):
    """`num_gpu` GPUs, `gpu_milli` of each; `models` as the pod names them, empty for any."""

    num_gpu: int
    gpu_milli: int
    models: tuple[str, ...] = ()
    gpu_memory_mib: int = 0  # the GPU that an amount of memory is a share of: no smaller one will do; 0: none asked for
    dialect: str = ""  # that found the request; empty: plain nvidia.com/gpu


NO_GPU = GpuRequest(0, 0)
MOST = 100_000  # devices, percents or GiB that are counted of a pod whose request cannot be read


@dataclass(frozen=True)
class Asked:
    """The part of a pod that a dialect sees."""

    namespace: str
    annotations: Mapping[str, str]
    total_nano: Mapping[str, int]  # by resource: the pod as a whole, in billionths
    containers_nano: Sequence[Mapping[str, int]]  # the same of each container (init containers too)
    gpu_memories_mib: Sequence[int]  # of the GPUs in question, ascending; none: unknown
    known_models: Sequence[str]  # names that a model in the cluster can have
    labels: Mapping[str, str] = field(default_factory=dict)
    node: str = ""  # where it is

    def gpu_memory_mib(self, least_mib: int) -> int:
        """Of the smallest GPU that holds `least_mib`, or of the largest; 0: unknown."""
        large = (memory for memory in self.gpu_memories_mib if memory >= least_mib)
        return next(large, self.gpu_memories_mib[-1] if self.gpu_memories_mib else 0)

    def count(self, resource: str) -> int:
        return whole(self.total_nano.get(resource, 0), resource)

    def number(self, annotation: str) -> int | None:
        """A whole number in an annotation; None without the annotation."""
        text = self.annotations.get(annotation)
        if text is None:
            return None
        return whole(_annotated(annotation, text), annotation)

    def thousandths(self, annotation: str) -> int | None:
        """A decimal number in an annotation, in thousandths, rounded up; None without the annotation."""
        text = self.annotations.get(annotation)
        return None if text is None else -(-_annotated(annotation, text) // 10**6)

    # ---- the same of a pod that holds devices, whatever it says: what cannot be read is 0

    def devices(self, resource: str) -> int:
        return min(MOST, -(-self.total_nano.get(resource, 0) // NANO))

    def thousandths_or_none(self, annotation: str) -> int:
        try:
            return min(1000 * MOST, self.thousandths(annotation) or 0)
        except Unreadable:
            return 0

    def milli_of_memory(self, asked_mib: int) -> int:
        """The most that an amount of GPU memory can be of a GPU."""
        gpu_mib = self.gpu_memory_mib(asked_mib)
        return min(GPU_MILLI, -(-asked_mib * GPU_MILLI // gpu_mib)) if gpu_mib else GPU_MILLI


def says_nothing(asked: Asked) -> tuple[Held, ...] | None:
    """No annotation says what a pod holds."""
    return None


def most_whole(asked: Asked) -> list[int]:
    """Milli of each GPU that a pod can hold at most by plain words."""
    return [GPU_MILLI] * asked.devices(WHOLE)


def no_ids(node: Node) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Dialect:
    """One way of asking for GPUs. The defaults are those of a node with whole GPUs and of our own annotation."""

    name: str
    request: Callable[[Asked], GpuRequest]
    resources: frozenset[str] = frozenset()  # names of resources by which a pod asks in this dialect only
    annotations: frozenset[str] = frozenset()  # likewise annotations
    owns_prefix: str = ""  # likewise resource names that cannot be listed
    namespaces: tuple[str, ...] = ()  # likewise namespaces, where plain words mean something else
    node_annotations: frozenset[str] = frozenset()  # by which a node shows that it offers GPUs in this dialect
    node_gpus: Callable[[Node], int] = whole_gpus_of
    memory_mib: Callable[[Node], int] = label_memory_mib  # of the smallest GPU of a node, 0: not known
    model_labels: tuple[str, ...] = ()  # labels with the GPU model, after the configured one
    read_index: Callable[[Mapping[str, str]], str] = read_own_index  # text like "0-3-4", "" if there is none
    write_index: Callable[[Sequence[int], TaskClass], dict[str, str]] = write_own_index
    # What the dialect's own scheduler wrote that a pod holds on its node; None: it says nothing.
    held: Callable[[Asked], tuple[Held, ...] | None] = says_nothing
    # What a pod can hold at most, as milli of each GPU, where its request cannot be read.
    most: Callable[[Asked], list[int]] = most_whole
    gpu_ids: Callable[[Node], tuple[str, ...]] = no_ids  # by which `held` names the GPUs of a node, in order
    only_by: str = ""  # the scheduler without whose annotations the device plugin gives no GPU to a pod
    parts: tuple[Dialect, ...] = ()  # the dialects that this one stands for, where it stands for several

    def owns(self, name: str) -> bool:
        """Whether a resource or annotation of this name belongs to this dialect only."""
        return (
            name in self.resources
            or name in self.annotations
            or (self.owns_prefix != "" and name.startswith(self.owns_prefix))
        )

    def on_node(self, node: Node) -> bool:
        """Whether the node offers anything in this dialect's own words."""
        offered = (name for name, amount in node.status.allocatable.items() if str(amount).strip("0"))
        return any(map(self.owns, offered)) or not self.node_annotations.isdisjoint(node.metadata.annotations)

    def words_of(self, node: Node) -> frozenset[str]:
        """Names of the dialects, of several, in whose own words the node offers GPUs; none: in plain ones."""
        return frozenset(part.name for part in self.parts if part.on_node(node))


def _annotated(annotation: str, text: str) -> int:
    try:
        return nano(text)
    except Unreadable as fault:
        raise Unreadable(f"annotation {annotation}: {fault}") from None
