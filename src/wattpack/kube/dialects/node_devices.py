"""What a node offers: whole GPUs through `nvidia.com/gpu`, counts of other resources, the memory of its GPUs."""

from __future__ import annotations

from wattpack.kube.objects import Node, Unreadable
from wattpack.kube.quantity import nano, whole

WHOLE = "nvidia.com/gpu"  # whole GPUs, which every dialect reads beside its own names


def node_count(node: Node, resource: str) -> int | None:
    """The amount of an allocatable resource, a whole number; None: the node has no such resource."""
    amount = node.status.allocatable.get(resource)
    return None if amount is None else whole(nano(amount), resource)


def whole_gpus_of(node: Node) -> int:
    """Whole GPUs of a node through `nvidia.com/gpu`; raises where the device plugin counts parts of GPUs as GPUs."""
    count = node_count(node, WHOLE) or 0
    labels = node.metadata.labels
    replicas = labels.get("nvidia.com/gpu.replicas", "1")
    if count and replicas not in ("0", "1", ""):
        raise Unreadable(f"time-sliced GPUs (nvidia.com/gpu.replicas {replicas}): {WHOLE} is no longer a whole GPU")
    if count and "-MIG-" in labels.get("nvidia.com/gpu.product", ""):
        raise Unreadable(f"MIG strategy single: {WHOLE} is a MIG device, expected strategy mixed and dialect mig")
    return count


def counted_gpus(node: Node, resource: str) -> int:
    """GPUs of a node through a resource that counts them, or through `nvidia.com/gpu`; both only if they agree."""
    count, plain = node_count(node, resource), whole_gpus_of(node)
    if count is not None and plain and plain != count:
        raise Unreadable(f"{resource} is {count} and {WHOLE} is {plain}, expected the same number")
    return plain if count is None else count


def label_memory_mib(node: Node) -> int:
    """MiB of one GPU by the label of NVIDIA's feature discovery; 0 without it."""
    text = node.metadata.labels.get("nvidia.com/gpu.memory", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
