"""The names of Alibaba's open GPU share and of the simulator of the paper: `alibabacloud.com/gpu-milli` and others.

A pod says how many GPUs and how many thousandths of each in annotations (or as resources of a container), a node how
many GPUs in its allocatable resources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wattpack.kube.dialects.dialect import (
    NO_GPU,
    Asked,
    Dialect,
    GpuRequest,
    beside_whole,
    index_text,
    label_memory_mib,
    node_count,
    share_of_one,
    whole_gpus_of,
)
from wattpack.kube.objects import Node, Unreadable
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
    """The annotation, or the resource; both only if they are the same."""
    annotated, counted = asked.number(name), asked.count(name) if name in asked.total_nano else None
    if annotated is not None and counted is not None and annotated != counted:
        raise Unreadable(f"{name} is {annotated} as an annotation and {counted} as a resource, expected one of them")
    return counted if annotated is None else annotated


def node_gpus(node: Node) -> int:
    count, plain = node_count(node, COUNT), whole_gpus_of(node)
    if count is not None and plain and plain != count:
        raise Unreadable(f"{COUNT} is {count} and nvidia.com/gpu is {plain}, expected the same number")
    return plain if count is None else count


def read_index(annotations: Mapping[str, str]) -> str:
    return annotations.get(INDEX, "")


def write_index(gpus: Sequence[int], task: TaskClass) -> dict[str, str]:
    return {INDEX: index_text(gpus)}


ALIBABA = Dialect(
    name="alibaba",
    about="alibabacloud.com/gpu-milli, gpu-count and gpu-card-model annotations",
    resources=frozenset({MILLI, COUNT}),
    annotations=frozenset({MILLI, COUNT, MODEL}),
    request=request,
    node_gpus=node_gpus,
    memory_mib=label_memory_mib,
    model_labels=(MODEL,),
    read_index=read_index,
    write_index=write_index,
)
