"""Kernels of the offline search: tasks placed on nodes, moved and swapped, with the energy that guides the moves.

Energy is in watts: the power of the nodes less the worth of the tasks served. The steps of the power model are smoothed
by a share `smooth`: a plain step is the same whether a GPU is half or almost empty, so no move would find its way.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import Any, NamedTuple

import numpy as np

from wattpack.engine.core.pick import free_gpus
from wattpack.engine.core.state import NOWHERE
from wattpack.jit import kernel, step
from wattpack.model.fit import FITS, fits
from wattpack.model.power import GPU_MILLI, VCPU_MILLI_PER_CORE, cpu_power_mw, kernel_cpu_and_gpu_power
from wattpack.model.records import Floats, Integers, NodeRecord, Records, SmallIntegers, TaskRecord

DRAWS = 4  # random numbers that one move takes
TRIES = 8  # nodes tried for one with room
UNBALANCE_W = 20.0  # watts per GPU that lacks vCPU
OVER_QUOTA_W = 1e6  # more than any placement costs


class Assignment(NamedTuple):
    """Where the tasks of a workload are, as the search changes it. Arrays only, for kernels."""

    nodes: Records[NodeRecord]  # changed, but power and fragmentation are not kept up to date
    tasks: Records[TaskRecord]  # the classes
    sequence: SmallIntegers  # [tasks] class
    node: SmallIntegers  # [tasks] changed; NOWHERE for none
    gpus: SmallIntegers  # [tasks] changed; bit set


class Energy(NamedTuple):
    """What moves are judged by."""

    fill_w: Floats  # [models, 1001] smoothed watts of a GPU by its fill
    worth_w: Floats  # [classes] watts that a served task is worth
    smooth: float  # share of the smoothed power, 0 for the plain steps
    heat_w: float  # watts that a move may cost: such a move is made with probability 1 / e


@step
def energy_w(node: NodeRecord, fill_w: Floats, smooth: float) -> float:
    """Smoothed watts of a node, without its base power."""
    gpu_w = 0.0
    for g in range(node.gpus):
        gpu_w += fill_w[node.model, GPU_MILLI - node.gpu_left[g]]
    socket_milli = node.socket_cores * VCPU_MILLI_PER_CORE
    used = node.cpu_milli - node.cpu_left
    sockets = used // socket_milli + sqrt((used % socket_milli) / socket_milli)
    smoothed = sockets * (node.socket_max_mw - node.socket_idle_mw) + node.sockets * node.socket_idle_mw
    cpu_w = ((1 - smooth) * cpu_power_mw(node, node.cpu_left) + smooth * smoothed) / 1000
    return kernel_cpu_and_gpu_power(cpu_w, gpu_w)


@step
def change(node: NodeRecord, task: TaskRecord, gpus: int, sign: int) -> None:
    """Put (1) a task on a node and the GPUs of the bit set, or take it off (-1); modifies the node.

    The engine's `occupy` without the fields that the search does not read: with `occupy` a move took 30 % more time.
    """
    node.cpu_left -= sign * task.cpu_milli
    node.memory_left -= sign * task.memory_mib
    node.tasks += sign
    node.gpu_free = 0
    node.gpu_most = 0
    for g in range(node.gpus):
        if (gpus >> g) & 1:
            node.gpu_left[g] -= sign * task.gpu_milli
        node.gpu_free += node.gpu_left[g] == GPU_MILLI
        node.gpu_most = max(node.gpu_most, node.gpu_left[g])


@step
def best_gpus(node: NodeRecord, task: TaskRecord, fill_w: Floats) -> int:
    """The GPUs for a task that fits: the first free ones, or the one that adds the least smoothed watts."""
    if task.kind != 0:
        return free_gpus(node, task.num_gpu)
    chosen, least = 0, 1e300
    for g in range(node.gpus):
        left = node.gpu_left[g]
        if left >= task.gpu_milli:
            used = GPU_MILLI - left
            # of equal watts the tightest
            added = fill_w[node.model, used + task.gpu_milli] - fill_w[node.model, used] + 1e-6 * left
            if added < least:
                least, chosen = added, g
    return 1 << chosen


@step
def added_w(node: NodeRecord, task: TaskRecord, energy: Energy) -> float:
    """Smoothed watts that the task adds, plus a price for GPUs that it leaves without vCPU; the node is not changed."""
    gpus = best_gpus(node, task, energy.fill_w)
    before_w = energy_w(node, energy.fill_w, energy.smooth)
    change(node, task, gpus, 1)
    # A node should run out of GPUs and vCPU together: what is left of one without the other is stranded.
    added = energy_w(node, energy.fill_w, energy.smooth) - before_w + UNBALANCE_W * unbalance(node)
    change(node, task, gpus, -1)
    return added - UNBALANCE_W * unbalance(node)


@step
def unbalance(node: NodeRecord) -> float:
    """GPUs left that the vCPU left cannot serve, if all GPUs of the node were to get the same vCPU."""
    left = 0.0
    for g in range(node.gpus):
        left += node.gpu_left[g]
    return max(0.0, left / GPU_MILLI - node.gpus * node.cpu_left / max(1, node.cpu_milli))


@kernel
def follow_plan(placed: Assignment, energy: Energy, order: Integers, quota: Integers) -> None:
    """Place the tasks in `order`, each where it adds the least, if possible on a type with quota left for its class.

    quota: int64[classes, types], used up. Modifies nodes, node and gpus of `placed`.
    """
    for at in range(len(order)):
        i = order[at]
        k = placed.sequence[i]
        task = placed.tasks[k]
        chosen, least = NOWHERE, 1e300
        for n in range(len(placed.nodes)):
            there = placed.nodes[n]
            if fits(there, task) != FITS:
                continue
            added = added_w(there, task, energy)
            if quota[k, there.type] <= 0:
                added += OVER_QUOTA_W
            if added < least:
                least, chosen = added, n
        placed.node[i] = chosen
        if chosen != NOWHERE:
            there = placed.nodes[chosen]
            gpus = best_gpus(there, task, energy.fill_w)
            placed.gpus[i] = gpus
            change(there, task, gpus, 1)
            quota[k, there.type] -= 1


@kernel
def anneal(placed: Assignment, energy: Energy, draws: Floats) -> int:
    """One move or swap for each row of `draws` (float64[moves, DRAWS], in [0, 1)); returns how many were made.

    Modifies nodes, node and gpus of `placed`.
    """
    made = 0
    for at in range(len(draws)):
        i = int(draws[at, 0] * len(placed.sequence))
        if at % 2 == 0 or placed.node[i] == NOWHERE:
            made += move(placed, energy, i, draws[at])
        else:
            made += swap(placed, energy, i, draws[at])
    return made


@step
def accepts(rise_w: float, heat_w: float, luck: float) -> bool:
    return rise_w <= 0.0 or luck < exp(-rise_w / heat_w)


@step
def random_node(placed: Assignment, i: int, draws: Floats) -> int:
    """One of TRIES random nodes, another than its own, that task `i` fits on; NOWHERE if it fits none of them."""
    count, task = len(placed.nodes), placed.tasks[placed.sequence[i]]
    start = int(draws[1] * count)
    stride = 1 + int(draws[2] * (count - 1))
    for at in range(TRIES):
        n = (start + at * stride) % count
        if n != placed.node[i] and fits(placed.nodes[n], task) == FITS:
            return n
    return NOWHERE


@step
def move(placed: Assignment, energy: Energy, i: int, draws: Floats) -> int:
    """Move task `i` to a random node with room, from its node or from nowhere; returns 1 if it was moved."""
    to = random_node(placed, i, draws)
    if to == NOWHERE:
        return 0
    k = placed.sequence[i]
    task, there, source = placed.tasks[k], placed.nodes[to], placed.node[i]
    old: Any = np.int64(placed.gpus[i])
    added = -energy.worth_w[k] if source == NOWHERE else -energy_w(placed.nodes[source], energy.fill_w, energy.smooth)
    added -= energy_w(there, energy.fill_w, energy.smooth)
    taken = best_gpus(there, task, energy.fill_w)
    change(there, task, taken, 1)
    if source != NOWHERE:
        change(placed.nodes[source], task, old, -1)
        added += energy_w(placed.nodes[source], energy.fill_w, energy.smooth)
    added += energy_w(there, energy.fill_w, energy.smooth)
    if accepts(added, energy.heat_w, draws[3]):
        placed.node[i] = to
        placed.gpus[i] = taken
        return 1
    change(there, task, taken, -1)
    if source != NOWHERE:
        change(placed.nodes[source], task, old, 1)
    return 0


@step
def swap(placed: Assignment, energy: Energy, i: int, draws: Floats) -> int:
    """Let task `i` and a random other one change nodes; returns 1 if they did."""
    j = int(draws[1] * len(placed.sequence))
    a, b = placed.node[i], placed.node[j]
    if b == NOWHERE or a == b or placed.sequence[i] == placed.sequence[j]:
        return 0
    one, other = placed.tasks[placed.sequence[i]], placed.tasks[placed.sequence[j]]
    here, there = placed.nodes[a], placed.nodes[b]
    old: Any = (np.int64(placed.gpus[i]), np.int64(placed.gpus[j]))
    added = -energy_w(here, energy.fill_w, energy.smooth) - energy_w(there, energy.fill_w, energy.smooth)
    change(here, one, old[0], -1)
    change(there, other, old[1], -1)
    if fits(here, other) == FITS and fits(there, one) == FITS:
        other_gpus = best_gpus(here, other, energy.fill_w)
        one_gpus = best_gpus(there, one, energy.fill_w)
        change(here, other, other_gpus, 1)
        change(there, one, one_gpus, 1)
        added += energy_w(here, energy.fill_w, energy.smooth) + energy_w(there, energy.fill_w, energy.smooth)
        if accepts(added, energy.heat_w, draws[3]):
            placed.node[i], placed.gpus[i] = b, one_gpus
            placed.node[j], placed.gpus[j] = a, other_gpus
            return 1
        change(here, other, other_gpus, -1)
        change(there, one, one_gpus, -1)
    change(here, one, old[0], 1)
    change(there, other, old[1], 1)
    return 0


@kernel
def fill(placed: Assignment) -> None:
    """Place every task that has a node; modifies the (empty) nodes."""
    for i in range(len(placed.sequence)):
        if placed.node[i] != NOWHERE:
            gpus: Any = np.int64(placed.gpus[i])
            change(placed.nodes[placed.node[i]], placed.tasks[placed.sequence[i]], gpus, 1)
