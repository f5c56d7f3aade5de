"""Volcano: vGPUs through `volcano.sh/vgpu-number`, `vgpu-memory`, `vgpu-memory-percentage`, `vgpu-cores`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wattpack.kube.dialects.dialect import (
    OWN_INDEX,
    Asked,
    Dialect,
    GpuRequest,
    beside_whole,
    index_text,
    label_memory_mib,
    node_count,
    whole_gpus_of,
)
from wattpack.kube.dialects.vgpu import MODEL_ANNOTATIONS, Names, registered_gpus, with_models
from wattpack.kube.objects import Node, Unreadable
from wattpack.model.tasks import TaskClass

NAMES = Names(
    "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage", "volcano.sh/vgpu-cores"
)
REGISTER = "volcano.sh/node-vgpu-register"
INDEX = "volcano.sh/gpu-index"  # like "0" or "0,1"


def request(asked: Asked) -> GpuRequest:
    return with_models(asked, beside_whole(asked, NAMES.request(asked), NAMES.number))


def node_gpus(node: Node) -> int:
    gpus, plain = registered_gpus(node, REGISTER, memory_at=2), whole_gpus_of(node)
    if gpus is None:
        if node_count(node, NAMES.number):
            raise Unreadable(f"{NAMES.number} counts parts of GPUs and annotation {REGISTER} is missing")
        return plain
    if gpus and plain:
        raise Unreadable(f"nvidia.com/gpu is {plain} beside {len(gpus)} GPUs in {REGISTER}, expected one of them")
    return len(gpus) or plain


def memory_mib(node: Node) -> int:
    gpus = registered_gpus(node, REGISTER, memory_at=2)
    return min(gpu.devmem for gpu in gpus) if gpus else label_memory_mib(node)


def read_index(annotations: Mapping[str, str]) -> str:
    return annotations.get(OWN_INDEX) or annotations.get(INDEX, "").replace(",", "-")


def write_index(gpus: Sequence[int], task: TaskClass) -> dict[str, str]:
    return {INDEX: ",".join(str(gpu) for gpu in gpus), OWN_INDEX: index_text(gpus)}


VOLCANO = Dialect(
    name="volcano",
    about="volcano.sh/vgpu-number with vgpu-memory, vgpu-memory-percentage, vgpu-cores",
    resources=frozenset(NAMES),
    annotations=MODEL_ANNOTATIONS,
    request=request,
    node_gpus=node_gpus,
    memory_mib=memory_mib,
    read_index=read_index,
    write_index=write_index,
)
