"""Prices of `ocs` at each decision, and the memory of the datacenter and its growth that they follow from.

    u      = 1 - sum of GV / GPUs of the datacenter       share in use
    r      = max(0, (u - 0.8) / 0.2)                      `ramp`: 0 up to 80 % use, 1 at full use
    gamma  = 1 while tasks only arrive, 0 where as much leaves as arrives
    lambda = gamma * (200 + 1800 r) + (1 - gamma) * (100 + 400 r)    `growing` + `steady`, watts per GPU
    x      = min(1, demand that is planned for / what is free for it)    a shortage
    pi_s   = (0.3 growing + steady) * x_s**6              slots of s GPUs
    mu     = gamma * 1000 * max(x_s)**3                   stranding
    pi_A   = 3 growing * x_A**20 + max(1.5 steady, (1 - gamma) * 300) * x_A**6    set A of scarce models

    a      = gamma; without model constraints + (1 - gamma) * max(0, 1 - 4 r)    look ahead
    b      = 1 - a * wake_share                           tight
    drain  = gamma * 0.25 + (1 - gamma) * (8 + 80 r)

A group of models has the highest price of its sets. Prices are negative here, because a score is a negative cost.
"""

from __future__ import annotations

from wattpack.jit import kernel
from wattpack.model.policy import AFTER_CHANGE, ANY_GPU, ARRIVAL, BEFORE_CHANGE, DEPARTURE
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.policies.ocs.layout import MAX_GROUPS, MAX_SETS, MAX_SIZES, MEMORY, NOTE, PARAM, TERM
from wattpack.policies.ocs.node import free_worth, idle_milli, slots, sockets_ahead_w, stranded

FADE = 1 - 1 / 2000  # per arrival
# Shares of the datacenter whose demand is planned for: slots; scarce models where as much leaves as arrives.
SLOT_WINDOW = 0.3
STEADY_WINDOW = 0.1


@kernel
def growth(memory: Floats) -> float:
    """gamma: 1 where tasks only arrive, 0 where as much leaves as arrives."""
    if memory[MEMORY.arrived] <= 0:
        return 1.0
    stayed = (memory[MEMORY.arrived] - memory[MEMORY.released]) / memory[MEMORY.arrived]
    return min(1.0, max(0.0, (stayed - 0.1) / 0.9))


@kernel
def shortage(demand: float, supply: float) -> float:
    """x = min(1, demand / supply); 0 without demand."""
    if demand <= 0:
        return 0.0
    return demand / supply if demand < supply else 1.0


@kernel
def weigh(task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, prices: Floats) -> None:
    used = 1.0 - memory[MEMORY.free_worth] / max(params[PARAM.capacity], 1.0)
    rest = max(1.0 - used, 0.02)
    ramp = max(0.0, (used - 0.8) / 0.2)
    gamma = growth(memory)
    growing, steady = gamma * (200 + 1800 * ramp), (1 - gamma) * (100 + 400 * ramp)
    # With departures the look ahead ends at 85 % use: above, it refused up to 0.007 more (multigpu50 at load 0.95).
    # It ignores constraints: where tasks have them it drew up to 0.9 % more (gpuspec25 at load 0.7).
    ahead = gamma  # a
    if params[PARAM.set_count] == 0:
        ahead += (1 - gamma) * max(0.0, 1 - 4 * ramp)
    prices[TERM.power] = -1.0
    prices[TERM.ahead] = -ahead
    prices[TERM.tight] = -(1 - ahead * params[PARAM.wake_share])
    prices[TERM.gpus] = -(growing + steady)
    prices[TERM.drain] = -(gamma * 0.25 + (1 - gamma) * (8 + 80 * ramp))
    for i in range(MAX_SIZES):
        prices[TERM.slots + i] = 0.0
    window = min(rest, SLOT_WINDOW) * params[PARAM.capacity]  # GPUs asked for soon
    shortest = 0.0
    for i in range(int(params[PARAM.size_count])):
        short = shortage(params[PARAM.size_demand + i] * window, memory[MEMORY.free_slots + i])
        if short <= 0.2:  # below 0.01 W per GPU: not worth a pass over the nodes
            continue
        # With 1.5 instead of 0.3, multigpu50 saves 0.3 points less at 0.8; without `mu` its GRAR at 1.0 falls by 0.006.
        prices[TERM.slots + i] = -(0.3 * growing + steady) * short**6
        shortest = max(shortest, short)
    # mu. Without it, power-hungry nodes short of vCPU fill last and strand 16 GPUs (multigpu50).
    prices[TERM.stranded] = -gamma * 1000 * shortest**3
    for group in range(MAX_GROUPS):
        prices[TERM.scarce + group] = 0.0
    if task.num_gpu == 0:  # takes no GPU of a scarce model
        return
    # A fill-up reserves scarce models for all demand that is planned for; where tasks leave, a small reserve suffices.
    window = min(rest, gamma * params[PARAM.service] + (1 - gamma) * STEADY_WINDOW) * params[PARAM.capacity]
    for models in range(int(params[PARAM.set_count])):
        short = shortage(params[PARAM.set_demand + models] * window, memory[MEMORY.set_worth + models])
        if short <= 0.3:
            continue
        price = -(3 * growing * short**20 + max(1.5 * steady, (1 - gamma) * 300) * short**6)
        for group in range(int(params[PARAM.group_count])):
            if params[PARAM.group_in + group * MAX_SETS + models] > 0:
                prices[TERM.scarce + group] = min(prices[TERM.scarce + group], price)


@kernel
def remember(
    event: int, node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats
) -> None:
    if event == ARRIVAL:
        memory[MEMORY.arrived] = memory[MEMORY.arrived] * FADE + task.gpu_request
        memory[MEMORY.released] *= FADE
    elif event == DEPARTURE:
        memory[MEMORY.released] += task.gpu_request
    elif event == BEFORE_CHANGE:
        count(node, params, memory, -1.0)
    elif event == AFTER_CHANGE:
        worth = free_worth(node, params)
        node.notes[NOTE.worth] = worth
        node.notes[NOTE.stranded] = stranded(worth, node.cpu_left, params)
        idle = idle_milli(node, node.cpu_left)
        node.notes[NOTE.sockets_ahead_w] = sockets_ahead_w(node, idle, node.gpu_free, ANY_GPU, 0, params)
        for i in range(int(params[PARAM.size_count])):
            node.notes[NOTE.slots + i] = slots(node.gpu_free, node.cpu_left, i, params)
        count(node, params, memory, 1.0)


@kernel
def count(node: NodeRecord, params: Floats, memory: Floats, sign: float) -> None:
    """Add (1) or take away (-1) the node's share of the sums."""
    worth = sign * node.notes[NOTE.worth]
    memory[MEMORY.free_worth] += worth
    for i in range(int(params[PARAM.size_count])):
        memory[MEMORY.free_slots + i] += sign * node.notes[NOTE.slots + i]
    for models in range(int(params[PARAM.set_count])):
        memory[MEMORY.set_worth + models] += worth * params[PARAM.model_in + node.model * MAX_SETS + models]
