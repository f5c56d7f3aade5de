"""What a node offers: whole GPUs through `nvidia.com/gpu`, counts of other resources, the memory of its GPUs."""

from __future__ import annotations

from wattpack.kube.objects import Node, Unreadable
from wattpack.kube.quantity import nano, whole

TIME_SLICED = "nvidia.com/gpu.shared"  # parts of GPUs, under a name of their own
WHOLE = "nvidia.com/gpu"  # whole GPUs, which every dialect reads beside its own names
# How many pods share a GPU, each as one device: of NVIDIA's device plugin, and of Google's for time-sharing and MPS.
SHARED_BY = ("nvidia.com/gpu.replicas", "cloud.google.com/gke-max-shared-clients-per-gpu")
GKE_PART = "cloud.google.com/gke-gpu-partition-size"  # like 1g.5gb


def node_count(node: Node, resource: str) -> int | None:
    """The amount of an allocatable resource, a whole number; None: the node has no such resource."""
    amount = node.status.allocatable.get(resource)
    return None if amount is None else whole(nano(amount), resource)


def whole_gpus_of(node: Node) -> int:
    """Whole GPUs of a node through `nvidia.com/gpu`; raises where the device plugin counts parts of GPUs as GPUs."""
    count = node_count(node, WHOLE) or 0
    labels = node.metadata.labels
    for label in SHARED_BY:
        replicas = labels.get(label, "1")
        if count and replicas not in ("0", "1", ""):
            raise Unreadable(f"time-sliced GPUs ({label} {replicas}): {WHOLE} is no longer a whole GPU")
    if count and labels.get(GKE_PART):
        raise Unreadable(f"MIG devices ({GKE_PART} {labels[GKE_PART]}): {WHOLE} is a part of a GPU")
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
