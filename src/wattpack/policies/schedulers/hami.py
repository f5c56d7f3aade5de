"""hami, hamispread: HAMi's scheduler, which packs nodes and spreads GPUs (its default), or spreads both.

    hami  10 * (slots used / slots + 2 * milli used / milli)   before the task; 10 slots a GPU

A share takes one slot, and so does each whole GPU. Cores and memory of a GPU are both the share here. Ties go to the
first node in node order. A share goes to the GPU with the least used milli among those that hold it, ties to the
highest index. Tasks without GPU are scored as by `kube`, over all nodes that fit.
"""

from __future__ import annotations

from dataclasses import replace

from wattpack.jit import kernel
from wattpack.model.nodes import KINDS
from wattpack.model.policy import Policy
from wattpack.model.power import GPU_MILLI
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.policies.schedulers.requests import SUM_OF_TERMS, balanced_change, gpu_used, least_allocated

SLOTS = 10  # a GPU


@kernel
def usage(node: NodeRecord) -> float:
    slots_used = node.kinds[0]
    for gpus in range(1, KINDS):
        slots_used += gpus * node.kinds[gpus]
    return 10 * (slots_used / (SLOTS * node.gpus) + 2 * gpu_used(node) / (GPU_MILLI * node.gpus))


@kernel
def emptiest_gpu(node: NodeRecord) -> int:
    """The GPU with the most left, the last of equals."""
    emptiest = 0
    for g in range(1, node.gpus):
        if node.gpu_left[g] >= node.gpu_left[emptiest]:
            emptiest = g
    return emptiest


@kernel
def score_by(sign: float, node: NodeRecord, task: TaskRecord, terms: Floats) -> int:
    terms[0] = sign * usage(node) if task.num_gpu > 0 else 0.0
    terms[1] = float(least_allocated(node, task)) if task.num_gpu == 0 else 0.0
    terms[2] = float(balanced_change(node, task, False)) if task.num_gpu == 0 else 0.0
    return emptiest_gpu(node)


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    return score_by(1.0, node, task, terms)


@kernel
def score_spread(
    node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats
) -> int:
    return score_by(-1.0, node, task, terms)


HAMI = Policy(
    "hami",
    "HAMi's default: the node with the most GPU in use, there the emptiest GPU",
    score,
    terms=3,
    term_names=("usage", "least_allocated", "balanced"),
    weigh=SUM_OF_TERMS,
)
HAMISPREAD = replace(
    HAMI,
    name="hamispread",
    summary="HAMi set to spread nodes: the node with the least GPU in use",
    score=score_spread,
)
