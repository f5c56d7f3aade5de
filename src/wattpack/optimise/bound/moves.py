"""Kernels of the offline search: tasks put on nodes, moved and swapped, with the energy that guides the moves.

Energy is in watts: the power of the nodes less the worth of what is served. The steps of the power model are smoothed
by a share `smooth`: a plain step is the same whether a GPU is half or almost empty, and no move would find its way.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import Any

from wattpack.jit import kernel, step
from wattpack.model.fit import FITS, fits
from wattpack.model.power import (
    GPU_MILLI,
    VCPU_MILLI_PER_CORE,
    cpu_power_mw,
    kernel_total_power,
    unsettled_power_mw,
)

NOWHERE = -1
DRAWS = 4  # random numbers a move takes
TRIES = 8  # nodes looked at for one that fits


@step
def energy_w(node: Any, fill_w: Any, smooth: float) -> float:
    """Smoothed watts of a node. fill_w: float64[models, 1001], the smoothed watts of a GPU by its fill."""
    gpu_w = 0.0
    for g in range(node.gpus):
        gpu_w += fill_w[node.model, GPU_MILLI - node.gpu_left[g]]
    socket_milli = node.socket_cores * VCPU_MILLI_PER_CORE
    used = node.cpu_milli - node.cpu_left
    sockets = used // socket_milli + sqrt((used % socket_milli) / socket_milli)
    smoothed = sockets * (node.socket_max_mw - node.socket_idle_mw) + node.sockets * node.socket_idle_mw
    cpu_w = ((1 - smooth) * cpu_power_mw(node, node.cpu_left) + smooth * smoothed) / 1000
    return kernel_total_power(cpu_w, gpu_w)


@step
def change(node: Any, task: Any, gpus: int, sign: int) -> None:
    """Put (1) a task on a node and the GPUs of the bit set, or take it off (-1); modifies the node."""
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
def best_gpus(node: Any, task: Any, fill_w: Any) -> int:
    """The GPUs for a task that fits: the first free ones, or the one that adds the least smoothed watts."""
    if task.kind != 0:
        gpus = 0
        wanted = task.num_gpu
        for g in range(node.gpus):
            if wanted > 0 and node.gpu_left[g] == GPU_MILLI:
                gpus |= 1 << g
                wanted -= 1
        return gpus
    chosen = 0
    least = 1e300
    for g in range(node.gpus):
        left = node.gpu_left[g]
        if left >= task.gpu_milli:
            used = GPU_MILLI - left
            # of equal watts the tightest
            added = fill_w[node.model, used + task.gpu_milli] - fill_w[node.model, used] + 1e-6 * left
            if added < least:
                least = added
                chosen = g
    return 1 << chosen


@kernel
def follow_plan(
    nodes: Any, tasks: Any, order: Any, sequence: Any, quota: Any, fill_w: Any, node: Any, gpus: Any
) -> None:
    """Place the tasks in `order`, each where it adds the least, on a type with quota left for its class if one fits.

    quota: int64[classes, types], used up; node and gpus: int32 per task, filled.
    """
    for at in range(len(order)):
        i = order[at]
        k = sequence[i]
        task = tasks[k]
        chosen = NOWHERE
        least = 1e300
        for n in range(len(nodes)):
            there = nodes[n]
            if fits(there, task) != FITS:
                continue
            taken = best_gpus(there, task, fill_w)
            before = energy_w(there, fill_w, 0.5)
            change(there, task, taken, 1)
            # A node should run out of GPUs and vCPU together: what is left of one without the other is stranded.
            added = energy_w(there, fill_w, 0.5) - before + 20.0 * unbalance(there)
            change(there, task, taken, -1)
            added -= 20.0 * unbalance(there)
            if quota[k, there.type] <= 0:
                added += 1e6
            if added < least:
                least = added
                chosen = n
        node[i] = chosen
        if chosen != NOWHERE:
            gpus[i] = best_gpus(nodes[chosen], task, fill_w)
            change(nodes[chosen], task, gpus[i], 1)
            quota[k, nodes[chosen].type] -= 1


@step
def unbalance(node: Any) -> float:
    """GPUs left that the vCPU left cannot serve, were all GPUs of the node to get the same."""
    left = 0.0
    for g in range(node.gpus):
        left += node.gpu_left[g]
    return max(0.0, left / GPU_MILLI - node.gpus * node.cpu_left / max(1, node.cpu_milli))


@kernel
def anneal(
    nodes: Any,
    tasks: Any,
    sequence: Any,
    worth_w: Any,
    fill_w: Any,
    smooth: float,
    heat_w: float,
    draws: Any,
    node: Any,
    gpus: Any,
) -> int:
    """One move or swap for each row of `draws` (float64[moves, DRAWS], in [0, 1)); gives how many were made.

    worth_w: float64[classes], watts a served task is worth. Modifies nodes, node and gpus.
    """
    made = 0
    for at in range(len(draws)):
        i = int(draws[at, 0] * len(sequence))
        if at % 2 == 0 or node[i] == NOWHERE:
            made += move(nodes, tasks, sequence, worth_w, fill_w, smooth, heat_w, draws[at], i, node, gpus)
        else:
            made += swap(nodes, tasks, sequence, fill_w, smooth, heat_w, draws[at], i, node, gpus)
    return made


@step
def accepts(added_w: float, heat_w: float, luck: float) -> bool:
    return added_w <= 0.0 or luck < exp(-added_w / heat_w)


@step
def move(
    nodes: Any,
    tasks: Any,
    sequence: Any,
    worth_w: Any,
    fill_w: Any,
    smooth: float,
    heat_w: float,
    draws: Any,
    i: int,
    node: Any,
    gpus: Any,
) -> int:
    """Task `i` to a random node that has room, from where it is or from nowhere."""
    k = sequence[i]
    task = tasks[k]
    start = int(draws[1] * len(nodes))
    stride = 1 + int(draws[2] * (len(nodes) - 1))
    to = NOWHERE
    for at in range(TRIES):
        n = (start + at * stride) % len(nodes)
        if n != node[i] and fits(nodes[n], task) == FITS:
            to = n
            break
    if to == NOWHERE:
        return 0
    source = node[i]
    added = -worth_w[k] if source == NOWHERE else -energy_w(nodes[source], fill_w, smooth)
    added -= energy_w(nodes[to], fill_w, smooth)
    taken = best_gpus(nodes[to], task, fill_w)
    change(nodes[to], task, taken, 1)
    if source != NOWHERE:
        change(nodes[source], task, gpus[i], -1)
        added += energy_w(nodes[source], fill_w, smooth)
    added += energy_w(nodes[to], fill_w, smooth)
    if accepts(added, heat_w, draws[3]):
        node[i] = to
        gpus[i] = taken
        return 1
    change(nodes[to], task, taken, -1)
    if source != NOWHERE:
        change(nodes[source], task, gpus[i], 1)
    return 0


@step
def swap(
    nodes: Any,
    tasks: Any,
    sequence: Any,
    fill_w: Any,
    smooth: float,
    heat_w: float,
    draws: Any,
    i: int,
    node: Any,
    gpus: Any,
) -> int:
    """Task `i` and a random other one change nodes."""
    j = int(draws[1] * len(sequence))
    a, b = node[i], node[j]
    if b == NOWHERE or a == b or sequence[i] == sequence[j]:
        return 0
    one, other = tasks[sequence[i]], tasks[sequence[j]]
    added = -energy_w(nodes[a], fill_w, smooth) - energy_w(nodes[b], fill_w, smooth)
    change(nodes[a], one, gpus[i], -1)
    change(nodes[b], other, gpus[j], -1)
    if fits(nodes[a], other) == FITS and fits(nodes[b], one) == FITS:
        other_gpus = best_gpus(nodes[a], other, fill_w)
        one_gpus = best_gpus(nodes[b], one, fill_w)
        change(nodes[a], other, other_gpus, 1)
        change(nodes[b], one, one_gpus, 1)
        added += energy_w(nodes[a], fill_w, smooth) + energy_w(nodes[b], fill_w, smooth)
        if accepts(added, heat_w, draws[3]):
            node[i], gpus[i] = b, one_gpus
            node[j], gpus[j] = a, other_gpus
            return 1
        change(nodes[a], other, other_gpus, -1)
        change(nodes[b], one, one_gpus, -1)
    change(nodes[a], one, gpus[i], 1)
    change(nodes[b], other, gpus[j], 1)
    return 0


@kernel
def fill(nodes: Any, tasks: Any, sequence: Any, node: Any, gpus: Any) -> None:
    """Put every task that has a node there; modifies the (empty) nodes."""
    for i in range(len(sequence)):
        if node[i] != NOWHERE:
            change(nodes[node[i]], tasks[sequence[i]], gpus[i], 1)


@kernel
def power_mw(nodes: Any, gpu_draw_mw: Any) -> int:
    """The true power of all nodes."""
    total = 0
    for n in range(len(nodes)):
        total += unsettled_power_mw(nodes[n], gpu_draw_mw)
    return total


__all__ = ["DRAWS", "NOWHERE", "anneal", "fill", "follow_plan", "power_mw"]
