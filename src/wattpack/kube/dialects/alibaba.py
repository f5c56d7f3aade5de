"""The names of Alibaba's open GPU share and of the simulator of the paper: `alibabacloud.com/gpu-milli` and others.

A pod names the number of GPUs and the thousandths of each in annotations (or as resources of a container), a node its
number of GPUs in its allocatable resources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from wattpack.kube.dialects.dialect import NO_GPU, Asked, Dialect, GpuRequest
from wattpack.kube.dialects.gpu_index import index_text
from wattpack.kube.dialects.node_devices import counted_gpus
from wattpack.kube.dialects.shares import beside_whole, share_of_one
from wattpack.kube.objects import Unreadable
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass

MILLI = "alibabacloud.com/gpu-milli"
COUNT = "alibabacloud.com/gpu-count"
INDEX = "alibabacloud.com/gpu-index"
MODEL = "alibabacloud.com/gpu-card-model"


def request(asked: Asked) -> GpuRequest:
    milli, count = _said(asked, MILLI), _said(asked, COUNT)
    models = tuple(part for part in asked.annotations.get(MODEL, "").split("|") if part)
    if not milli and not count:
        return beside_whole(asked, NO_GPU._replace(models=models), "")
    milli = GPU_MILLI if milli is None else milli
    count = 1 if count is None else count
    words = f"{count} GPU x {milli} milli"
    return beside_whole(asked, share_of_one(milli, count, words, models), words)


def _said(asked: Asked, name: str) -> int | None:
    """The annotation, or the resource; both only if they agree."""
    annotated, counted = asked.number(name), asked.count(name) if name in asked.total_nano else None
    if annotated is not None and counted is not None and annotated != counted:
        raise Unreadable(f"{name} is {annotated} as an annotation and {counted} as a resource, expected one of them")
    return counted if annotated is None else annotated


def most(asked: Asked) -> list[int]:
    """Nothing without a number that can be read: no device is given out for annotations."""
    milli = max(asked.thousandths_or_none(MILLI) // 1000, asked.devices(MILLI))
    count = max(asked.thousandths_or_none(COUNT) // 1000, asked.devices(COUNT))
    if not milli and not count:
        return []
    return [min(milli or GPU_MILLI, GPU_MILLI)] * max(1, count)


def read_index(annotations: Mapping[str, str]) -> str:
    return annotations.get(INDEX, "")


def write_index(gpus: Sequence[int], task: TaskClass) -> dict[str, str]:
    return {INDEX: index_text(gpus)}


ALIBABA = Dialect(
    name="alibaba",
    resources=frozenset({MILLI, COUNT}),
    annotations=frozenset({MILLI, COUNT, MODEL}),
    request=request,
    most=most,
    node_gpus=partial(counted_gpus, resource=COUNT),
    model_labels=(MODEL,),
    read_index=read_index,
    write_index=write_index,
)
