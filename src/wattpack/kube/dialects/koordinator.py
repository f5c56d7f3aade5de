"""Koordinator: percents of GPUs through `koordinator.sh/gpu-core` and `gpu-memory-ratio` (100 is one GPU)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from wattpack.kube.dialects.dialect import NO_GPU, Asked, Dialect, GpuRequest
from wattpack.kube.dialects.gpu_index import index_text, read_own_index, write_own_index
from wattpack.kube.dialects.node_devices import WHOLE, node_count, whole_gpus_of
from wattpack.kube.dialects.shares import beside_whole, milli_of_memory, share_of_one
from wattpack.kube.facts import Held
from wattpack.kube.objects import Node, Unreadable
from wattpack.kube.quantity import NANO, memory_mib_up, nano
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass

GPU = "koordinator.sh/gpu"  # percent of cores and memory alike
CORE = "koordinator.sh/gpu-core"
RATIO = "koordinator.sh/gpu-memory-ratio"
MEMORY = "koordinator.sh/gpu-memory"  # bytes
SHARED = "koordinator.sh/gpu.shared"  # over how many GPUs the amounts are spread
ALLOCATED = "scheduling.koordinator.sh/device-allocated"


def request(asked: Asked) -> GpuRequest:
    """The larger of the shares of cores and of memory. More than 100 percent are several whole GPUs."""
    percents = [asked.count(name) for name in (GPU, CORE, RATIO)]
    memory_mib = memory_mib_up(asked.total_nano.get(MEMORY, 0))
    if percents[0] and (any(percents[1:]) or memory_mib):
        raise Unreadable(f"asks for {GPU} and for {CORE}, {RATIO} or {MEMORY} at once, expected one of them")
    if percents[2] and memory_mib:
        raise Unreadable(f"asks for {RATIO} and {MEMORY} at once, expected one of them")
    if not any(percents) and not memory_mib:
        return beside_whole(asked, NO_GPU, "")
    number = asked.count(SHARED)
    milli, gpu_mib = 10 * max(percents), 0
    if memory_mib:
        each_mib = -(-memory_mib // max(number, 1))
        gpu_mib = asked.gpu_memory_mib(each_mib)
        milli = max(milli, milli_of_memory(each_mib, gpu_mib, MEMORY) * max(number, 1))
    if number == 0:
        number = max(1, milli // GPU_MILLI)
    if milli % number or (milli > GPU_MILLI and milli != number * GPU_MILLI):
        raise Unreadable(f"{milli // 10} percent of {number} GPUs, expected a share of one GPU or whole GPUs")
    words = f"{milli // 10} percent of a GPU"
    return beside_whole(asked, share_of_one(milli // number, number, words)._replace(gpu_memory_mib=gpu_mib), words)


def most(asked: Asked) -> list[int]:
    percent = max(asked.devices(name) for name in (GPU, CORE, RATIO))
    memory_mib = memory_mib_up(asked.total_nano.get(MEMORY, 0))
    number = asked.devices(SHARED) or max(1, -(-percent // 100))
    memory_milli = asked.milli_of_memory(-(-memory_mib // number)) * number if memory_mib else 0
    left = max(10 * percent, memory_milli)
    found = []
    for at in range(number, 0, -1):
        if left <= 0:
            break
        found.append(min(GPU_MILLI, -(-left // at) if asked.devices(SHARED) else left))
        left -= found[-1]
    return found


def held(asked: Asked) -> tuple[Held, ...] | None:
    """The GPUs that Koordinator's scheduler wrote, where it says how much of each."""
    if not any(asked.total_nano.get(name) for name in (GPU, CORE, RATIO, MEMORY, SHARED, WHOLE)):
        return None
    try:
        devices = _DEVICES.decode(asked.annotations.get(ALLOCATED, "{}")).gpu
        found = [Held(str(device.minor), min(GPU_MILLI, device.milli())) for device in devices]
    except (msgspec.MsgspecError, Unreadable):
        return None
    return tuple(found) if found and all(one.milli for one in found) else None


def node_gpus(node: Node) -> int:
    percent = node_count(node, GPU) or node_count(node, CORE)
    plain = whole_gpus_of(node)
    if percent is None:
        return plain
    if percent % 100 or (plain and plain != percent // 100):
        raise Unreadable(f"{percent} percent of GPUs and {plain} {WHOLE}, expected 100 for each GPU")
    return percent // 100


class Device(msgspec.Struct, gc=False):
    minor: int
    resources: dict[str, str | int] = {}

    def milli(self) -> int:
        """The larger of the shares of cores and of memory; 0: neither is told."""
        percents = [nano(self.resources.get(name, 0)) for name in (GPU, CORE, RATIO)]
        return -(-10 * max(percents) // NANO)


class Devices(msgspec.Struct, gc=False):
    gpu: list[Device] = []


_DEVICES = msgspec.json.Decoder(Devices)


def read_index(annotations: Mapping[str, str]) -> str:
    text = annotations.get(ALLOCATED)
    if text is None:
        return read_own_index(annotations)
    try:
        return index_text([device.minor for device in _DEVICES.decode(text).gpu])
    except msgspec.MsgspecError:
        raise Unreadable(f"annotation {ALLOCATED} cannot be read, expected JSON with the minors of GPUs") from None


def write_index(gpus: Sequence[int], task: TaskClass) -> dict[str, str]:
    percent = str(-(-task.gpu_milli // 10))
    devices = [{"minor": gpu, "resources": {CORE: percent, RATIO: percent}} for gpu in gpus]
    return {ALLOCATED: msgspec.json.encode({"gpu": devices}).decode()} | write_own_index(gpus, task)


KOORDINATOR = Dialect(
    name="koordinator",
    resources=frozenset({GPU, CORE, RATIO, MEMORY, SHARED}),
    request=request,
    most=most,
    held=held,
    node_gpus=node_gpus,
    model_labels=("node.koordinator.sh/gpu-model",),
    read_index=read_index,
    write_index=write_index,
)
