"""MIG devices (strategy mixed): `nvidia.com/mig-<n>g.<m>gb` is n of the 7 slices of a GPU.

n/7 of 1000 is rounded down, 142 for one slice: rounded up to 143, seven slices would be 1001 and the last would not
fit. Devices of more than 7 slices in all never fit one GPU: 8/7 of 1000, less at most 1 for each of at most 8 devices,
is still more than 1000.
"""

from __future__ import annotations

import re

from wattpack.kube.dialects.dialect import NO_GPU, Asked, Dialect, GpuRequest
from wattpack.kube.dialects.node_devices import WHOLE, node_count, whole_gpus_of
from wattpack.kube.dialects.shares import beside_whole, share_of_one
from wattpack.kube.objects import Node, Pod, Unreadable
from wattpack.kube.pod_requests import pod_requests
from wattpack.kube.quantity import NANO, whole
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import GPU_MILLI

PREFIX = "nvidia.com/mig-"
SLICES = 7
MOST_DEVICES = SLICES * MAX_GPUS  # that a node can have
_PROFILE = re.compile(r"([1-7])g\.[0-9]{1,4}gb(\.me|\.me\.all|\.gfx|-me)?", re.ASCII)


def slices_of(resource: str) -> int:
    found = _PROFILE.fullmatch(resource.removeprefix(PREFIX))
    if found is None:
        raise Unreadable(f"{resource}: not a MIG profile we know, expected one like {PREFIX}3g.20gb")
    return int(found[1])


def request(asked: Asked) -> GpuRequest:
    wants = [(name, amount) for name, amount in asked.total_nano.items() if name.startswith(PREFIX) and amount]
    if not wants:
        return beside_whole(asked, NO_GPU, "")
    devices = sum(whole(amount, name) for name, amount in wants)
    name = wants[0][0]
    if devices > 1:
        # Two devices may be on one GPU or on two: the model has neither.
        raise Unreadable(f"{devices} MIG devices ({name}) in one pod, expected one")
    return beside_whole(asked, share_of_one(slices_of(name) * GPU_MILLI // SLICES, 1, name), name)


def most(asked: Asked) -> list[int]:
    found = []
    for name in sorted(asked.total_nano):
        if name.startswith(PREFIX):
            try:
                milli = slices_of(name) * GPU_MILLI // SLICES
            except Unreadable:
                milli = GPU_MILLI
            found += [milli] * min(asked.devices(name), MOST_DEVICES)
    return found


def node_gpus(node: Node) -> int:
    """GPUs without MIG and the fewest that hold the MIG devices; the number in the label if that is more."""
    cut = 0
    for resource in node.status.allocatable:
        if resource.startswith(PREFIX):
            cut += slices_of(resource) * (node_count(node, resource) or 0)
    if cut == 0:
        return whole_gpus_of(node)
    label = node.metadata.labels.get("nvidia.com/gpu.count", "")
    counted = int(label) if label.isascii() and label.isdigit() and len(label) < 5 else 0
    return max(counted, (node_count(node, WHOLE) or 0) + -(-cut // SLICES))


def mig_devices(pod: Pod) -> dict[str, int]:
    """MIG devices that the pod asks for, by resource."""
    total, _ = pod_requests(pod)
    return {name: -(-amount // NANO) for name, amount in total.items() if name.startswith(PREFIX) and amount}


MIG = Dialect(
    name="mig",
    request=request,
    most=most,
    node_gpus=node_gpus,
    owns_prefix=PREFIX,
)
