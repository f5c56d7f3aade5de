"""Batch windows: how the tasks of one window are placed together; batch.py says when a window closes.

A window is placed in several ways, each on the real state and taken back again (`release` is the exact inverse of
`place`); the best one is kept:

    in order     as they came: what happens without windows
    large first  most GPU first, then most vCPU
    shuffled     in ORDERS random orders, or fewer if some are equal; the same ones for all windows of a size
    assigned     each task to another node, such that the sum of the policy's scores is largest (linear assignment);
                 it spreads, but it sees all tasks at once
    recombined   only with a time limit for it: a small MILP (milp.py) over sets of tasks that share a node, those of
                 the ways above and others; kept only if it is better than all of them

Best: most GPU placed, then fewest tasks refused, then least power with fragmentation at FRAGMENTATION_W a GPU; of
equals the first of the list. But for the safety limit of the MILP there is no limit in seconds, which would make runs
differ between machines: the number of ways is fixed, a window has a largest size, and of the nodes only those are
assigned that could be part of a best assignment.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.combine import combine_nodes
from wattpack.engine.core.decide import decide_among
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.failures import failure_reason
from wattpack.engine.core.faults import KIND, NO_FAULT, faulty
from wattpack.engine.core.node_cost import has_room
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import (
    ALLOCATED,
    BASE_POWER,
    COLUMNS,
    CPU_POWER,
    FAILED,
    FRAGMENTATION,
    GPU_POWER,
    MICRO,
    NOWHERE,
    State,
    release,
)
from wattpack.engine.core.take import NO_WISH, take_decided, take_task
from wattpack.engine.runs.arrivals import take_in_order
from wattpack.engine.windows.milp import solve_window
from wattpack.jit import kernel
from wattpack.model.power import total_power
from wattpack.model.tasks import Workload

ORDERS = 32  # with 8 half to three quarters of the gain (default, the mix, windows of 16); a run takes 2 s, not 0.05
FRAGMENTATION_W = 200.0  # price in watts of a free GPU that the next task cannot use; `ocs` has the same for a GPU


@kernel
def window_scores(state: State, plan: Plan, scores: Scores, sequence: Any, luck: Any, every: Any, out: Any) -> None:
    """The policy's scores of every node for each task: float64[tasks, nodes], -inf where it does not fit.

    every: bool[nodes], all true.
    """
    scratch = scores.scratch
    for i in range(len(sequence)):
        k: Any = np.int64(sequence[i])
        decide_among(state, plan, scores, k, luck[i, 0], every)
        if state.fault[KIND] != NO_FAULT:
            return
        combine_nodes(state, plan, scores, k, luck[i, 0], scratch.mask, scratch.taking_part[0])
        for n in range(len(every)):
            out[i, n] = scratch.total[n] if scratch.mask[n] >= 0 else -np.inf


@kernel
def take_back(
    state: State, plan: Plan, window: Any, order: Any, node: Any, gpus: Any, totals: Any, memory: Any
) -> None:
    """Undo a window: release its tasks, latest first, and restore totals and memory."""
    for back in range(len(order)):
        j = len(order) - 1 - back
        if node[j] != NOWHERE:
            task: Any = (np.int64(window[order[j]]), np.int64(node[j]), np.int64(gpus[j]))
            release(state, plan, task[0], task[1], task[2])
    for column in range(COLUMNS):
        state.totals[column] = totals[column]
    for i in range(len(memory)):
        state.memory[i] = memory[i]


class Ways(NamedTuple):
    """Ways to place a window: `order` int64[ways, tasks], its tasks in the order of the columns that are filled."""

    order: NDArray[np.int64]
    node: NDArray[np.int32]  # [ways, tasks], as in a Run
    gpus: NDArray[np.int32]
    reason: NDArray[np.uint8]
    totals: NDArray[np.int64]  # [ways, COLUMNS] after the window
    series: NDArray[np.int64]  # [tasks, COLUMNS] of the way that is kept


def new_ways(order: NDArray[np.int64]) -> Ways:
    ways, tasks = order.shape
    return Ways(
        order,
        np.full((ways, tasks), NOWHERE, dtype=np.int32),
        np.zeros((ways, tasks), dtype=np.int32),
        np.zeros((ways, tasks), dtype=np.uint8),
        np.zeros((ways, COLUMNS), dtype=np.int64),
        np.zeros((tasks, COLUMNS), dtype=np.int64),
    )


@kernel
def try_ways(
    state: State, plan: Plan, scores: Scores, window: Any, luck: Any, wish: Any, ways: Ways, start: Any, memory: Any
) -> None:
    """Place the window in every way and take it back again; fills `ways`.

    wish: int64[ways, tasks], nodes that hold the tasks, -1: wherever the policy likes. start, memory: totals and memory
    before the window.
    """
    for way in range(len(ways.order)):
        for j in range(len(window)):
            i = ways.order[way, j]
            k: Any = np.int64(window[i])
            wished: Any = np.int64(wish[way, j])
            n, picked = take_task(state, plan, scores, k, luck[i], wished)
            if faulty(state, k, i):
                return
            ways.node[way, j], ways.gpus[way, j] = n, picked
            if n == NOWHERE:
                ways.reason[way, j] = failure_reason(state, scores, k)
        for column in range(COLUMNS):
            ways.totals[way, column] = state.totals[column]
        take_back(state, plan, window, ways.order[way], ways.node[way], ways.gpus[way], start, memory)


@kernel
def place_again(state: State, plan: Plan, sequence: Any, node: Any, gpus: Any, series: Any) -> None:
    """Place a window as it was tried; series int64[tasks, COLUMNS]: the totals after each task."""
    for i in range(len(sequence)):
        task: Any = (np.int64(sequence[i]), np.int64(node[i]), np.int64(gpus[i]))
        take_decided(state, plan, task[0], task[1], task[2])
        for column in range(COLUMNS):
            series[i, column] = state.totals[column]


@kernel
def place_wished(
    state: State, plan: Plan, scores: Scores, window: Any, luck: Any, order: Any, node: Any, gpus: Any, reason: Any
) -> None:
    """Place the tasks of a window in this order, each on its node and GPUs if it has room there by then; else, and
    where no node is wished, wherever the policy likes.

    node, gpus: int32[tasks], the wishes, by order; what became of them is written there.
    """
    for j in range(len(order)):
        i = order[j]
        k: Any = np.int64(window[i])
        n: Any = np.int64(node[j])
        picked: Any = np.int64(gpus[j])
        if n != NOWHERE and has_room(state.nodes[n], state.tasks[k], picked):
            take_decided(state, plan, k, n, picked)
            continue
        n, picked = take_task(state, plan, scores, k, luck[i], NO_WISH)
        if faulty(state, k, i):
            return
        node[j], gpus[j] = n, picked
        if n == NOWHERE:
            reason[j] = failure_reason(state, scores, k)


class Placed(NamedTuple):
    """A window as it was placed: `order` are the tasks of the window in the order of the other columns."""

    order: NDArray[np.int64]
    node: NDArray[np.int32]
    gpus: NDArray[np.int32]
    reason: NDArray[np.uint8]
    series: NDArray[np.int64]
    milp: bool = False  # whether it is the MILP's way


def assign(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Nodes by task such that the sum of `table`[tasks, nodes] is largest, each node once; -1 for a task without one.

    With T tasks, each needs only its T best nodes: the other tasks occupy at most T - 1 of them.
    """
    from scipy.optimize import linear_sum_assignment  # 0.2 s: only where windows are asked for

    tasks, nodes = table.shape
    best = min(tasks, nodes)
    order = np.argsort(-table, axis=1, kind="stable")[:, :best]  # equals in node order
    columns = np.unique(order)
    small = table[:, columns]
    fits = np.isfinite(small)
    if not fits.any():
        return np.full(tasks, NOWHERE, dtype=np.int64)
    # Leaving a task unassigned costs more than any score difference. Of equal sums, that with the first nodes wins.
    spread = float(small[fits].max() - small[fits].min()) + 1
    cost = np.where(fits, -small, spread * (tasks + 1) - small[fits].min())
    cost = cost + np.arange(len(columns)) * (1e-9 * spread)
    rows, chosen = linear_sum_assignment(cost)
    found = np.full(tasks, NOWHERE, dtype=np.int64)
    found[rows] = np.where(fits[rows, chosen], columns[chosen], NOWHERE)
    return found


