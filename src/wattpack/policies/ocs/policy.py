"""OCS, opportunity-cost scheduling: the node with the least cost in added watts and in capacity lost to other tasks.

    cost  = dP + 0.1 * slack                  power: watts added; idle vCPU of powered sockets afterwards
          + a * 0.5 * dE                      ahead: watts that the node no longer spares the next task
          + b * 0.06 * left                   tight: milli left on the GPU of a sharing task before
          + lambda * (dS + dV)                gpus: GPUs stranded for want of vCPU; worth of the GPU part taken
          + drain * GV * max(1, dV)           drain: avoid nearly empty nodes, above all where tasks leave
          + sum over s of pi_s * dB_s         slots: places lost for tasks of s GPUs
          + pi_model * dV                     scarce: more on models that constrained tasks depend on
          + mu * dS                           stranded: more for stranding while slots are short
    score = -cost

docs/guide/ocs.md explains each term. Beside this file: prices.py (a, b, lambda, drain, pi, mu, from the free capacity
of the datacenter and its growth), node.py (GV, S, B_s, E of one node), statistics.py and ahead.py (what is fixed for a
target workload), layout.py (where everything is in the arrays).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import ANY_GPU, Policy
from wattpack.model.power import GPU_MILLI, PowerProfile, added_gpu_power_mw, added_power_mw
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.model.target import Target
from wattpack.policies.ocs.ahead import fill_look_ahead
from wattpack.policies.ocs.layout import MEMORY, NOTE, PARAM, TERM, TERM_NAMES
from wattpack.policies.ocs.node import idle_milli, part_ahead_w, slots, sockets_ahead_w, stranded
from wattpack.policies.ocs.prices import remember, weigh
from wattpack.policies.ocs.statistics import statistics

SLACK_W = 0.1  # per idle vCPU
# Share of dE that is charged. Up to a half, the look ahead never makes waking a socket cheaper than using powered vCPU:
# a socket is worth at most its watts where it stays free, and as much where it is woken.
# Measured on four traces: 0.45 saves 0.08 points less on average, 0.6 saves 0.10 less (0.6 on multigpu20 at load 0.8).
AHEAD_SHARE = 0.5
TIGHT_W = 0.06  # per milli left on the GPU of a sharing task
PICK_W = 200.0  # per GPU of worth, in the choice among the GPUs of a node
SERVICE_DEFAULT = 0.4  # the least value (in steps of 0.05 from 0.3) that served as much as FGD at every load in tuning


@kernel
def pick_gpu(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats) -> int:
    """The GPU of the node with the least cost for a sharing task."""
    best = np.inf
    best_gpu = ANY_GPU
    tried = -1
    for g in range(node.gpus):
        left = node.gpu_left[g]
        if left < task.gpu_milli or left == tried:  # equal to the GPU tried last: same cost
            continue
        tried = left
        watts = added_gpu_power_mw(node, task, g, world.gpu_draw_mw) / 1000
        taken = params[PARAM.worth + left] - params[PARAM.worth + left - task.gpu_milli]
        cost = watts + TIGHT_W * left + PICK_W * taken + 1e-5 * left
        if cost < best:
            best = cost
            best_gpu = g
    return best_gpu


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    gpu = ANY_GPU
    free_after = node.gpu_free - task.num_gpu  # free GPUs after the placement
    taken = float(task.num_gpu)  # dV
    left_after = 0
    ahead_w = 0.0  # dE
    terms[TERM.tight] = 0.0
    if task.kind == 0:
        gpu = pick_gpu(node, task, world, params)
        left = node.gpu_left[gpu]
        left_after = left - task.gpu_milli
        taken = params[PARAM.worth + left] - params[PARAM.worth + left_after]
        free_after = node.gpu_free - int(left == GPU_MILLI)
        ahead_w = part_ahead_w(left, params) - part_ahead_w(left_after, params)
        terms[TERM.tight] = TIGHT_W * left
    cpu_after = node.cpu_left - task.cpu_milli
    worth = node.notes[NOTE.worth]  # GV

    watts = added_power_mw(node, task, gpu, world.gpu_draw_mw) / 1000
    idle_after = idle_milli(node, cpu_after)
    terms[TERM.power] = watts + SLACK_W / 1000 * idle_after
    sockets_after_w = sockets_ahead_w(node, idle_after, free_after, gpu, left_after, params)
    ahead_w += node.notes[NOTE.sockets_ahead_w] - sockets_after_w
    terms[TERM.ahead] = AHEAD_SHARE * ahead_w
    terms[TERM.stranded] = stranded(worth - taken, cpu_after, params) - node.notes[NOTE.stranded]
    terms[TERM.gpus] = terms[TERM.stranded] + taken
    terms[TERM.drain] = worth * max(1.0, taken)
    for i in range(int(params[PARAM.size_count])):
        size = params[PARAM.size + i]
        lost = node.notes[NOTE.slots + i] - slots(free_after, cpu_after, i, params)
        if task.num_gpu == size:
            lost -= size
        elif task.num_gpu < size and lost > 0:
            # Otherwise the first task that breaks a slot would pay for all of it and go to a GPU that draws more.
            lost = min(lost, max(taken, size * task.cpu_milli * params[PARAM.size_per_cpu + i]))
        terms[TERM.slots + i] = lost
    for group in range(int(params[PARAM.group_count])):
        terms[TERM.scarce + group] = 0.0
    group = int(params[PARAM.group_of + node.model])
    if group >= 0:
        terms[TERM.scarce + group] = taken
    return gpu


def used_terms(params: NDArray[np.float64]) -> list[int]:
    """The terms that `score` writes: 9 of 18 on the Default trace (three multi-GPU sizes, no constraints)."""
    slots_used = range(TERM.slots, TERM.slots + int(params[PARAM.size_count]))
    scarce_used = range(TERM.scarce, TERM.scarce + int(params[PARAM.group_count]))
    return [TERM.power, TERM.ahead, TERM.tight, TERM.gpus, TERM.drain, *slots_used, *scarce_used, TERM.stranded]


def ocs_policy(service: float = SERVICE_DEFAULT, name: str = "ocs") -> Policy:
    """`ocs` with its knob: the share of the datacenter whose demand for scarce models a fill-up plans for (D).

    A higher value serves more constrained tasks; a lower one saves more power until they come.
    """
    if not 0 <= service <= 1:
        raise UserError(f"service {service}, expected 0 (save power) to 1 (serve tasks)")

    def prepare(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
        params = statistics(datacenter, target, service)
        fill_look_ahead(params, datacenter, target, profile)
        return params

    return Policy(
        name,
        "least watts and opportunity cost: what the node could still serve, priced in watts",
        score,
        terms=TERM.end,
        weigh=weigh,
        remember=remember,
        memory_size=MEMORY.end,
        prepare=prepare,
        term_names=TERM_NAMES,
        amounts_only=True,
        notes=True,
        used_terms=used_terms,
    )


@cache
def _with_service(service: float) -> Policy:
    """`ocs@0.5`. Cached, because equal expressions must give equal policies."""
    if service == SERVICE_DEFAULT:
        return OCS
    return replace(ocs_policy(service, f"ocs@{service:g}"), with_knob=_with_service)


OCS = replace(ocs_policy(), with_knob=_with_service)
