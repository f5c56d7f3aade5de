"""HAMi: vGPUs through `nvidia.com/gpu` with `nvidia.com/gpumem`, `gpumem-percentage` and `gpucores`.

Here `nvidia.com/gpu` is a number of vGPUs, of which a node offers several for each GPU: the device plugin registers the
GPUs themselves in an annotation.
"""

from __future__ import annotations

from functools import partial

from wattpack.kube.dialects.dialect import Asked, Dialect, GpuRequest
from wattpack.kube.dialects.node_devices import WHOLE, whole_gpus_of
from wattpack.kube.dialects.vgpu import (
    MODEL_ANNOTATIONS,
    Names,
    Plugin,
    registered_gpus,
    registered_ids,
    registered_memory_mib,
    with_models,
)
from wattpack.kube.objects import Node

NAMES = Names(WHOLE, "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores")
PLUGIN = Plugin(("hami.io/vgpu-devices-allocated", "hami.io/vgpu-devices-to-allocate"), "hami.io/vgpu-node")
REGISTER = "hami.io/node-nvidia-register"


def request(asked: Asked) -> GpuRequest:
    return with_models(asked, NAMES.request(asked))


def node_gpus(node: Node) -> int:
    gpus = registered_gpus(node, REGISTER)
    return whole_gpus_of(node) if gpus is None else len(gpus)


HAMI = Dialect(
    name="hami",
    resources=frozenset(NAMES) - {WHOLE},
    annotations=MODEL_ANNOTATIONS,
    node_annotations=frozenset({REGISTER}),
    request=request,
    most=NAMES.most,
    held=partial(NAMES.held, plugin=PLUGIN),
    gpu_ids=partial(registered_ids, annotation=REGISTER),
    only_by="HAMi's scheduler",
    node_gpus=node_gpus,
    memory_mib=partial(registered_memory_mib, annotation=REGISTER),
)
