"""Prices of `ocs` at each decision, and the memory of the datacenter and its growth that they follow from.

    fill   = min(sum of GV, vCPU left * GPUs per vCPU of the target)    GPUs that can still be filled
    u      = 1 - fill / that of the empty datacenter      share in use
    r      = max(0, (u - 0.8) / 0.2)                      `ramp`: 0 up to 80 % use, 1 at full use
    gamma  = 1 while tasks only arrive, 0 where as much leaves as arrives
    w      = watts of a typical GPU, spread = most watts between two places (fleet.py)
    lambda = gamma * (1.5 + 13 r) w + (1 - gamma) * (0.75 + 3 r) w    `growing` + `steady`, watts per GPU
    x      = min(1, demand that is planned for / what is free for it)    a shortage; x_A with the margin m, as y
    y      = the same for all demand to come, with the margin m of a knob above 1: m standard deviations more
    v      = (1 + m) standard deviations of the tasks that are there / what is free for them    where tasks leave
    pi_s   = (0.3 growing + steady) * x_s**6 + 1.5 spread * (gamma * y_s**20 + (1 - gamma) * v_s**20)    slots of s GPUs
    mu     = gamma * 7 w * max(x_s)**3                    stranding
    pi_A   = gamma * (1 + 60 r) * 1.5 spread * x_A**20 + max(1.5 steady, (1 - gamma) * 2.2 w) * x_A**6    node shapes A
    z_r    = min(1, demand for request r in all that is still to fill / room that is free for it)
    sigma_r = 1.5 spread * (gamma * z_r**20 + (1 - gamma) * v_r**20)    reserved (reserves.py)
    phi    = lambda * `fragments` of params               fragments
    rho    = gamma * spread * dV * z**20                  plan: z is the used part of what the plan gives (planned.py)

    a      = gamma; where no task names models + (1 - gamma) * max(0, 1 - 4 r)    look ahead
    b      = 0.45 w * (1 - a * wake_share)                tight
    drain  = (gamma * 0.002 + (1 - gamma) * (0.06 + 0.6 r)) w

A group of shapes has the highest price of its sets. Prices are negative here, because a score is a negative cost.
The numbers were found in the built-in datacenter, where w is 137 W and the spread 395 W; on 60 random fleets no other
power of w than the first served or saved more in both (docs/research/ocs-on-other-fleets.md).
"""

from __future__ import annotations

import math

from wattpack.jit import kernel
from wattpack.model.policy import AFTER_CHANGE, ANY_GPU, ARRIVAL, BEFORE_CHANGE, DEPARTURE
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.policies.ocs.layout import (
    GRAIN,
    MAX_GROUPS,
    MAX_RESERVES,
    MAX_SETS,
    MAX_SIZES,
    MEMORY,
    NOTE,
    PARAM,
    TERM,
)
from wattpack.policies.ocs.node import free_worth, idle_milli, slots, sockets_ahead_w, stranded
from wattpack.policies.ocs.planned import count_arrival, count_held, plan_prices
from wattpack.policies.ocs.reserves import whole_places
from wattpack.policies.ocs.scarcity import STILL_HELD

FADE = 1 - 1 / 2000  # per arrival
# Shares of the datacenter whose demand is planned for: slots soon; scarce shapes where as much leaves as arrives.
SLOT_WINDOW = 0.3
STEADY_WINDOW = 0.1
KEPT_SPREADS = 1.5  # what is kept for others costs at most so many times the spread


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
def more_than_now(tasks: float, gamma: float, params: Floats) -> float:
    """Where tasks leave: how many more there may be than the `tasks` that are there in the mean.

    Those that leave make room for the next ones, so only the number varies: by its root, as arrivals at random do.
    Without this, tasks of 8 GPUs were refused at load 0.6 on fleets where frugal nodes are the only ones for them.
    """
    return 0.0 if gamma >= 1 else (1 + params[PARAM.margin]) * math.sqrt(tasks)


@kernel
def kept_w(short: float, short_of_more: float, gamma: float, params: Floats) -> float:
    """The price of what is kept: for all that is to come in a fill-up, where tasks leave for more of them than now."""
    return KEPT_SPREADS * params[PARAM.spread_w] * (gamma * short**20 + (1 - gamma) * short_of_more**20)


