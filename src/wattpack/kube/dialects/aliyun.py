"""Aliyun's GPU share: `aliyun.com/gpu-mem` in GiB of one GPU."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial

from wattpack.kube.dialects.dialect import NO_GPU, Asked, Dialect, GpuRequest
from wattpack.kube.dialects.gpu_index import index_text, read_own_or_listed, write_own_index
from wattpack.kube.dialects.node_devices import counted_gpus, label_memory_mib, node_count
from wattpack.kube.dialects.shares import beside_whole, milli_of_memory, share_of_one
from wattpack.kube.objects import Node
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass

MEMORY = "aliyun.com/gpu-mem"  # GiB, the device plugin's default unit
COUNT = "aliyun.com/gpu-count"
INDEX = "ALIYUN_COM_GPU_MEM_IDX"
ASSIGNED = "ALIYUN_COM_GPU_MEM_ASSIGNED"
ASSUME_TIME = "ALIYUN_COM_GPU_MEM_ASSUME_TIME"


def request(asked: Asked) -> GpuRequest:
    gib = asked.count(MEMORY)
    if gib == 0:
        return beside_whole(asked, NO_GPU, "")
    words = f"{gib} GiB of GPU memory"
    gpu_mib = asked.gpu_memory_mib(gib * 1024)
    own = share_of_one(milli_of_memory(gib * 1024, gpu_mib, MEMORY), 1, words)
    return beside_whole(asked, own._replace(gpu_memory_mib=gpu_mib), words)


def most(asked: Asked) -> list[int]:
    gib = asked.devices(MEMORY)
    return [asked.milli_of_memory(gib * 1024)] if gib else [GPU_MILLI] * asked.devices(COUNT)


def memory_mib(node: Node) -> int:
    """What the device plugin offers of each GPU, in GiB: less than the GPU has, but all that a pod can ask for."""
    count, gib = node_count(node, COUNT), node_count(node, MEMORY)
    return gib * 1024 // count if count and gib else label_memory_mib(node)


def read_index(annotations: Mapping[str, str]) -> str:
    return read_own_or_listed(annotations, INDEX)


def write_index(gpus: Sequence[int], task: TaskClass) -> dict[str, str]:
    """A share also in the device plugin's annotations: it takes the pod that was assumed first and is not assigned."""
    own = write_own_index(gpus, task)
    if task.gpu_milli == GPU_MILLI:
        return own
    return own | {INDEX: index_text(gpus), ASSIGNED: "false", ASSUME_TIME: str(time.time_ns())}


ALIYUN = Dialect(
    name="aliyun",
    resources=frozenset({MEMORY, COUNT}),
    request=request,
    most=most,
    node_gpus=partial(counted_gpus, resource=COUNT),
    memory_mib=memory_mib,
    read_index=read_index,
    write_index=write_index,
)
