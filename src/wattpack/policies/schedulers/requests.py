"""What kube-scheduler's scores are made of: the share of a node's CPU, memory and GPU that tasks request.

Requests, not load. Volcano and HAMi run the same scores. Read in kube-scheduler v1.30 to v1.37-rc.1
(plugins/noderesources). Sizes are in milli-vCPU, MiB and milli-GPU: every quotient is that of the program's units.
"""

from __future__ import annotations

import math

from wattpack.jit import kernel
from wattpack.model.policy import price_of_one
from wattpack.model.power import GPU_MILLI
from wattpack.model.records import NodeRecord, TaskRecord

# What a task counts for that asks for none, so that such tasks do not all go to one node.
UNSTATED_CPU_MILLI = 100
UNSTATED_MEMORY_MIB = 200
MOST = 100  # the largest score

SUM_OF_TERMS = price_of_one  # the weigh function of these policies


@kernel
def counted_cpu(node: NodeRecord, task: TaskRecord) -> int:
    """milli-vCPU requested on the node with the task there; tasks that ask for none count too."""
    own = task.cpu_milli if task.cpu_milli > 0 else UNSTATED_CPU_MILLI
    return node.cpu_milli - node.cpu_left + UNSTATED_CPU_MILLI * node.no_cpu + own


@kernel
def counted_memory(node: NodeRecord, task: TaskRecord) -> int:
    """MiB, in the same way."""
    own = task.memory_mib if task.memory_mib > 0 else UNSTATED_MEMORY_MIB
    return node.memory_mib - node.memory_left + UNSTATED_MEMORY_MIB * node.no_memory + own


@kernel
def gpu_used(node: NodeRecord) -> int:
    """milli-GPU in use on the node."""
    return node.gpus * GPU_MILLI - node.gpu_total


@kernel
def percent(amount: int, capacity: int) -> int:
    """amount * 100 // capacity, for 0 <= amount <= capacity and capacity > 0.

    By a quotient of floats, whose floor is that of the whole numbers here: a quotient just below k <= 100 is at least
    1 / capacity below it, far more than the rounding. Dividing whole numbers took a third of a score's time.
    """
    return int(amount * MOST / capacity)


@kernel
def least_allocated(node: NodeRecord, task: TaskRecord) -> int:
    """LeastAllocated: the mean of the percentages of CPU and memory that stay free, each and the mean rounded down."""
    score, counted = 0, 0
    if node.cpu_milli > 0:
        score += percent(max(0, node.cpu_milli - counted_cpu(node, task)), node.cpu_milli)
        counted += 1
    if node.memory_mib > 0:
        score += percent(max(0, node.memory_mib - counted_memory(node, task)), node.memory_mib)
        counted += 1
    return score >> 1 if counted == 2 else score


@kernel
def balance(cpu: float, memory: float, gpu: float) -> int:
    """100 less the standard deviation of the shares requested, in percent; a share below 0 is left out."""
    shares, total = 0, 0.0
    for share in (cpu, memory, gpu):
        if share >= 0:
            shares += 1
            total += share
    if shares < 2:
        return MOST
    if shares == 2:
        if gpu < 0:
            deviation = abs(cpu - memory) / 2
        elif memory < 0:
            deviation = abs(cpu - gpu) / 2
        else:
            deviation = abs(memory - gpu) / 2
    else:
        mean = total / shares
        squares = (cpu - mean) * (cpu - mean) + (memory - mean) * (memory - mean) + (gpu - mean) * (gpu - mean)
        deviation = math.sqrt(squares / shares)
    return int((1 - deviation) * MOST)


@kernel
def requested_share(used: int, capacity: int) -> float:
    """At most 1; -1 where the node has none."""
    return min(1.0, used / capacity) if capacity > 0 else -1.0


@kernel
def balanced_after(node: NodeRecord, task: TaskRecord, with_gpu: bool) -> int:
    """BalancedAllocation up to 1.35: how even the shares are with the task on the node. 0 if it asks for none of them.

    with_gpu: GPU is a third share, for tasks that ask for it on nodes that have it.
    """
    gpu_counts = with_gpu and task.num_gpu > 0
    if task.cpu_milli == 0 and task.memory_mib == 0 and not gpu_counts:
        return 0
    cpu = requested_share(node.cpu_milli - node.cpu_left + task.cpu_milli, node.cpu_milli)
    memory = requested_share(node.memory_mib - node.memory_left + task.memory_mib, node.memory_mib)
    gpu = requested_share(gpu_used(node) + task.gpu_request, node.gpus * GPU_MILLI) if gpu_counts else -1.0
    return balance(cpu, memory, gpu)


@kernel
def balanced_change(node: NodeRecord, task: TaskRecord, with_gpu: bool) -> int:
    """BalancedAllocation from 1.36 on: 75 where the task leaves the balance as it is, more where it improves it."""
    gpu_counts = with_gpu and task.num_gpu > 0
    if task.cpu_milli == 0 and task.memory_mib == 0 and not gpu_counts:
        return 0
    cpu = requested_share(node.cpu_milli - node.cpu_left, node.cpu_milli)
    memory = requested_share(node.memory_mib - node.memory_left, node.memory_mib)
    gpu = requested_share(gpu_used(node), node.gpus * GPU_MILLI) if gpu_counts else -1.0
    return 50 + ((50 + balanced_after(node, task, with_gpu) - balance(cpu, memory, gpu)) >> 1)
