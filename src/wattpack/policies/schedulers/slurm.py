"""slurm, slurmlln: Slurm's select/cons_tres for jobs of one node: best fit by stretches of nodes, or least loaded.

`slurm` looks at the nodes that fit in the order of the file. Of the stretches of neighbours with no other node between
them it takes the one with the fewest free CPUs in all, and in it the node with the fewest. `slurmlln` (LLN=yes) takes
the node with the largest share of its CPUs free. Ties go to the first node in the file. GPUs are taken lowest index
first; a share goes to the first GPU with room.
"""

from __future__ import annotations

from dataclasses import replace

from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU, Order, Policy
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord


@kernel
def first_gpu_with_room(node: NodeRecord, task: TaskRecord) -> int:
    for g in range(node.gpus):
        if node.gpu_left[g] >= task.gpu_milli:
            return g
    return ANY_GPU


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    terms[0] = -node.cpu_left
    return first_gpu_with_room(node, task)


@kernel
def score_least_loaded(
    node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats
) -> int:
    terms[0] = node.cpu_left / node.cpu_milli if node.cpu_milli > 0 else 0.0
    return first_gpu_with_room(node, task)


SLURM = Policy(
    "slurm",
    "Slurm's default (cons_tres): best fit by free CPUs, over stretches of neighbouring nodes",
    score,
    stretch=True,
    order=Order.FILE,
)
SLURMLLN = replace(
    SLURM,
    name="slurmlln",
    summary="Slurm with LLN=yes: the node with the largest share of its CPUs free",
    score=score_least_loaded,
    stretch=False,
)
