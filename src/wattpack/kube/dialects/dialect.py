"""THE CONTRACT of a dialect: how a pod asks for GPUs, how many a node has, and where the chosen index is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wattpack.kube.objects import Node, Unreadable
from wattpack.kube.quantity import nano, whole
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass

WHOLE = "nvidia.com/gpu"  # whole GPUs, in every dialect beside its own names
OWN_INDEX = "wattpack.dev/gpu-index"  # where a dialect has no index that a scheduler writes


class GpuRequest(NamedTuple):
    """`num_gpu` GPUs, `gpu_milli` of each; `models` as the pod names them, empty for any."""

    num_gpu: int
    gpu_milli: int
    models: tuple[str, ...] = ()


NO_GPU = GpuRequest(0, 0)


@dataclass(frozen=True)
class Asked:
    """What a dialect sees of a pod."""

    namespace: str
    annotations: Mapping[str, str]
    total_nano: Mapping[str, int]  # by resource: the pod as a whole, in billionths
    containers_nano: Sequence[Mapping[str, int]]  # the same of each container (init containers too)
    gpu_memory_mib: int  # of one GPU; 0: unknown
    known_models: Sequence[str]  # names that a model in the cluster can have

    def count(self, resource: str) -> int:
        return whole(self.total_nano.get(resource, 0), resource)

    def number(self, annotation: str) -> int | None:
        """A whole number in an annotation; None if there is none."""
        text = self.annotations.get(annotation)
        if text is None:
            return None
        return whole(_annotated(annotation, text), annotation)

    def thousandths(self, annotation: str) -> int | None:
        """A decimal number in an annotation, in thousandths, rounded up."""
        text = self.annotations.get(annotation)
        return None if text is None else -(-_annotated(annotation, text) // 10**6)


@dataclass(frozen=True)
class Dialect:
    """One way of asking for GPUs."""

    name: str
    about: str
    resources: frozenset[str]  # resource names of its own that a pod may ask for
    annotations: frozenset[str]  # annotations of its own by which a pod asks for GPUs
    request: Callable[[Asked], GpuRequest]
    node_gpus: Callable[[Node], int]
    memory_mib: Callable[[Node], int]  # of the smallest GPU of a node, 0 if the node does not say
    model_labels: tuple[str, ...] = ()  # where else a node may name its model, after the configured label
    read_index: Callable[[Mapping[str, str]], str] = lambda annotations: ""  # like "0-3-4", "" if there is none
    write_index: Callable[[Sequence[int], TaskClass], dict[str, str]] = lambda gpus, task: {}
    owns_prefix: str = ""  # resource names that cannot be listed

    def owns(self, name: str) -> bool:
        return (
            name in self.resources
            or name in self.annotations
            or (self.owns_prefix != "" and name.startswith(self.owns_prefix))
        )


def _annotated(annotation: str, text: str) -> int:
    try:
        return nano(text)
    except Unreadable as fault:
        raise Unreadable(f"annotation {annotation}: {fault}") from None


# What dialects share ------------------------------------------------------------------------------------------------


def whole_gpus(asked: Asked) -> GpuRequest:
    count = asked.count(WHOLE)
    return GpuRequest(count, GPU_MILLI) if count else NO_GPU


def beside_whole(asked: Asked, own: GpuRequest, words: str) -> GpuRequest:
    """`own`, or the whole GPUs of a pod that says nothing in the dialect; both only if they are the same."""
    plain = whole_gpus(asked)
    if own.num_gpu == 0:
        return plain._replace(models=own.models)
    if plain.num_gpu and plain[:2] != own[:2]:
        raise Unreadable(f"asks for {plain.num_gpu} {WHOLE} and for {words}, expected one of them")
    return own


def share_of_one(milli: int, num_gpu: int, words: str, models: tuple[str, ...] = ()) -> GpuRequest:
    """A share of one GPU, or whole GPUs; anything else has no place in the model."""
    if num_gpu == 0 or milli == 0:
        raise Unreadable(f"{words}: expected more than 0")
    if milli > GPU_MILLI:
        raise Unreadable(f"{words}: more than the whole of a GPU, expected at most one GPU each")
    if num_gpu > 1 and milli < GPU_MILLI:
        raise Unreadable(f"{words}: shares of {num_gpu} GPUs at once, expected a share of one GPU or whole GPUs")
    return GpuRequest(num_gpu, milli, models)


def milli_of_memory(asked_mib: int, gpu_memory_mib: int, resource: str) -> int:
    """The share that an amount of GPU memory is, rounded up."""
    if gpu_memory_mib <= 0:
        raise Unreadable(
            f"asks for {resource}, but the memory of a GPU is not known: set gpu_memory_mib in the configuration"
        )
    if asked_mib > gpu_memory_mib:
        raise Unreadable(f"asks for {asked_mib} MiB of GPU memory ({resource}), one GPU has {gpu_memory_mib} MiB")
    return -(-asked_mib * GPU_MILLI // gpu_memory_mib)


def node_count(node: Node, resource: str) -> int | None:
    """A whole number of a node's allocatable resources; None if it has no such resource."""
    amount = node.status.allocatable.get(resource)
    return None if amount is None else whole(nano(amount), resource)


def whole_gpus_of(node: Node) -> int:
    """GPUs that a node has through `nvidia.com/gpu`. Devices that stand for parts of GPUs cannot be told from GPUs."""
    count = node_count(node, WHOLE) or 0
    labels = node.metadata.labels
    replicas = labels.get("nvidia.com/gpu.replicas", "1")
    if count and replicas not in ("0", "1", ""):
        raise Unreadable(f"time-sliced GPUs (nvidia.com/gpu.replicas {replicas}): {WHOLE} is no longer a whole GPU")
    if count and "-MIG-" in labels.get("nvidia.com/gpu.product", ""):
        raise Unreadable(f"MIG strategy single: {WHOLE} is a MIG device, expected strategy mixed and dialect mig")
    return count


def label_memory_mib(node: Node) -> int:
    text = node.metadata.labels.get("nvidia.com/gpu.memory", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def index_text(gpus: Sequence[int]) -> str:
    return "-".join(str(gpu) for gpu in gpus)


def write_own_index(gpus: Sequence[int], task: TaskClass) -> dict[str, str]:
    return {OWN_INDEX: index_text(gpus)}


def read_own_index(annotations: Mapping[str, str]) -> str:
    return annotations.get(OWN_INDEX, "")
