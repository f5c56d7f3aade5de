"""What a node's free capacity is worth to future tasks: free GPUs, stranded GPUs, slots, and watts it would spare them.

    GV   = sum over GPUs of V(left)                      worth of what is free, in GPUs
    S    = mean over q of max(0, GV - cpu_left / kappa_q)  free GPUs that lack vCPU
    B_s  = s * min(free GPUs // s, cpu_left // c_s)      GPUs that tasks of s GPUs could use
    E    = fair_w * (F0(idle) + merit * F1(idle, GPUs)) + wake_w * sum over GPUs in use of G(left)

    fair_w = watts of a socket, 0.6 of them by what its vCPU cost

The tables V, kappa, c come from statistics.py, F0, F1, G and merit from ahead.py; layout.py says where they are.
"""

from __future__ import annotations

import math

from wattpack.jit import kernel
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import GPU_MILLI, VCPU_MILLI_PER_CORE
from wattpack.model.records import Floats, NodeRecord, TaskRecord
from wattpack.policies.ocs.layout import FREE, LEVEL_MILLI, PARAM, QUANTILES, VCPU_STEP_MILLI, VCPU_STEPS

# A task that wakes a socket would pay for all of it, though later tasks use it too: where sockets differ, the one of
# fewest watts would win, be its vCPU three times as dear. So a part of the watts counts by vCPU. On 38 tuning settings
# policies saved about 7.9 % with 0, 8.3 with 0.3, 8.7 with 0.5 to 0.7, 8.2 with 1, and 3 to 5 points less where a task
# paid for its own vCPU only: then half empty sockets are no worse than full ones.
FAIR_SHARE = 0.6


@kernel
def free_worth(node: NodeRecord, params: Floats) -> float:
    """GV: worth of what is free on the node, in GPUs."""
    # Two sums that do not wait for each other. Worths are multiples of GRAIN, so the sums are exact in any order.
    total = other = 0.0
    for g in range(0, node.gpus - 1, 2):
        total += params[PARAM.worth + node.gpu_left[g]]
        other += params[PARAM.worth + node.gpu_left[g + 1]]
    if node.gpus & 1:
        total += params[PARAM.worth + node.gpu_left[node.gpus - 1]]
    return total + other


@kernel
def stranded(worth: float, cpu_left: int, params: Floats) -> float:
    """S: how many of `worth` free GPUs lack vCPU when `cpu_left` milli-vCPU are left, mean over the quantiles."""
    short = 0  # quantiles that lack vCPU; the later ones need less per GPU
    while short < QUANTILES and cpu_left * params[PARAM.strands + short] < worth:
        short += 1
    return (short * worth - cpu_left * params[PARAM.strand_sums + short]) * (1 / QUANTILES)


@kernel
def slots(gpu_free: int, cpu_left: int, i: int, params: Floats) -> float:
    """B_s: GPUs of the node that tasks of the i-th multi-GPU size could use."""
    # The product may come out a little below a whole number of tasks.
    by_cpu = params[PARAM.size + i] * math.floor(cpu_left * params[PARAM.size_per_cpu + i] + 1e-9)
    return min(params[PARAM.size_gpus + i * (MAX_GPUS + 1) + gpu_free], by_cpu)


@kernel
def sockets_in_use(node: NodeRecord, cpu_left: int) -> int:
    busy_cores = (node.cpu_milli - cpu_left + VCPU_MILLI_PER_CORE - 1) // VCPU_MILLI_PER_CORE
    return (busy_cores + node.socket_cores - 1) // node.socket_cores


@kernel
def socket_w(node: NodeRecord) -> float:
    """Watts of waking a socket of the node."""
    return (node.socket_max_mw - node.socket_idle_mw) / 1000


@kernel
def fair_socket_w(node: NodeRecord, params: Floats) -> float:
    """The same, a part of it as the vCPU of a mean socket of the fleet would cost at this socket's watts per vCPU."""
    vcpu_milli = min(node.socket_cores * VCPU_MILLI_PER_CORE, node.cpu_milli)
    spread_w = socket_w(node) * params[PARAM.socket_vcpu] / max(vcpu_milli / 1000, 1.0)
    return socket_w(node) + FAIR_SHARE * (spread_w - socket_w(node))


@kernel
def idle_milli(node: NodeRecord, cpu_left: int) -> int:
    """Milli-vCPU free in powered sockets when the node has `cpu_left` milli-vCPU left."""
    active = sockets_in_use(node, cpu_left)
    return min(active * node.socket_cores * VCPU_MILLI_PER_CORE - (node.cpu_milli - cpu_left), cpu_left)


@kernel
def fairness_w(node: NodeRecord, task: TaskRecord, cpu_after: int, params: Floats) -> float:
    """Watts by which the sockets that the task wakes count for more than they draw; for batch tasks by work."""
    woken = sockets_in_use(node, cpu_after) - sockets_in_use(node, node.cpu_left)
    more_w = woken * (fair_socket_w(node, params) - socket_w(node))
    return more_w if task.batch == 0 else more_w * node.slowness


@kernel
def largest_part(node: NodeRecord, gpu: int, gpu_left: int) -> int:
    """The most milli left on a GPU in use, if GPU `gpu` had `gpu_left`."""
    most = 0
    for g in range(node.gpus):
        left = gpu_left if g == gpu else node.gpu_left[g]
        if most < left < GPU_MILLI:
            most = left
    return most


@kernel
def sockets_ahead_w(node: NodeRecord, idle: int, gpu_free: int, gpu: int, gpu_left: int, params: Floats) -> float:
    """The sockets' part of E: watts that the node's powered sockets are expected to spare the next task.

    `idle`: milli-vCPU free in powered sockets; `gpu_left`: milli left on GPU `gpu`.
    """
    step = min(idle // VCPU_STEP_MILLI, VCPU_STEPS - 1)
    level = FREE if gpu_free > 0 else largest_part(node, gpu, gpu_left) // LEVEL_MILLI
    with_gpu = params[PARAM.merit + node.model] * params[PARAM.gpu_fits + level * VCPU_STEPS + step]
    share = params[PARAM.no_gpu_fits + step] + with_gpu
    return share * fair_socket_w(node, params)


@kernel
def part_ahead_w(left: int, params: Floats) -> float:
    """One GPU's part of E: watts that it is expected to spare the next sharing task; 0 for a free GPU, which sleeps."""
    return 0.0 if left == GPU_MILLI else params[PARAM.wake_w] * params[PARAM.part_fits + left]
