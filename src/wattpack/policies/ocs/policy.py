"""OCS, opportunity-cost scheduling: the node with the least cost in added watts and in capacity lost to other tasks.

    cost  = dP + fair + slack                 power: watts added, sockets in part by vCPU; 3 % of idle vCPU's watts
          + a * 0.5 * dE                      ahead: watts that the node no longer spares the next task
          + b * left                          tight: share left on the GPU of a sharing task before
          + lambda * (dS + dV)                gpus: GPUs stranded for want of vCPU; worth of the GPU part taken
          + drain * GV * max(1, dV)           drain: avoid nearly empty nodes, above all where tasks leave
          + sum over s of pi_s * dB_s         slots: places lost for tasks of s GPUs
          + pi_group * max(dV, dV + dS)       scarce: more on node shapes that other tasks depend on
          + mu * dS                           stranded: more for stranding while slots are short
          + phi * dF                          fragments: GPUs that classes can no longer use, where vCPU is short
          + sum over r of sigma_r * dR_r      reserved: room taken from requests that few nodes can hold
          + rho_type                          plan (`ocsplan`): the task's kind has had its part of this node type
    score = -cost

docs/guide/ocs.md explains each term. Beside this file: prices.py (a, b, lambda, drain, pi, mu, phi, sigma, from the
free capacity of the datacenter and its growth), node.py (GV, S, B_s, E of one node), statistics.py and ahead.py (what
is fixed for a target workload), fleet.py and scarcity.py (what is fixed for a fleet), reserves.py (requests that room
is kept for), plan.py and planned.py (the plan of `ocsplan` and its prices), layout.py (where everything is in the
arrays).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.jit import kernel
from wattpack.model.fragmentation import fragmentation_after, tally
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import ANY_GPU, Policy
from wattpack.model.power import (
    GPU_MILLI,
    VCPU_MILLI_PER_CORE,
    PowerProfile,
    added_gpu_power_mw,
    added_power_mw,
    paid_power_mw,
)
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.model.target import Target
from wattpack.policies.ocs.ahead import fill_look_ahead, fill_merits
from wattpack.policies.ocs.fleet import Shape, fleet_watts, node_shapes, placeable, socket_vcpu
from wattpack.policies.ocs.layout import MAX_TYPES, MEMORY, NOTE, PARAM, TERM, TERM_NAMES
from wattpack.policies.ocs.node import fairness_w, idle_milli, part_ahead_w, slots, sockets_ahead_w, stranded
from wattpack.policies.ocs.plan import fill_plan
from wattpack.policies.ocs.prices import remember, weigh
from wattpack.policies.ocs.reserves import fill_reserves, room_taken
from wattpack.policies.ocs.scarcity import dependences, fill_scarcity, watched_sets
from wattpack.policies.ocs.statistics import statistics, usable_gpus
from wattpack.policies.ocs.words import say_terms

SLACK_SHARE = 0.03  # of a socket's watts per vCPU, for idle vCPU: 0.1 W per vCPU of the paper's sockets
# Share of dE that is charged. Up to a half, the look ahead never makes waking a socket cheaper than using powered vCPU:
# a socket is worth at most its watts where it stays free, and as much where it is woken.
# Measured on four traces: 0.45 saves 0.08 points less on average, 0.6 saves 0.10 less (0.6 on multigpu20 at load 0.8).
AHEAD_SHARE = 0.5
# In the choice among the GPUs of a node, in watts of a typical GPU: per GPU left, and per GPU of worth taken.
PICK_LEFT = 0.45
PICK_WORTH = 1.5
SERVICE_DEFAULT = 0.4  # the least value (in steps of 0.05 from 0.3) that served as much as FGD at every load in tuning
SERVICE_MOST = 100.0
# The knob from which room is kept for requests. Below it would cost the built-in datacenter up to 4 % of power where
# tasks name models, and a run takes up to twice as long.
KEEPS_ROOM = 1.0
# Up to 1, demand that only some shapes or nodes can hold is planned for up to 90 % use. Planning for the last tenth too
# cost 15 to 25 % more watts on fleets whose frugal nodes are the only ones for large tasks.
LAST_PART = 0.1
PLAN_MARGIN = 0.05  # of GPUs and vCPU, left out of a plan by a knob above 1
# Slots and room are kept for (knob - 1) standard deviations more tasks than expected, at most so many. Where one node
# type holds all tasks of 8 GPUs, one deviation lost 0.003 of GRAR and two lost nothing, for 0.5 to 0.9 % more watts;
# five lost up to 0.08 elsewhere, because everything was reserved.
MOST_MARGIN = 3.0
SUMMARY = "least watts and opportunity cost: what the node could still serve, priced in watts"
PLAN_SUMMARY = "ocs with a plan of the fleet: which node types take which tasks while the datacenter fills"


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
        cost = watts + params[PARAM.gpu_w] * (PICK_LEFT / GPU_MILLI * left + PICK_WORTH * taken) + 1e-5 * left
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
        terms[TERM.tight] = left / GPU_MILLI
    cpu_after = node.cpu_left - task.cpu_milli
    worth = node.notes[NOTE.worth]  # GV

    watts = paid_power_mw(added_power_mw(node, task, gpu, world.gpu_draw_mw), node, task) / 1000
    watts += fairness_w(node, task, cpu_after, params)
    idle_after = idle_milli(node, cpu_after)
    vcpu_w = (node.socket_max_mw - node.socket_idle_mw) / (node.socket_cores * VCPU_MILLI_PER_CORE)  # of one vCPU
    terms[TERM.power] = watts + SLACK_SHARE / 1000 * vcpu_w * idle_after
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
    group = int(params[PARAM.end + node.type])
    if group >= 0:
        # Tasks without GPU too: they took the vCPU of scarce shapes for nothing, and GPUs that others name stranded.
        terms[TERM.scarce + group] = max(taken, terms[TERM.gpus])
    if params[PARAM.fragments] > 0:
        tally(node, world)
        after = fragmentation_after(node, task, max(gpu, 0), world)
        terms[TERM.fragments] = (after - node.fragmentation) / GPU_MILLI
    for r in range(int(params[PARAM.reserve_count])):
        terms[TERM.reserved + r] = room_taken(node, task, r, gpu, left_after, free_after, taken, params)
    if params[PARAM.class_count] > 0:
        for node_type in range(MAX_TYPES):
            terms[TERM.plan + node_type] = 0.0
        terms[TERM.plan + node.type] = 1.0
    return gpu


def used_terms(params: NDArray[np.float64]) -> list[int]:
    """The terms that count: three multi-GPU sizes and one group of shapes on the Default trace, no fragments."""
    slots_used = range(TERM.slots, TERM.slots + int(params[PARAM.size_count]))
    scarce_used = range(TERM.scarce, TERM.scarce + int(params[PARAM.group_count]))
    always = [TERM.power, TERM.ahead, TERM.tight, TERM.gpus, TERM.drain, *slots_used, *scarce_used, TERM.stranded]
    reserved = range(TERM.reserved, TERM.reserved + int(params[PARAM.reserve_count]))
    planned = range(TERM.plan, TERM.plan + (MAX_TYPES if params[PARAM.class_count] > 0 else 0))
    return [*always, *([TERM.fragments] if params[PARAM.fragments] > 0 else []), *reserved, *planned]


@lru_cache(maxsize=64)  # all runs of a comparison on one trace share it
def fleet_statistics(
    target: Target, shapes: tuple[Shape, ...], models: tuple[str, ...]
) -> tuple[NDArray[np.float64], list[int]]:
    """The parameters that depend neither on the knob nor on watts, and the group of each shape (-1: none)."""
    held = placeable(target, shapes, models)
    params = statistics(held, shapes)
    usable = usable_gpus(params, shapes)
    params[PARAM.fragments] = fragments_count(sum(usable), sum(shape.nodes * shape.gpus for shape in shapes))
    found = dependences(held, shapes, models)
    params[PARAM.constrained] = any(one.named > 0 for one in found)
    fill_look_ahead(params, held)
    group_of = fill_scarcity(params, watched_sets(found, usable, params[PARAM.capacity]), usable)
    params.flags.writeable = False
    return params, group_of


def fragments_count(usable: float, gpus: float) -> float:
    """0 where at least 90 % of the GPUs have vCPU for the target's tasks, 1 where at most 80 % have.

    S takes vCPU for a fluid, which is not enough where vCPU runs out first: there F, which counts whole tasks, serves
    up to 0.02 of GRAR more. Elsewhere it saves less, and it costs time (91 to 94 % in the built-in datacenter).
    """
    return min(1.0, max(0.0, (0.9 - usable / gpus) / 0.1)) if gpus > 0 else 0.0


def ocs_policy(service: float = SERVICE_DEFAULT, name: str = "ocs", planned: bool = False) -> Policy:
    """`ocs` with its knob: the share of the datacenter whose demand for named models a fill-up plans for (D).

    A higher value serves more constrained tasks; a lower one saves more power until they come. Above 1 all demand is
    planned for, with a margin, and fragments cost (D - 1) lambda on every fleet: FGD's view, as far as one wants it.
    planned: with the prices of a plan of the fleet (plan.py).
    """
    if not 0 <= service <= SERVICE_MOST:
        raise UserError(
            f"service {service}, expected 0 (save power) to 1 (serve tasks), or more up to {SERVICE_MOST:g}"
        )

    def prepare(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
        shapes, of_type = node_shapes(datacenter)
        fixed, group_of = fleet_statistics(target, shapes, datacenter.models)
        params = np.concatenate([fixed, np.array(group_of, dtype=np.float64)[of_type]])
        params[PARAM.service] = min(service, 1.0)
        params[PARAM.last_part] = LAST_PART if service <= 1 else 0.0
        params[PARAM.margin] = min(max(service - 1, 0.0), MOST_MARGIN)
        params[PARAM.fragments] = max(params[PARAM.fragments], service - 1)
        params[PARAM.gpu_w], params[PARAM.spread_w] = fleet_watts(datacenter, profile)
        params[PARAM.socket_vcpu] = socket_vcpu(datacenter, profile)
        fill_merits(params, datacenter, profile)
        if service >= KEEPS_ROOM:
            fill_reserves(params, datacenter, placeable(target, shapes, datacenter.models))
        if planned:
            fill_plan(params, datacenter, target, profile, PLAN_MARGIN if service > 1 else 0.0)
        return params

    return Policy(
        name,
        PLAN_SUMMARY if planned else SUMMARY,
        score,
        terms=TERM.end if planned else TERM.plan,
        weigh=weigh,
        remember=remember,
        memory_size=MEMORY.end if planned else MEMORY.came,
        prepare=prepare,
        term_names=TERM_NAMES if planned else TERM_NAMES[: TERM.plan],
        amounts_only=service < KEEPS_ROOM,  # who may take which room depends on the models of a task
        notes=True,
        extends=True,
        by_work=True,
        used_terms=used_terms,
        say_terms=say_terms,
    )


@cache
def _with_service(service: float) -> Policy:
    """`ocs@0.5`. Cached, because equal expressions must give equal policies."""
    if service == SERVICE_DEFAULT:
        return OCS
    return replace(ocs_policy(service, f"ocs@{service:g}"), with_knob=_with_service)


@cache
def _planned_with_service(service: float) -> Policy:
    """`ocsplan@2`."""
    if service == SERVICE_DEFAULT:
        return OCSPLAN
    return replace(ocs_policy(service, f"ocsplan@{service:g}", planned=True), with_knob=_planned_with_service)


OCS = replace(ocs_policy(), with_knob=_with_service)
OCSPLAN = replace(ocs_policy(name="ocsplan", planned=True), with_knob=_planned_with_service)
