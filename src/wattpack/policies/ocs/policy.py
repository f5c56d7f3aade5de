"""OCS, opportunity-cost scheduling: the node where a task costs least, in watts and in what the node could still serve.

    cost  = dP + 0.1 * slack                      watts; idle vCPU of powered sockets
          + a * 0.5 * dE + b * 0.06 * left        watts that the node spares the next task; milli left on a shared GPU
          + lambda * (dS + dV)                    GPUs stranded for want of vCPU; worth of the GPU part that is taken
          + pi_model * dV                         more where the models are scarce that constrained tasks may use
          + sum over s of pi_s * dB_s             slots for tasks of s GPUs
          + mu * dS                               more for stranding while such slots are short
          + drain * GV * max(1, dV)               keep off nodes that are nearly empty, above all in steady state
    score = -cost

docs/guide/ocs.md says what each is for. Beside this file: prices.py (a, b, lambda, pi, mu, drain, which follow from
the free GPUs of the datacenter and from whether it grows), node.py (what a node is worth), ahead.py (dE),
statistics.py (what is fixed for a target workload).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import ANY_GPU, Policy
from wattpack.model.power import GPU_MILLI, PowerProfile, added_gpu_power_mw, added_power_mw
from wattpack.model.target import Target
from wattpack.policies.ocs.ahead import ahead_tables, idle_milli, part_ahead_w, sockets_ahead_w
from wattpack.policies.ocs.node import (
    AHEAD,
    DRAIN,
    GPUS,
    MEMORY,
    NODE_AHEAD_W,
    NODE_SLOTS,
    NODE_STRANDED,
    NODE_WORTH,
    POWER,
    SCARCE,
    SLOTS,
    STRANDED,
    TERM_NAMES,
    TERMS,
    TIGHT,
    slots,
    stranded,
)
from wattpack.policies.ocs.prices import remember, weigh
from wattpack.policies.ocs.statistics import (
    GROUP_OF,
    GROUPS,
    SIZE,
    SIZE_PER_CPU,
    SIZES,
    WORTH,
    statistics,
)

SLACK_W = 0.1  # per idle vCPU
# Of what the next task is spared. Up to a half, the look ahead at sockets alone never makes waking one cheaper than
# using vCPU that is awake: it is worth at most a socket's watts where it is kept, and as much where it is woken.
# Measured on four traces: 0.45 saves 0.08 points less in the mean, 0.6 0.10 less (0.6 on multigpu20 at load 0.8).
AHEAD_SHARE = 0.5
TIGHT_W = 0.06  # per milli left on the GPU of a sharing task
PICK_W = 200.0  # per GPU of worth, for the choice among the GPUs of a node
SERVICE_DEFAULT = 0.4  # the least (in steps of 0.05 from 0.3) that served as much as FGD at every load in tuning


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

    watts = added_power_mw(node, task, gpu, world.gpu_draw_mw) / 1000
    idle_after = idle_milli(node, cpu_after)
    terms[POWER] = watts + SLACK_W / 1000 * idle_after
    ahead_w += node.notes[NODE_AHEAD_W] - sockets_ahead_w(node, idle_after, free_after, gpu, left_after, params)
    terms[AHEAD] = AHEAD_SHARE * ahead_w
    terms[STRANDED] = stranded(worth - taken, cpu_after, params) - node.notes[NODE_STRANDED]
    terms[GPUS] = terms[STRANDED] + taken
    terms[DRAIN] = worth * max(1.0, taken)
    for i in range(int(params[SIZES])):
        size = params[SIZE + i]
        lost = node.notes[NODE_SLOTS + i] - slots(free_after, cpu_after, i, params)
        if task.num_gpu == size:
            lost -= size
        elif task.num_gpu < size and lost > 0:
            # The first task that breaks a slot would pay for the whole of it and flee to a hungrier GPU.
            lost = min(lost, max(taken, size * task.cpu_milli * params[SIZE_PER_CPU + i]))
        terms[SLOTS + i] = lost
    for group in range(int(params[GROUPS])):
        terms[SCARCE + group] = 0.0
    group = int(params[GROUP_OF + node.model])
    if group >= 0:
        terms[SCARCE + group] = taken
    return gpu


def used_terms(params: NDArray[np.float64]) -> list[int]:
    """9 of 18 on the Default trace: three multi-GPU sizes, no constraints."""
    sizes, groups = range(int(params[SIZES])), range(int(params[GROUPS]))
    return [POWER, AHEAD, TIGHT, GPUS, DRAIN, *(SLOTS + i for i in sizes), *(SCARCE + i for i in groups), STRANDED]


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
        used_terms=used_terms,
    )


@cache
def _with_service(service: float) -> Policy:
    """`ocs@0.5`. The same text is the same policy: expressions are compared."""
    if service == SERVICE_DEFAULT:
        return OCS
    return replace(ocs_policy(service, f"ocs@{service:g}"), with_knob=_with_service)


OCS = replace(ocs_policy(), with_knob=_with_service)