@cache
def orders_to_try(tasks: int) -> NDArray[np.int64]:
    """The orders of all ways, int64[ways, tasks]: as they came, a row to fill in, the shuffled ones, a row to fill in.

    An order that occurs twice, or that of arrival, would give the same placements again: small windows have few orders.
    """
    rng, in_order = np.random.default_rng(tasks), tuple(range(tasks))
    drawn = dict.fromkeys(tuple(rng.permutation(tasks).tolist()) for _ in range(ORDERS))
    drawn.pop(in_order, None)
    return np.array([in_order, in_order, *drawn, in_order], dtype=np.int64)


def large_first(workload: Workload, window: NDArray[np.int32]) -> NDArray[np.int64]:
    sizes = [(-c.num_gpu * c.gpu_milli, -c.cpu_milli) for c in (workload.classes[k] for k in window.tolist())]
    return np.array(sorted(range(len(sizes)), key=lambda i: (sizes[i], i)), dtype=np.int64)


def rank(more: NDArray[np.int64]) -> tuple[float, ...]:
    """How well a window was placed, from what it added to the totals; the least is best."""
    return ranks(more[None, :])[0]


def ranks(more: NDArray[np.int64]) -> list[tuple[float, ...]]:
    """`rank` of each row. All at once: one by one this took a third of a window's time on a small cluster."""
    watts = total_power(more[:, CPU_POWER], more[:, GPU_POWER], more[:, BASE_POWER]) / 1000
    fragmented_gpus = more[:, FRAGMENTATION:].sum(axis=1) / MICRO / 1000
    cost_w = watts + FRAGMENTATION_W * fragmented_gpus
    return list(zip((-more[:, ALLOCATED]).tolist(), more[:, FAILED].tolist(), cost_w.tolist(), strict=True))


