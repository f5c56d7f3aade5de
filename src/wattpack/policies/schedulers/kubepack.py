"""kubepack, kuberatio: what operators set in kube-scheduler's profile to pack GPUs.

    kubepack   MostAllocated with weights GPU 5, CPU 1, memory 1, + BalancedAllocation(CPU, memory)
    kuberatio  RequestedToCapacityRatio of GPU, 0 at 0 % to 10 at 100 %, + BalancedAllocation(CPU, memory)

GPU counts for tasks that ask for it, on nodes that have it, in milli, so that shares count. Window and ties as `kube`.
"""

from __future__ import annotations

from dataclasses import replace

from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU
from wattpack.model.power import GPU_MILLI
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.policies.schedulers.kube import KUBE
from wattpack.policies.schedulers.requests import balanced_change, counted_cpu, counted_memory, gpu_used, percent

GPU_WEIGHT = 5  # CPU and memory: 1 each


@kernel
def most_allocated(node: NodeRecord, task: TaskRecord) -> int:
    """The weighted mean of the percentages requested with the task on the node, each and their mean rounded down."""
    score, weights = 0, 0
    if task.num_gpu > 0 and node.gpus > 0:
        gpu = node.gpus * GPU_MILLI
        score += GPU_WEIGHT * (percent(min(gpu_used(node) + task.gpu_request, gpu), gpu))
        weights += GPU_WEIGHT
    if node.cpu_milli > 0:
        score += percent(min(counted_cpu(node, task), node.cpu_milli), node.cpu_milli)
        weights += 1
    if node.memory_mib > 0:
        score += percent(min(counted_memory(node, task), node.memory_mib), node.memory_mib)
        weights += 1
    return score // weights if weights > 0 else 0


@kernel
def score_most(
    node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats
) -> int:
    terms[0] = most_allocated(node, task)
    terms[1] = balanced_change(node, task, False)
    return ANY_GPU


@kernel
def score_ratio(
    node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats
) -> int:
    gpu = node.gpus * GPU_MILLI
    terms[0] = percent(gpu_used(node) + task.gpu_request, gpu) if task.num_gpu > 0 and gpu > 0 else 0
    terms[1] = balanced_change(node, task, False)
    return ANY_GPU


KUBEPACK = replace(
    KUBE,
    name="kubepack",
    summary="kube-scheduler with MostAllocated, weights GPU 5, CPU 1, memory 1: packs GPUs",
    score=score_most,
    term_names=("most_allocated", "balanced"),
    with_knob=None,
)
KUBERATIO = replace(
    KUBE,
    name="kuberatio",
    summary="kube-scheduler with RequestedToCapacityRatio of GPU: packs GPUs",
    score=score_ratio,
    term_names=("gpu_ratio", "balanced"),
    with_knob=None,
)
