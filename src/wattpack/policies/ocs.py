"""OCS, opportunity-cost scheduling: the node where a task costs least, in watts and in what the node could still serve.

    cost  = dP + 0.1 * slack + 0.06 * left        watts; idle vCPU of powered sockets; milli left on a shared GPU
          + lambda * (dS + dV)                    GPUs stranded for want of vCPU; worth of the GPU part that is taken
          + pi_model * dV                         more where the models are scarce that constrained tasks may use
          + sum over s of pi_s * dB_s             slots for tasks of s GPUs
          + drain * GV * max(1, dV)               in steady state: keep off nodes that are nearly empty
    score = -cost

The prices (lambda, pi, drain) follow from the free GPUs of the datacenter and from whether it grows; see
docs/guide/ocs.md for what each is for. What is fixed for a target workload comes from policies/ocs_statistics.py.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import AFTER_CHANGE, ANY_GPU, ARRIVAL, BEFORE_CHANGE, DEPARTURE, Policy
from wattpack.model.power import (
    GPU_MILLI,
    VCPU_MILLI_PER_CORE,
    PowerProfile,
    added_cpu_power_mw,
    added_gpu_power_mw,
)
from wattpack.model.target import Target
from wattpack.policies.ocs_statistics import (
    CAPACITY,
    GROUP_IN,
    GROUP_OF,
    GROUPS,
    MAX_GROUPS,
    MAX_SETS,
    MAX_SIZES,
    MODEL_IN,
    QUANTILES,
    SERVICE,
    SET_DEMAND,
    SETS,
    SIZE,
    SIZE_CPU,
    SIZE_DEMAND,
    SIZES,
    STRANDS,
    WORTH,
    statistics,
)

# Terms.
POWER = 0  # dP + 0.1 * slack + 0.06 * left, watts
GPUS = 1  # dS + dV
DRAIN = 2  # GV * max(1, dV)
SLOTS = 3  # [MAX_SIZES] dB_s
SCARCE = SLOTS + MAX_SIZES  # [MAX_GROUPS] dV on nodes of a group of models, 0 elsewhere
TERMS = SCARCE + MAX_GROUPS
TERM_NAMES = (
    *("power", "gpus", "drain"),
    *(f"slots_{i + 1}" for i in range(MAX_SIZES)),
    *(f"scarce_{i + 1}" for i in range(MAX_GROUPS)),
)

# Memory: sums over the nodes, exact, and the growth of the workload.
FREE_WORTH = 0  # sum of GV
FREE_SLOTS = 1  # [MAX_SIZES] sum of B_ns
SET_WORTH = FREE_SLOTS + MAX_SIZES  # [MAX_SETS] sum of GV over the models of a set
ARRIVED = SET_WORTH + MAX_SETS  # milli-GPU that came, fading
RELEASED = ARRIVED + 1  # milli-GPU that left, fading
MEMORY = RELEASED + 1

SLACK_W = 0.1  # per idle vCPU
TIGHT_W = 0.06  # per milli left on the GPU of a sharing task
PICK_W = 200.0  # per GPU of worth, for the choice among the GPUs of a node
FADE = 1 - 1 / 2000  # per arrival
SERVICE_DEFAULT = 0.3


@kernel
def free_worth(node: Any, params: Any) -> float:
    """GV: worth of what is free on the node, in GPUs."""
    total = 0.0
    for g in range(node.gpus):
        total += params[WORTH + node.gpu_left[g]]
    return total


@kernel
def stranded(worth: float, cpu_left: int, params: Any) -> float:
    """S: of `worth` free GPUs those that `cpu_left` milli-vCPU are too few for, mean over the kinds of tasks."""
    total = 0.0
    for q in range(QUANTILES):
        more = worth - cpu_left * params[STRANDS + q]
        if more <= 0:  # the tasks that follow need less vCPU per GPU
            break
        total += more
    return total / QUANTILES


@kernel
def slots(gpu_free: int, cpu_left: int, i: int, params: Any) -> float:
    """B: GPUs of the node that tasks of the i-th multi-GPU size could use."""
    size = params[SIZE + i]
    return size * min(math.floor(gpu_free / size), math.floor(cpu_left / params[SIZE_CPU + i]))


@kernel
def idle_vcpu(node: Any, cpu_left: int) -> float:
    """vCPU that powered sockets have free with `cpu_left` milli-vCPU left."""
    busy_cores = node.cores - cpu_left // VCPU_MILLI_PER_CORE
    active = (busy_cores + node.socket_cores - 1) // node.socket_cores
    idle_milli = active * node.socket_cores * VCPU_MILLI_PER_CORE - (node.cpu_milli - cpu_left)
    return min(idle_milli, cpu_left) / 1000


@kernel
def pick_gpu(node: Any, task: Any, world: Any, params: Any) -> int:
    """The GPU of the node for a sharing task."""
    best = np.inf
    best_gpu = ANY_GPU
    for g in range(node.gpus):
        left = node.gpu_left[g]
        if left < task.gpu_milli:
            continue
        watts = added_gpu_power_mw(node, task, g, world.gpu_draw_mw) / 1000
        taken = params[WORTH + left] - params[WORTH + left - task.gpu_milli]
        cost = watts + TIGHT_W * left + PICK_W * taken + 1e-5 * left
        if cost < best:
            best = cost
            best_gpu = g
    return best_gpu


@kernel
def score(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    gpu = ANY_GPU
    free_after = node.gpu_free - task.num_gpu
    taken = float(task.num_gpu)  # dV
    tight = 0.0
    if task.kind == 0:
        gpu = pick_gpu(node, task, world, params)
        left = node.gpu_left[gpu]
        taken = params[WORTH + left] - params[WORTH + left - task.gpu_milli]
        tight = TIGHT_W * left
        free_after = node.gpu_free - int(left == GPU_MILLI)
    cpu_after = node.cpu_left - task.cpu_milli
    worth = free_worth(node, params)

    watts = (added_cpu_power_mw(node, task) + added_gpu_power_mw(node, task, gpu, world.gpu_draw_mw)) / 1000
    terms[POWER] = watts + SLACK_W * idle_vcpu(node, cpu_after) + tight
    terms[GPUS] = stranded(worth - taken, cpu_after, params) - stranded(worth, node.cpu_left, params) + taken
    terms[DRAIN] = worth * max(1.0, taken)
    for i in range(MAX_SIZES):
        terms[SLOTS + i] = 0.0
    for i in range(int(params[SIZES])):
        size = params[SIZE + i]
        lost = slots(node.gpu_free, node.cpu_left, i, params) - slots(free_after, cpu_after, i, params)
        if task.num_gpu == size:
            lost -= size
        elif task.num_gpu < size and lost > 0:
            # The first task that breaks a slot would pay for the whole of it and flee to a hungrier GPU.
            lost = min(lost, max(taken, size * task.cpu_milli / params[SIZE_CPU + i]))
        terms[SLOTS + i] = lost
    for group in range(MAX_GROUPS):
        terms[SCARCE + group] = 0.0
    group = int(params[GROUP_OF + node.model])
    if group >= 0:
        terms[SCARCE + group] = taken
    return gpu


@kernel
def growth(memory: Any) -> float:
    """gamma: 1 where tasks only arrive, 0 where as much leaves as arrives."""
    if memory[ARRIVED] <= 0:
        return 1.0
    return min(1.0, max(0.0, ((memory[ARRIVED] - memory[RELEASED]) / memory[ARRIVED] - 0.1) / 0.9))


@kernel
def shortage(demand: float, supply: float) -> float:
    """min(1, demand / supply); 0 where nothing is asked for."""
    if demand <= 0:
        return 0.0
    return demand / supply if demand < supply else 1.0


@kernel
def weigh(task: Any, world: Any, params: Any, memory: Any, prices: Any) -> None:
    used = 1.0 - memory[FREE_WORTH] / max(params[CAPACITY], 1.0)
    window = min(max(1.0 - used, 0.02), params[SERVICE]) * params[CAPACITY]  # W: GPUs asked for soon
    ramp = max(0.0, (used - 0.8) / 0.2)
    gamma = growth(memory)
    growing, steady = gamma * (200 + 1800 * ramp), (1 - gamma) * (100 + 400 * ramp)
    prices[POWER] = -1.0
    prices[GPUS] = -(growing + steady)
    prices[DRAIN] = -(1 - gamma) * (6 + 60 * ramp)
    for i in range(MAX_SIZES):
        prices[SLOTS + i] = 0.0
    for i in range(int(params[SIZES])):
        short = shortage(params[SIZE_DEMAND + i] * window, memory[FREE_SLOTS + i])
        prices[SLOTS + i] = -(1.5 * growing + steady) * short**6
    for group in range(MAX_GROUPS):
        prices[SCARCE + group] = 0.0
    if task.num_gpu == 0:  # it takes no GPU of any model
        return
    for a in range(int(params[SETS])):
        short = shortage(params[SET_DEMAND + a] * window, memory[SET_WORTH + a])
        if short <= 0.3:
            continue
        price = -1.5 * (growing + steady) * short**6
        for group in range(int(params[GROUPS])):
            if params[GROUP_IN + group * MAX_SETS + a] > 0:
                prices[SCARCE + group] = min(prices[SCARCE + group], price)


@kernel
def remember(event: int, node: Any, task: Any, world: Any, params: Any, memory: Any) -> None:
    if event == ARRIVAL:
        memory[ARRIVED] = memory[ARRIVED] * FADE + task.gpu_request
        memory[RELEASED] *= FADE
    elif event == DEPARTURE:
        memory[RELEASED] += task.gpu_request
    elif event == BEFORE_CHANGE or event == AFTER_CHANGE:
        sign = 1.0 if event == AFTER_CHANGE else -1.0
        worth = sign * free_worth(node, params)
        memory[FREE_WORTH] += worth
        for i in range(int(params[SIZES])):
            memory[FREE_SLOTS + i] += sign * slots(node.gpu_free, node.cpu_left, i, params)
        for a in range(int(params[SETS])):
            memory[SET_WORTH + a] += worth * params[MODEL_IN + node.model * MAX_SETS + a]


def ocs_policy(service: float = SERVICE_DEFAULT, name: str = "ocs") -> Policy:
    """`ocs` with its one knob: the share of the datacenter whose demand is planned for (D).

    More of it: more tasks served where constrained or multi-GPU tasks are many; less: more power saved.
    """
    if not 0 <= service <= 1:
        raise UserError(f"service {service}, expected 0 (save power) to 1 (serve tasks)")

    def prepare(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
        return statistics(datacenter, target, service)

    return Policy(
        name,
        "least watts and opportunity cost: what the node could still serve, priced in watts",
        score,
        terms=TERMS,
        weigh=weigh,
        remember=remember,
        memory_size=MEMORY,
        prepare=prepare,
        term_names=TERM_NAMES,
        amounts_only=True,
    )


@cache
def _with_service(service: float) -> Policy:
    """`ocs@0.5`. The same text is the same policy: expressions are compared."""
    if service == SERVICE_DEFAULT:
        return OCS
    return replace(ocs_policy(service, f"ocs@{service:g}"), with_knob=_with_service)


OCS = replace(ocs_policy(), with_knob=_with_service)
