"""Of `ocs`: places of its terms, memory and notes, and what a node as it is is worth to tasks that are still to come.

Names in capitals are places in arrays: TERMS of a score, MEMORY of the policy, NODE_... in node.notes.
"""

from __future__ import annotations

import math
from typing import Any

from wattpack.jit import kernel
from wattpack.model.nodes import MAX_GPUS
from wattpack.policies.ocs.statistics import (
    MAX_GROUPS,
    MAX_SETS,
    MAX_SIZES,
    QUANTILES,
    SIZE,
    SIZE_GPUS,
    SIZE_PER_CPU,
    STRAND_SUMS,
    STRANDS,
    WORTH,
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