@kernel
def reserve_prices(to_fill: float, in_use: float, gamma: float, params: Floats, memory: Floats, prices: Floats) -> None:
    """-sigma for each request that room is kept for; `to_fill`, `in_use`: GPUs."""
    for r in range(MAX_RESERVES):
        prices[TERM.reserved + r] = 0.0
    for r in range(int(params[PARAM.reserve_count])):
        demand = params[PARAM.reserve_demand + r] * to_fill
        demand += params[PARAM.margin] * math.sqrt(demand)
        # As with sets of shapes, little is kept of what is asked for far more often than the fleet could ever hold it.
        demand *= min(1.0, STILL_HELD / max(params[PARAM.reserve_asked + r], 1e-9)) ** 4
        short = shortage(demand, memory[MEMORY.reserve_room + r])
        more = more_than_now(params[PARAM.reserve_demand + r] * in_use, gamma, params)
        short_of_more = shortage(more, memory[MEMORY.reserve_room + r])
        if max(short, short_of_more) > 0.5:
            prices[TERM.reserved + r] = -kept_w(short, short_of_more, gamma, params)


@kernel
def weigh(task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, prices: Floats) -> None:
    capacity = params[PARAM.capacity]
    fill = min(memory[MEMORY.free_worth], memory[MEMORY.free_vcpu] * params[PARAM.gpus_per_vcpu])
    used = 1.0 - fill / max(capacity, 1.0)
    rest, in_use = max(1.0 - used, 0.02), max(used, 0.0) * capacity
    to_come = max(rest - params[PARAM.last_part], 0.0)
    ramp = max(0.0, (used - 0.8) / 0.2)
    gamma = growth(memory)
    gpu_w, reserve_w = params[PARAM.gpu_w], gamma * KEPT_SPREADS * params[PARAM.spread_w]
    growing, steady = gamma * (1.5 + 13 * ramp) * gpu_w, (1 - gamma) * (0.75 + 3 * ramp) * gpu_w
    # With departures the look ahead ends at 85 % use: above, it refused up to 0.007 more (multigpu50 at load 0.95).
    # It ignores constraints: where tasks have them it drew up to 0.9 % more (gpuspec25 at load 0.7).
    ahead = gamma  # a
    if params[PARAM.constrained] == 0:
        ahead += (1 - gamma) * max(0.0, 1 - 4 * ramp)
    prices[TERM.power] = -1.0
    prices[TERM.ahead] = -ahead
    prices[TERM.tight] = -0.45 * gpu_w * (1 - ahead * params[PARAM.wake_share])
    prices[TERM.gpus] = -(growing + steady)
    prices[TERM.drain] = -(gamma * 0.002 + (1 - gamma) * (0.06 + 0.6 * ramp)) * gpu_w
    prices[TERM.fragments] = -(growing + steady) * params[PARAM.fragments]
    for i in range(MAX_SIZES):
        prices[TERM.slots + i] = 0.0
    window = min(rest, SLOT_WINDOW) * capacity  # GPUs asked for soon
    shortest = 0.0
    for i in range(int(params[PARAM.size_count])):
        size, demand, supply = params[PARAM.size + i], params[PARAM.size_demand + i], memory[MEMORY.free_slots + i]
        to_hold = demand * to_come * capacity
        to_hold += params[PARAM.margin] * math.sqrt(to_hold * size)
        short, reserved = shortage(demand * window, supply), shortage(to_hold, supply)
        short_of_more = shortage(size * more_than_now(demand * in_use / size, gamma, params), supply)
        # About 0.01 W per GPU: not worth a pass over the nodes.
        if short <= 0.2 and max(reserved, short_of_more) <= 0.5:
            continue
        # With 1.5 instead of 0.3, multigpu50 saves 0.3 points less at 0.8; without `mu` its GRAR at 1.0 falls by 0.006.
        # Without the second part, tasks of 8 GPUs are refused where the only nodes for them are the most frugal ones.
        reserved_w = kept_w(reserved, short_of_more, gamma, params)
        prices[TERM.slots + i] = -((0.3 * growing + steady) * short**6 + reserved_w)
        shortest = max(shortest, short)
    # mu. Without it, power-hungry nodes short of vCPU fill last and strand 16 GPUs (multigpu50).
    prices[TERM.stranded] = -gamma * 7 * gpu_w * shortest**3
    reserve_prices(rest * capacity, in_use, gamma, params, memory, prices)
    for group in range(MAX_GROUPS):
        prices[TERM.scarce + group] = 0.0
    if params[PARAM.class_count] > 0:
        plan_prices(task, params, memory, gamma, prices)
    # A fill-up reserves scarce shapes for all demand that is planned for; where tasks leave, a small reserve suffices.
    steady_part = (1 - gamma) * min(rest, STEADY_WINDOW)
    structure = (gamma * to_come + steady_part) * capacity
    named = (gamma * min(rest, params[PARAM.service]) + steady_part) * capacity
    for a in range(int(params[PARAM.set_count])):
        supply = memory[MEMORY.set_usable + a]
        asked = 0.0
        for b in range(a + 1):
            if params[PARAM.set_within + a * MAX_SETS + b] > 0:
                planned = params[PARAM.set_structure + b] * structure + params[PARAM.set_named + b] * named
                planned += params[PARAM.margin] * math.sqrt(planned)
                # Little of what a smaller set can never hold makes other shapes scarce: it is refused in any case.
                asked += min(planned, max(memory[MEMORY.set_usable + b], params[PARAM.set_held + b] * planned))
        short = shortage(asked, supply)
        if short <= 0.3:
            continue
        # Near full use lambda drives tasks to nodes with plenty of vCPU, and the reservation must hold against it:
        # without the ramp gpuspec25 drew 0.2 % more at load 0.9; random fleets draw and serve the same.
        held_w = reserve_w * (1 + 60 * ramp)
        price = -(held_w * short**20 + max(1.5 * steady, (1 - gamma) * 2.2 * gpu_w) * short**6)
        for group in range(int(params[PARAM.group_count])):
            if params[PARAM.group_in + group * MAX_SETS + a] > 0:
                prices[TERM.scarce + group] = min(prices[TERM.scarce + group], price)


