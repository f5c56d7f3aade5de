"""HAMi: vGPUs through `nvidia.com/gpu` with `nvidia.com/gpumem`, `gpumem-percentage` and `gpucores`.

Here `nvidia.com/gpu` is a number of vGPUs, and a node offers several for each GPU: the GPUs are those that the device
plugin registers in an annotation.
"""

from __future__ import annotations

from wattpack.kube.dialects.dialect import (
    WHOLE,
    Asked,
    Dialect,
    GpuRequest,
    label_memory_mib,
    read_own_index,
    whole_gpus_of,
    write_own_index,
)
from wattpack.kube.dialects.vgpu import MODEL_ANNOTATIONS, Names, registered_gpus, with_models
from wattpack.kube.objects import Node

NAMES = Names(WHOLE, "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores")
REGISTER = "hami.io/node-nvidia-register"


def request(asked: Asked) -> GpuRequest:
    return with_models(asked, NAMES.request(asked))


def node_gpus(node: Node) -> int:
    gpus = registered_gpus(node, REGISTER, memory_at=2)
    return whole_gpus_of(node) if gpus is None else len(gpus)


def memory_mib(node: Node) -> int:
    gpus = registered_gpus(node, REGISTER, memory_at=2)
    return min(gpu.devmem for gpu in gpus) if gpus else label_memory_mib(node)


HAMI = Dialect(
    name="hami",
    about="vGPUs: nvidia.com/gpu with gpumem, gpumem-percentage, gpucores",
    resources=frozenset(NAMES) - {WHOLE},
    annotations=MODEL_ANNOTATIONS,
    request=request,
    node_gpus=node_gpus,
    memory_mib=memory_mib,
    read_index=read_own_index,
    write_index=write_own_index,
)