def place_window(
    engine: Engine,
    workload: Workload,
    window: NDArray[np.int32],
    luck: NDArray[np.float64],
    milp_seconds: float = 0.0,
) -> Placed:
    """Place the tasks of `window` (classes, in order of arrival) in the best of the ways tried."""
    state, plan, scores, tasks = engine.state, engine.plan, engine.scores, len(window)
    if tasks == 1:
        alone = new_ways(np.zeros((1, 1), dtype=np.int64))
        series = np.zeros((1, COLUMNS), dtype=np.int64)
        take_in_order(state, plan, scores, window, luck, alone.node[0], alone.gpus[0], alone.reason[0], series)
        engine.stop_if_faulty()
        return Placed(alone.order[0], alone.node[0], alone.gpus[0], alone.reason[0], series)
    start, memory = state.totals[:COLUMNS].copy(), state.memory.copy()
    ways = new_ways(orders_to_try(tasks).copy())
    ways.order[1] = large_first(workload, window)
    wishes = np.full((len(ways.order), tasks), NOWHERE, dtype=np.int64)
    table = np.empty((tasks, len(state.nodes)))
    window_scores(state, plan, scores, window, luck, np.ones(table.shape[1], dtype=np.bool_), table)
    engine.stop_if_faulty()
    wish = assign(table)
    # The last way: tasks without a node come last, so that they cannot take the node of another task.
    ways.order[-1] = np.argsort(wish == NOWHERE, kind="stable")
    wishes[-1] = wish[ways.order[-1]]
    try_ways(state, plan, scores, window, luck, wishes, ways, start, memory)
    engine.stop_if_faulty()
    ranked = ranks(ways.totals - start)
    best = ranked.index(min(ranked))  # the first of equals
    placed = Placed(ways.order[best], ways.node[best], ways.gpus[best], ways.reason[best], ways.series)
    if milp_seconds > 0:
        placed = recombined(engine, window, luck, ways, milp_seconds, start, memory, ranked[best]) or placed
    place_again(state, plan, window[placed.order], placed.node, placed.gpus, placed.series)
    return placed


def recombined(
    engine: Engine,
    window: NDArray[np.int32],
    luck: NDArray[np.float64],
    ways: Ways,
    seconds: float,
    start: NDArray[np.int64],
    memory: NDArray[np.float64],
    least: tuple[float, ...],
) -> Placed | None:
    """The window as the MILP wants it, tried step by step and taken back again; None if it is not better."""
    wish = solve_window(engine.state, window, ways.order, ways.node, ways.gpus, FRAGMENTATION_W, seconds)
    if wish is None:
        return None
    state, plan, totals = engine.state, engine.plan, np.zeros(COLUMNS, dtype=np.int64)
    reason = np.zeros(len(window), dtype=np.uint8)
    place_wished(state, plan, engine.scores, window, luck, wish.order, wish.node, wish.gpus, reason)
    engine.stop_if_faulty()
    totals[:] = state.totals[:COLUMNS]
    take_back(state, plan, window, wish.order, wish.node, wish.gpus, start, memory)
    if rank(totals - start) >= least:
        return None
    return Placed(wish.order, wish.node, wish.gpus, reason, ways.series, milp=True)