@kernel
def remember(
    event: int, node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats
) -> None:
    if event == ARRIVAL:
        memory[MEMORY.arrived] = memory[MEMORY.arrived] * FADE + task.gpu_request
        memory[MEMORY.released] *= FADE
        if params[PARAM.class_count] > 0:
            count_arrival(task, params, memory)
    elif event == DEPARTURE:
        memory[MEMORY.released] += task.gpu_request
    elif event == BEFORE_CHANGE:
        count(node, params, memory, -1.0)
        if params[PARAM.class_count] > 0:
            count_held(node, task, params, memory, -1.0)
    elif event == AFTER_CHANGE:
        worth = free_worth(node, params)
        node.notes[NOTE.worth] = worth
        short = stranded(worth, node.cpu_left, params)
        node.notes[NOTE.stranded] = short
        node.notes[NOTE.usable] = math.floor((worth - short) / GRAIN + 0.5) * GRAIN
        idle = idle_milli(node, node.cpu_left)
        node.notes[NOTE.sockets_ahead_w] = sockets_ahead_w(node, idle, node.gpu_free, ANY_GPU, 0, params)
        for i in range(int(params[PARAM.size_count])):
            node.notes[NOTE.slots + i] = slots(node.gpu_free, node.cpu_left, i, params)
        count(node, params, memory, 1.0)
        if params[PARAM.class_count] > 0:
            count_held(node, task, params, memory, 1.0)


@kernel
def count(node: NodeRecord, params: Floats, memory: Floats, sign: float) -> None:
    """Add (1) or take away (-1) the node's share of the sums."""
    worth = sign * node.notes[NOTE.worth]
    memory[MEMORY.free_worth] += worth
    for i in range(int(params[PARAM.size_count])):
        memory[MEMORY.free_slots + i] += sign * node.notes[NOTE.slots + i]
    memory[MEMORY.free_vcpu] += sign * node.cpu_left
    for r in range(int(params[PARAM.reserve_count])):
        memory[MEMORY.reserve_room + r] += sign * whole_places(node, r, params)
    group = int(params[PARAM.end + node.type])
    if group >= 0:
        usable = sign * node.notes[NOTE.usable]
        for a in range(int(params[PARAM.set_count])):
            memory[MEMORY.set_usable + a] += usable * params[PARAM.group_in + group * MAX_SETS + a]
