"""Volcano: vGPUs through `volcano.sh/vgpu-number`, `vgpu-memory`, `vgpu-memory-percentage`, `vgpu-cores`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from wattpack.kube.dialects.dialect import Asked, Dialect, GpuRequest
from wattpack.kube.dialects.gpu_index import read_own_or_listed, write_own_index
from wattpack.kube.dialects.node_devices import WHOLE, node_count, whole_gpus_of
from wattpack.kube.dialects.shares import beside_whole
from wattpack.kube.dialects.vgpu import (
    MODEL_ANNOTATIONS,
    Names,
    Plugin,
    registered_gpus,
    registered_ids,
    registered_memory_mib,
    with_models,
)
from wattpack.kube.objects import Node, Unreadable
from wattpack.model.tasks import TaskClass

NAMES = Names(
    "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage", "volcano.sh/vgpu-cores"
)
PLUGIN = Plugin(("volcano.sh/vgpu-ids-new", "volcano.sh/devices-to-allocate"), "volcano.sh/vgpu-node")
REGISTER = "volcano.sh/node-vgpu-register"
INDEX = "volcano.sh/gpu-index"  # like "0" or "0,1"


def request(asked: Asked) -> GpuRequest:
    return with_models(asked, beside_whole(asked, NAMES.request(asked), NAMES.number))


def node_gpus(node: Node) -> int:
    gpus, plain = registered_gpus(node, REGISTER), whole_gpus_of(node)
    if gpus is None:
        if node_count(node, NAMES.number):
            raise Unreadable(f"{NAMES.number} counts parts of GPUs and annotation {REGISTER} is missing")
        return plain
    if gpus and plain:
        raise Unreadable(f"{WHOLE} is {plain} beside {len(gpus)} GPUs in {REGISTER}, expected one of them")
    return len(gpus) or plain


def read_index(annotations: Mapping[str, str]) -> str:
    return read_own_or_listed(annotations, INDEX)


def write_index(gpus: Sequence[int], task: TaskClass) -> dict[str, str]:
    return {INDEX: ",".join(map(str, gpus))} | write_own_index(gpus, task)


VOLCANO = Dialect(
    name="volcano",
    resources=frozenset(NAMES),
    annotations=MODEL_ANNOTATIONS,
    node_annotations=frozenset({REGISTER}),
    request=request,
    most=NAMES.most,
    held=partial(NAMES.held, plugin=PLUGIN),
    gpu_ids=partial(registered_ids, annotation=REGISTER),
    only_by="Volcano's scheduler",
    node_gpus=node_gpus,
    memory_mib=partial(registered_memory_mib, annotation=REGISTER),
    read_index=read_index,
    write_index=write_index,
)
