"""PWREXPECTED, expected power over M: PWR plus the expected power of the next task of the target workload.

    w_m(n)  watts that a task of class m adds on node n, on the GPU where it adds least; at most `elsewhere_m`:
            the least that it adds on any empty node of the datacenter, and its cost where it does not fit
    E(n)    sum over m of p_m * w_m(n): expected watts of the next task, if it may go to n or elsewhere
    score   int(P_before - P_after + tasks * (E_before - E_after)) in watts; normalised to 0..100 as PWR's

With tasks = 0 it is PWR. A placement pays for the powered sockets and GPUs that it takes from later tasks, and is paid
for those that it opens to them. docs/research/future-work.md has the results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.jit import kernel
from wattpack.model.fit import allows, is_candidate
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import ANY_GPU, Normalise, Policy
from wattpack.model.power import (
    GPU_MILLI,
    PowerProfile,
    added_cpu_power_mw,
    added_power_mw,
    added_power_with_cpu_mw,
    added_share_power_mw,
    cpu_power_mw,
    draw_table_mw,
    kernel_cpu_and_gpu_power,
)
from wattpack.model.records import Floats, Integers, NodeRecord, TargetRecord, TaskRecord, WorldRecord
from wattpack.model.target import Target
from wattpack.policies.pwr import whole_watts

TASKS = 0  # params: number of future tasks of M that count
ELSEWHERE_MW = 1  # [classes of M]


@kernel
def added_mw(
    node: NodeRecord, cpu_left: int, gpu_free: int, gpu: int, gpu_left: int, wanted: TargetRecord, gpu_draw_mw: Integers
) -> int:
    """Milliwatts that a task of class `wanted` adds on `node`; -1 if it does not fit. Classes of M have no memory.

    The node is taken to have `cpu_left`, `gpu_free` free GPUs, and `gpu_left` on GPU `gpu`. Which of the free GPUs are
    still free makes no difference.
    """
    if cpu_left < wanted.cpu_milli or not allows(wanted.gpu_models, node.model):
        return -1
    cpu_mw = cpu_power_mw(node, cpu_left - wanted.cpu_milli) - cpu_power_mw(node, cpu_left)
    if wanted.num_gpu == 0:
        return cpu_mw
    if wanted.gpu_milli == GPU_MILLI:
        if gpu_free < wanted.num_gpu:
            return -1
        whole_mw = added_share_power_mw(node.model, 0, GPU_MILLI, gpu_draw_mw)
        return kernel_cpu_and_gpu_power(cpu_mw, wanted.num_gpu * whole_mw)
    least = -1
    for g in range(node.gpus):
        left = gpu_left if g == gpu else node.gpu_left[g]
        if left == GPU_MILLI and gpu_free == 0:  # a whole-GPU task took it
            continue
        if left >= wanted.gpu_milli:
            more = added_share_power_mw(node.model, GPU_MILLI - left, wanted.gpu_milli, gpu_draw_mw)
            if least < 0 or more < least:
                least = more
    return kernel_cpu_and_gpu_power(cpu_mw, least) if least >= 0 else -1


@kernel
def expected_mw(
    node: NodeRecord, cpu_left: int, gpu_free: int, gpu: int, gpu_left: int, world: WorldRecord, params: Floats
) -> float:
    """E of the node with these amounts left (see `added_mw`)."""
    total = 0.0
    for m in range(len(world.target)):
        wanted = world.target[m]
        more = added_mw(node, cpu_left, gpu_free, gpu, gpu_left, wanted, world.gpu_draw_mw)
        elsewhere = params[ELSEWHERE_MW + m]
        total += wanted.share * (elsewhere if more < 0 else min(float(more), elsewhere))
    return total


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    before = expected_mw(node, node.cpu_left, node.gpu_free, ANY_GPU, 0, world, params)
    cpu_left = node.cpu_left - task.cpu_milli
    if task.kind != 0:
        after = expected_mw(node, cpu_left, node.gpu_free - task.num_gpu, ANY_GPU, 0, world, params)
        mw = -added_power_mw(node, task, ANY_GPU, world.gpu_draw_mw) + params[TASKS] * (before - after)
        terms[0] = whole_watts(int(np.rint(mw)))
        return ANY_GPU
    cpu_mw = added_cpu_power_mw(node, task)
    best, best_gpu = 0, ANY_GPU
    for g in range(node.gpus):
        if not is_candidate(node, task, g):
            continue
        left = node.gpu_left[g]
        free = node.gpu_free - int(left == GPU_MILLI)
        after = expected_mw(node, cpu_left, free, g, left - task.gpu_milli, world, params)
        mw = -added_power_with_cpu_mw(cpu_mw, node, task, g, world.gpu_draw_mw) + params[TASKS] * (before - after)
        value = whole_watts(int(np.rint(mw)))
        if best_gpu == ANY_GPU or value > best:
            best, best_gpu = value, g
    terms[0] = best
    return best_gpu


def elsewhere_mw(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
    """By class of M: the least milliwatts that a task adds on any empty node; 0 if it fits none."""
    nodes, draw_mw = datacenter.records(profile), draw_table_mw(datacenter.models, profile)
    empty = [nodes[n] for n in np.unique(datacenter.types, return_index=True)[1]]
    for node in empty:
        node.cpu_power_mw = cpu_power_mw(node, node.cpu_left)
    found = []
    for wanted in target.records(datacenter.models):
        watts = [int(added_mw(node, node.cpu_left, node.gpus, ANY_GPU, 0, wanted, draw_mw)) for node in empty]
        found.append(min((mw for mw in watts if mw >= 0), default=0))
    return np.array(found, dtype=np.float64)


def pwrexpected_policy(tasks: float = 1.0, name: str = "pwrexpected") -> Policy:
    """`pwrexpected` with its knob: the number of future tasks of the target workload that count."""
    if not 0 <= tasks <= 1000:
        raise UserError(f"tasks {tasks}, expected 0 to 1000")

    def prepare(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
        return np.concatenate([[tasks], elsewhere_mw(datacenter, target, profile)])

    return Policy(
        name,
        "least rise of power, with the expected power of the target workload's next task",
        score,
        normalise=Normalise.MIN_MAX_100,
        prepare=prepare,
        amounts_only=True,
    )


PWREXPECTED = pwrexpected_policy()
