"""OCS, opportunity-cost scheduling: the node where a task costs least, in watts and in what the node could still serve.

    cost  = dP + 0.1 * slack                      watts; idle vCPU of powered sockets
          + a * 0.5 * dE + b * 0.06 * left        watts that the node spares the next task; milli left on a shared GPU
          + lambda * (dS + dV)                    GPUs stranded for want of vCPU; worth of the GPU part that is taken
          + pi_model * dV                         more where the models are scarce that constrained tasks may use
          + sum over s of pi_s * dB_s             slots for tasks of s GPUs
          + mu * dS                               more for stranding while such slots are short
          + drain * GV * max(1, dV)               keep off nodes that are nearly empty, above all in steady state
    score = -cost

The prices (a, b, lambda, pi, mu, drain) follow from the free GPUs of the datacenter and from whether it grows; see
docs/guide/ocs.md for what each is for. What is fixed for a target workload comes from policies/ocs_statistics.py, dE
from policies/ocs_ahead.py.
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
from wattpack.model.nodes import MAX_GPUS, Datacenter
from wattpack.model.policy import AFTER_CHANGE, ANY_GPU, ARRIVAL, BEFORE_CHANGE, DEPARTURE, Policy
from wattpack.model.power import (
    GPU_MILLI,
    PowerProfile,
    added_cpu_power_mw,
    added_gpu_power_mw,
)
from wattpack.model.target import Target
from wattpack.policies.ocs_ahead import (
    WAKE_SHARE,
    ahead_tables,
    idle_milli,
    part_ahead_w,
    sockets_ahead_w,
)
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
    SIZE_DEMAND,
    SIZE_GPUS,
    SIZE_PER_CPU,
    SIZES,
    STRAND_SUMS,
    STRANDS,
    WORTH,
    statistics,
)

# Terms.
POWER = 0  # dP + 0.1 * slack, watts
AHEAD = 1  # 0.5 * dE, watts
TIGHT = 2  # 0.06 * left, watts
GPUS = 3  # dS + dV
DRAIN = 4  # GV * max(1, dV)
SLOTS = 5  # [MAX_SIZES] dB_s
SCARCE = SLOTS + MAX_SIZES  # [MAX_GROUPS] dV on nodes of a group of models, 0 elsewhere
STRANDED = SCARCE + MAX_GROUPS  # dS
TERMS = STRANDED + 1
TERM_NAMES = (
    *("power", "ahead", "tight", "gpus", "drain"),
    *(f"slots_{i + 1}" for i in range(MAX_SIZES)),
    *(f"scarce_{i + 1}" for i in range(MAX_GROUPS)),
    "stranded",
)

# Memory: sums over the nodes, exact, and the growth of the workload.
FREE_WORTH = 0  # sum of GV
FREE_SLOTS = 1  # [MAX_SIZES] sum of B_ns
SET_WORTH = FREE_SLOTS + MAX_SIZES  # [MAX_SETS] sum of GV over the models of a set
ARRIVED = SET_WORTH + MAX_SETS  # milli-GPU that came, fading
RELEASED = ARRIVED + 1  # milli-GPU that left, fading
MEMORY = RELEASED + 1

# Notes of a node: what `score` needs of it as it is, before the task comes. Half the time of a score otherwise.
NODE_WORTH = 0  # GV
NODE_STRANDED = 1  # S
NODE_AHEAD_W = 2  # of the sockets
NODE_SLOTS = 3  # [MAX_SIZES] B_ns

SLACK_W = 0.1  # per idle vCPU
# Of what the next task is spared. Up to a half, the look ahead at sockets alone never makes waking one cheaper than
# using vCPU that is awake: it is worth at most a socket's watts where it is kept, and as much where it is woken.
# Measured on four traces: 0.45 saves 0.08 points less in the mean, 0.6 0.10 less (0.6 on multigpu20 at load 0.8).
AHEAD_SHARE = 0.5
TIGHT_W = 0.06  # per milli left on the GPU of a sharing task
PICK_W = 200.0  # per GPU of worth, for the choice among the GPUs of a node
FADE = 1 - 1 / 2000  # per arrival
SERVICE_DEFAULT = 0.4  # the least (in steps of 0.05 from 0.3) that served as much as FGD at every load in tuning
# Shares of the datacenter whose demand is planned for: slots, and scarce models where as much leaves as arrives.
SLOT_WINDOW = 0.3
STEADY_WINDOW = 0.1


@kernel
def free_worth(node: Any, params: Any) -> float:
    """GV: worth of what is free on the node, in GPUs."""
    total = other = 0.0  # two sums that do not wait for each other; worths are multiples of GRAIN, so they are exact
    for g in range(0, node.gpus - 1, 2):
        total += params[WORTH + node.gpu_left[g]]
        other += params[WORTH + node.gpu_left[g + 1]]
    if node.gpus & 1:
        total += params[WORTH + node.gpu_left[node.gpus - 1]]
    return total + other


@kernel
def stranded(worth: float, cpu_left: int, params: Any) -> float:
    """S: of `worth` free GPUs those that `cpu_left` milli-vCPU are too few for, mean over the kinds of tasks."""
    short = 0  # kinds of tasks with too few vCPU; those that follow need less per GPU
    while short < QUANTILES and cpu_left * params[STRANDS + short] < worth:
        short += 1
    return (short * worth - cpu_left * params[STRAND_SUMS + short]) * (1 / QUANTILES)


@kernel
def slots(gpu_free: int, cpu_left: int, i: int, params: Any) -> float:
    """B: GPUs of the node that tasks of the i-th multi-GPU size could use."""
    # A whole number of tasks may come out of the product a little less than whole.
    by_cpu = params[SIZE + i] * math.floor(cpu_left * params[SIZE_PER_CPU + i] + 1e-9)
    return min(params[SIZE_GPUS + i * (MAX_GPUS + 1) + gpu_free], by_cpu)


@kernel
def pick_gpu(node: Any, task: Any, world: Any, params: Any) -> int:
    """The GPU of the node for a sharing task."""
    best = np.inf
    best_gpu = ANY_GPU
    tried = -1
    for g in range(node.gpus):
        left = node.gpu_left[g]
        if left < task.gpu_milli or left == tried:  # as much left as on the GPU before: the same cost
            continue
        tried = left
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
    left_after = 0
    ahead_w = 0.0  # dE
    terms[TIGHT] = 0.0
    if task.kind == 0:
        gpu = pick_gpu(node, task, world, params)
        left = node.gpu_left[gpu]
        left_after = left - task.gpu_milli
        taken = params[WORTH + left] - params[WORTH + left_after]
        free_after = node.gpu_free - int(left == GPU_MILLI)
        ahead_w = part_ahead_w(left, params) - part_ahead_w(left_after, params)
        terms[TIGHT] = TIGHT_W * left
    cpu_after = node.cpu_left - task.cpu_milli
    worth = node.notes[NODE_WORTH]

    watts = (added_cpu_power_mw(node, task) + added_gpu_power_mw(node, task, gpu, world.gpu_draw_mw)) / 1000
    idle_after = idle_milli(node, cpu_after)
    terms[POWER] = watts + SLACK_W / 1000 * idle_after
    ahead_w += node.notes[NODE_AHEAD_W] - sockets_ahead_w(node, idle_after, free_after, gpu, left_after, params)
    terms[AHEAD] = AHEAD_SHARE * ahead_w
    terms[STRANDED] = stranded(worth - taken, cpu_after, params) - node.notes[NODE_STRANDED]
    terms[GPUS] = terms[STRANDED] + taken
    terms[DRAIN] = worth * max(1.0, taken)
    for i in range(MAX_SIZES):
        terms[SLOTS + i] = 0.0
    for i in range(int(params[SIZES])):
        size = params[SIZE + i]
        lost = node.notes[NODE_SLOTS + i] - slots(free_after, cpu_after, i, params)
        if task.num_gpu == size:
            lost -= size
        elif task.num_gpu < size and lost > 0:
            # The first task that breaks a slot would pay for the whole of it and flee to a hungrier GPU.
            lost = min(lost, max(taken, size * task.cpu_milli * params[SIZE_PER_CPU + i]))
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
    rest = max(1.0 - used, 0.02)
    ramp = max(0.0, (used - 0.8) / 0.2)
    gamma = growth(memory)
    growing, steady = gamma * (200 + 1800 * ramp), (1 - gamma) * (100 + 400 * ramp)
    # With departures the look ahead ends at 85 % use: beyond, it refused up to 0.007 more (multigpu50 at load 0.95).
    # It knows nothing of models: where tasks depend on them it drew up to 0.9 % more (gpuspec25 at load 0.7).
    ahead = gamma
    if params[SETS] == 0:
        ahead += (1 - gamma) * max(0.0, 1 - 4 * ramp)
    prices[POWER] = -1.0
    prices[AHEAD] = -ahead
    prices[TIGHT] = -(1 - ahead * params[WAKE_SHARE])
    prices[GPUS] = -(growing + steady)
    prices[DRAIN] = -(gamma * 0.25 + (1 - gamma) * (8 + 80 * ramp))
    for i in range(MAX_SIZES):
        prices[SLOTS + i] = 0.0
    window = min(rest, SLOT_WINDOW) * params[CAPACITY]  # W: GPUs asked for soon
    shortest = 0.0
    for i in range(int(params[SIZES])):
        short = shortage(params[SIZE_DEMAND + i] * window, memory[FREE_SLOTS + i])
        if short <= 0.2:  # below 0.01 W a GPU: not worth a pass over the nodes
            continue
        # 1.5 of `growing`: 0.3 points less saving on multigpu50 at 0.8; without `mu` below GRAR falls 0.006 at 1.0.
        prices[SLOTS + i] = -(0.3 * growing + steady) * short**6
        shortest = max(shortest, short)
    # Or hungry nodes with little vCPU are filled last and strand 16 GPUs (multigpu50).
    prices[STRANDED] = -gamma * 1000 * shortest**3
    for group in range(MAX_GROUPS):
        prices[SCARCE + group] = 0.0
    if task.num_gpu == 0:  # it takes no GPU of any model
        return
    # What fills up keeps all of its scarce models for the tasks that will need them; where tasks leave, a few suffice.
    window = min(rest, gamma * params[SERVICE] + (1 - gamma) * STEADY_WINDOW) * params[CAPACITY]
    for a in range(int(params[SETS])):
        short = shortage(params[SET_DEMAND + a] * window, memory[SET_WORTH + a])
        if short <= 0.3:
            continue
        price = -(3 * growing * short**20 + max(1.5 * steady, (1 - gamma) * 300) * short**6)
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
    elif event == BEFORE_CHANGE:
        count(node, params, memory, -1.0)
    elif event == AFTER_CHANGE:
        worth = free_worth(node, params)
        node.notes[NODE_WORTH] = worth
        node.notes[NODE_STRANDED] = stranded(worth, node.cpu_left, params)
        idle = idle_milli(node, node.cpu_left)
        node.notes[NODE_AHEAD_W] = sockets_ahead_w(node, idle, node.gpu_free, ANY_GPU, 0, params)
        for i in range(int(params[SIZES])):
            node.notes[NODE_SLOTS + i] = slots(node.gpu_free, node.cpu_left, i, params)
        count(node, params, memory, 1.0)


@kernel
def count(node: Any, params: Any, memory: Any, sign: float) -> None:
    """Add (1) or take away (-1) the node's share of the sums."""
    worth = sign * node.notes[NODE_WORTH]
    memory[FREE_WORTH] += worth
    for i in range(int(params[SIZES])):
        memory[FREE_SLOTS + i] += sign * node.notes[NODE_SLOTS + i]
    for a in range(int(params[SETS])):
        memory[SET_WORTH + a] += worth * params[MODEL_IN + node.model * MAX_SETS + a]


def ocs_policy(service: float = SERVICE_DEFAULT, name: str = "ocs") -> Policy:
    """`ocs` with its one knob: the share of the datacenter that a fill-up keeps scarce models for (D).

    More of it: more tasks served where constrained tasks are many; less: more power saved until they come.
    """
    if not 0 <= service <= 1:
        raise UserError(f"service {service}, expected 0 (save power) to 1 (serve tasks)")

    def prepare(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
        return np.concatenate([statistics(datacenter, target, service), ahead_tables(datacenter, target, profile)])

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
        notes=True,
    )


@cache
def _with_service(service: float) -> Policy:
    """`ocs@0.5`. The same text is the same policy: expressions are compared."""
    if service == SERVICE_DEFAULT:
        return OCS
    return replace(ocs_policy(service, f"ocs@{service:g}"), with_knob=_with_service)


OCS = replace(ocs_policy(), with_knob=_with_service)
