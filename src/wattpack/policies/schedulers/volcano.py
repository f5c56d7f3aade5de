"""volcano, volcanopack: Volcano's nodeorder and binpack plugins, as its chart sets them and with GPUs weighted.

    volcano      LeastAllocated + BalancedAllocation(CPU, memory, GPU) + 100 * mean requested of CPU and memory
    volcanopack  the same, the last term 100 * 10 * mean requested with weights GPU 5, CPU 1, memory 1

The last term is with the task on the node and counts the resources that it asks for. Ties at random, the window of
`kube`. Volcano without its vGPU device plugin knows no shares of a GPU: a share goes to the tightest GPU that holds it.
"""

from __future__ import annotations

from dataclasses import replace

from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU, Look, Pick, Policy, Ties
from wattpack.model.power import GPU_MILLI
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.policies.schedulers.requests import MOST, SUM_OF_TERMS, balanced_change, gpu_used, least_allocated

BINPACK_WEIGHT = 10
GPU_WEIGHT = 5


@kernel
def binpack(node: NodeRecord, task: TaskRecord, gpu_weight: int) -> float:
    """The weighted mean of what is requested with the task there, 0 to 1, over the resources that it asks for."""
    total, weights = 0.0, 0
    if task.cpu_milli > 0:
        total += (node.cpu_milli - node.cpu_left + task.cpu_milli) / node.cpu_milli
        weights += 1
    if task.memory_mib > 0:
        total += (node.memory_mib - node.memory_left + task.memory_mib) / node.memory_mib
        weights += 1
    if task.num_gpu > 0 and gpu_weight > 0:
        total += gpu_weight * ((gpu_used(node) + task.gpu_request) / (node.gpus * GPU_MILLI))
        weights += gpu_weight
    return total / weights if weights > 0 else 0.0


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    terms[0] = least_allocated(node, task)
    terms[1] = balanced_change(node, task, True)
    terms[2] = MOST * binpack(node, task, 0)
    return ANY_GPU


@kernel
def score_pack(
    node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats
) -> int:
    terms[0] = least_allocated(node, task)
    terms[1] = balanced_change(node, task, True)
    terms[2] = MOST * BINPACK_WEIGHT * binpack(node, task, GPU_WEIGHT)
    return ANY_GPU


VOLCANO = Policy(
    "volcano",
    "Volcano as its chart sets it: nodeorder and binpack on CPU and memory",
    score,
    pick=Pick.TIGHTEST,
    terms=3,
    term_names=("least_allocated", "balanced", "binpack"),
    weigh=SUM_OF_TERMS,
    look=Look.WINDOW,
    ties=Ties.DRAWN,
)
VOLCANOPACK = replace(
    VOLCANO,
    name="volcanopack",
    summary="Volcano with binpack weight 10 and weights GPU 5, CPU 1, memory 1: packs GPUs",
    score=score_pack,
)
