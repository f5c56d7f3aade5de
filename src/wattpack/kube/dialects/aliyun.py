"""Aliyun's GPU share: `aliyun.com/gpu-mem` in GiB of one GPU."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from wattpack.kube.dialects.dialect import (
    NO_GPU,
    OWN_INDEX,
    Asked,
    Dialect,
    GpuRequest,
    beside_whole,
    index_text,
    label_memory_mib,
    milli_of_memory,
    node_count,
    share_of_one,
    whole_gpus_of,
)
from wattpack.kube.objects import Node, Unreadable
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
    return beside_whole(asked, share_of_one(milli_of_memory(gib * 1024, asked.gpu_memory_mib, MEMORY), 1, words), words)


def node_gpus(node: Node) -> int:
    count, plain = node_count(node, COUNT), whole_gpus_of(node)
    if count is not None and plain and plain != count:
        raise Unreadable(f"{COUNT} is {count} and nvidia.com/gpu is {plain}, expected the same number")
    return plain if count is None else count


def memory_mib(node: Node) -> int:
    """What the device plugin shares out, in GiB of each GPU: less than the GPU has, but what a pod can ask for."""
    count, gib = node_count(node, COUNT), node_count(node, MEMORY)
    return gib * 1024 // count if count and gib else label_memory_mib(node)


def read_index(annotations: Mapping[str, str]) -> str:
    return annotations.get(OWN_INDEX) or annotations.get(INDEX, "").replace(",", "-")


def write_index(gpus: Sequence[int], task: TaskClass) -> dict[str, str]:
    """A share also as the device plugin looks for it: the pod assumed first and not yet assigned is the next one."""
    own = {OWN_INDEX: index_text(gpus)}
    if task.gpu_milli == GPU_MILLI:
        return own
    return own | {INDEX: index_text(gpus), ASSIGNED: "false", ASSUME_TIME: str(time.time_ns())}


ALIYUN = Dialect(
    name="aliyun",
    about="aliyun.com/gpu-mem, GiB of one GPU",
    resources=frozenset({MEMORY, COUNT}),
    annotations=frozenset(),
    request=request,
    node_gpus=node_gpus,
    memory_mib=memory_mib,
    read_index=read_index,
    write_index=write_index,
)
