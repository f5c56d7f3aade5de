"""Whole GPUs of AMD: `amd.com/gpu`, as AMD's device plugin offers them."""

from __future__ import annotations

from wattpack.kube.dialects.dialect import NO_GPU, Asked, Dialect, GpuRequest
from wattpack.kube.dialects.node_devices import WHOLE, node_count, whole_gpus_of
from wattpack.kube.dialects.shares import whole_gpus
from wattpack.kube.objects import Node, Unreadable
from wattpack.model.power import GPU_MILLI

AMD_WHOLE = "amd.com/gpu"
PARTITION = "amd.com/compute-memory-partition"  # a label; without it, or with spx, a GPU is one device
NOT_CUT = "spx"


def request(asked: Asked) -> GpuRequest:
    own, plain = asked.count(AMD_WHOLE), whole_gpus(asked)
    if own and plain.num_gpu:
        raise Unreadable(f"asks for {plain.num_gpu} {WHOLE} and for {own} {AMD_WHOLE}, expected one of them")
    return GpuRequest(own, GPU_MILLI) if own else plain if plain.num_gpu else NO_GPU


def most(asked: Asked) -> list[int]:
    return [GPU_MILLI] * asked.devices(AMD_WHOLE)


def node_gpus(node: Node) -> int:
    """Raises where the plugin counts partitions as GPUs, and where the node has GPUs of both makers."""
    own, plain = node_count(node, AMD_WHOLE) or 0, whole_gpus_of(node)
    if own and plain:
        raise Unreadable(f"{AMD_WHOLE} is {own} and {WHOLE} is {plain}, expected GPUs of one maker")
    cut = node.metadata.labels.get(PARTITION, NOT_CUT)
    if own and not cut.startswith(NOT_CUT):
        raise Unreadable(f"partitioned GPUs ({PARTITION} is {cut!r}): {AMD_WHOLE} is a part of a GPU")
    return own or plain


AMD = Dialect(name="amd", resources=frozenset({AMD_WHOLE}), request=request, most=most, node_gpus=node_gpus)
