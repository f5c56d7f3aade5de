"""kai, kaispread: KAI-Scheduler's node placement, bin packing (its default) and spreading.

    kai        place in 0..9 by least free GPU, + 10,000 where a GPU that is shared already has room for the share
               + 10 on nodes without GPU for tasks without GPU
    kaispread  free / capacity, + 10 in the same way

For tasks without GPU the resource is CPU. KAI scales `place` between the least and the most free of all nodes at each
decision; here the scale is fixed, 0 to the largest node. That orders nodes in the same way: both fall strictly with
what is free, and the other terms outweigh `place` under either. Ties go to the first node by name. A share goes to the
fullest shared GPU that holds it, a new GPU last; with kaispread to the emptiest GPU.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import ANY_GPU, Order, Pick, Policy
from wattpack.model.power import GPU_MILLI, PowerProfile
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.model.target import Target
from wattpack.policies.schedulers.requests import SUM_OF_TERMS

PLACE = 9.0
SHARED_GPU = 10_000.0
WITHOUT_GPU = 10.0
MOST_GPU, MOST_CPU = 0, 1  # params: the largest node's milli-GPU and milli-vCPU


def largest_node(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
    return np.array([max(1, int(datacenter.gpus.max()) * GPU_MILLI), max(1, int(datacenter.cpu_milli.max()))], float)


@kernel
def keeps_gpu_nodes_free(node: NodeRecord, task: TaskRecord) -> float:
    return WITHOUT_GPU if task.num_gpu == 0 and node.gpus == 0 else 0.0


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    if task.num_gpu > 0:
        terms[0] = PLACE * (1 - node.gpu_total / params[MOST_GPU])
    else:
        terms[0] = PLACE * (1 - node.cpu_left / params[MOST_CPU])
    terms[1] = 0.0
    if task.kind == 0:
        for g in range(node.gpus):
            if task.gpu_milli <= node.gpu_left[g] < GPU_MILLI:
                terms[1] = SHARED_GPU
    terms[2] = keeps_gpu_nodes_free(node, task)
    return ANY_GPU


@kernel
def score_spread(
    node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats
) -> int:
    if task.num_gpu > 0:
        terms[0] = node.gpu_total / (node.gpus * GPU_MILLI)
    else:
        terms[0] = node.cpu_left / node.cpu_milli if node.cpu_milli > 0 else 0.0
    terms[1] = 0.0
    terms[2] = keeps_gpu_nodes_free(node, task)
    emptiest = 0
    for g in range(1, node.gpus):
        if node.gpu_left[g] > node.gpu_left[emptiest]:
            emptiest = g
    return emptiest


KAI = Policy(
    "kai",
    "KAI-Scheduler's default, bin packing: the node with the least free GPU, shared GPUs first",
    score,
    pick=Pick.TIGHTEST,
    terms=3,
    term_names=("place", "shared_gpu", "without_gpu"),
    weigh=SUM_OF_TERMS,
    prepare=largest_node,
    order=Order.NAME,
)
KAISPREAD = replace(
    KAI,
    name="kaispread",
    summary="KAI-Scheduler set to spread: the node with the largest share of GPU free",
    score=score_spread,
    pick=Pick.OWN,
)
