"""Of `ocs`: its memory of the datacenter and of growth, and the prices that follow from it at each decision."""

from __future__ import annotations

from typing import Any

from wattpack.jit import kernel
from wattpack.model.policy import AFTER_CHANGE, ANY_GPU, ARRIVAL, BEFORE_CHANGE, DEPARTURE
from wattpack.policies.ocs.ahead import WAKE_SHARE, idle_milli, sockets_ahead_w
from wattpack.policies.ocs.node import (
    AHEAD,
    ARRIVED,
    DRAIN,
    FREE_SLOTS,
    FREE_WORTH,
    GPUS,
    NODE_AHEAD_W,
    NODE_SLOTS,
    NODE_STRANDED,
    NODE_WORTH,
    POWER,
    RELEASED,
    SCARCE,
    SET_WORTH,
    SLOTS,
    STRANDED,
    TIGHT,
    free_worth,
    slots,
    stranded,
)
from wattpack.policies.ocs.statistics import (
    CAPACITY,
    GROUP_IN,
    GROUPS,
    MAX_GROUPS,
    MAX_SETS,
    MAX_SIZES,
    MODEL_IN,
    SERVICE,
    SET_DEMAND,
    SETS,
    SIZE_DEMAND,
    SIZES,
)

FADE = 1 - 1 / 2000  # per arrival
# Shares of the datacenter whose demand is planned for: slots, and scarce models where as much leaves as arrives.
SLOT_WINDOW = 0.3
STEADY_WINDOW = 0.1


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
