"""yunikorn, yunikornpack: Apache YuniKorn's node sorting, fair (its default) and bin packing.

    usage = mean over CPU and memory of used / capacity, before the task

`yunikorn` takes the node with the least usage, `yunikornpack` the one with the most. Ties go to the first node by name.
YuniKorn does not weigh GPUs here and knows no shares of one: a share goes to the tightest GPU that holds it.
"""

from __future__ import annotations

from dataclasses import replace

from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU, Order, Pick, Policy
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord


@kernel
def usage(node: NodeRecord) -> float:
    total, counted = 0.0, 0
    if node.cpu_milli > 0:
        total += (node.cpu_milli - node.cpu_left) / node.cpu_milli
        counted += 1
    if node.memory_mib > 0:
        total += (node.memory_mib - node.memory_left) / node.memory_mib
        counted += 1
    return total / counted if counted > 0 else 0.0


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    terms[0] = -usage(node)
    return ANY_GPU


@kernel
def score_pack(
    node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats
) -> int:
    terms[0] = usage(node)
    return ANY_GPU


YUNIKORN = Policy(
    "yunikorn",
    "YuniKorn's default, fair: the node with the least CPU and memory in use",
    score,
    pick=Pick.TIGHTEST,
    order=Order.NAME,
)
YUNIKORNPACK = replace(
    YUNIKORN,
    name="yunikornpack",
    summary="YuniKorn set to bin packing: the node with the most CPU and memory in use",
    score=score_pack,
)
