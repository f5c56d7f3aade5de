"""A small MILP for one batch window: which sets of its tasks (sets.py) go to which kinds of nodes.

    least      sum over sets s of cost_w[s] * x[s]  +  sum over classes k of refused_w[k] * r[k]
    such that  every task is in one set or refused:     sum of x[s] * tasks of class k in s, + r[k] = tasks of class k
               no more nodes of a kind than there are:  sum of x[s] over the sets on kind g <= nodes of kind g

x and r are whole numbers. The costs are exact, and the sets of every way that was tried are included. HiGHS stops after
NODE_LIMIT nodes of its tree, which gives the same answer on every machine. The limit in seconds is for safety: a run
that reaches it depends on the machine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.state import NOWHERE, State
from wattpack.engine.windows.sets import Found, Kinds, Sets, kinds_of
from wattpack.model.power import GPU_MILLI

MOST_SETS = 200  # with all of them (1,500) HiGHS took 1.5 s a window of 16, with 200 0.05 s and mostly the same answer
NODE_LIMIT = 20  # nearly always 1 is enough
GAP_W = 2.0  # HiGHS may stop at an answer within this of the best one
# Price of a refusal: more than any better place saves, and small enough for the solver's tolerances.
REFUSED_TASK_W = 5e3
REFUSED_GPU_W = 1e5
TOLERANCE_W = 1e-3


class Wish(NamedTuple):
    """Where the tasks of a window should go; `order` lists the tasks, the other columns follow it."""

    order: NDArray[np.int64]
    node: NDArray[np.int32]  # NOWHERE: no wish
    gpus: NDArray[np.int32]


def solve_window(
    state: State, window: NDArray[np.int32], order: Any, node: Any, gpus: Any, worth_w: float, seconds: float
) -> Wish | None:
    """The MILP's best placement; None if it finds none in time. order, node, gpus: columns of Ways. Changes nothing.

    worth_w: watts that one GPU is worth if the target workload can use it.
    """
    kinds, counts = kinds_of(state.nodes), np.bincount(window)
    asked, tasks = np.flatnonzero(counts), state.tasks
    classes = asked[np.lexsort((asked, -tasks.cpu_milli[asked], -tasks.gpu_request[asked]))]
    demand = counts[classes]
    sets = Sets(state, kinds, classes, demand.tolist(), worth_w)
    place = {int(k): i for i, k in enumerate(classes)}
    ways = sets.add_of_ways(place, window, order, node, gpus)
    sets.grow()
    refused_w = REFUSED_TASK_W + REFUSED_GPU_W * tasks.gpu_request[classes] / GPU_MILLI
    best = min(ways, key=lambda way: sets.cost_of_way_w(way, refused_w))
    reached = [sets.at[key] for key in best.sets]
    reached_w = sets.cost_of_way_w(best, refused_w)
    times = solve(sets.found, kinds, demand, refused_w, reached, reached_w, seconds)
    if times is None:
        return None
    return wish_of(sets.found, times, kinds, [np.flatnonzero(window == k).tolist() for k in classes], len(window))


def solve(
    found: Found,
    kinds: Kinds,
    demand: NDArray[np.int64],
    refused_w: NDArray[np.float64],
    reached: list[int],
    reached_w: float,
    seconds: float,
) -> NDArray[np.int64] | None:
    """How often each set is taken; None without an answer. reached: the sets of the best tried way, and their cost.

    The LP relaxation is solved first. A set whose reduced cost exceeds the gap between the LP and `reached_w` is in no
    better answer. Of the other sets, the MOST_SETS with the least reduced cost are kept, and those of the best way, so
    that an answer exists.
    """
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp  # 0.3 s to import
    from scipy.sparse import csc_array

    sets, classes = len(found.kind), len(demand)
    used, row = np.unique(np.array(found.kind, dtype=np.int64), return_inverse=True)
    rows = np.array([i for tasks in found.tasks for i in tasks], dtype=np.int64)
    columns = np.repeat(np.arange(sets), [len(tasks) for tasks in found.tasks])
    rows, columns = np.append(rows, np.arange(classes)), np.append(columns, sets + np.arange(classes))
    covers = csc_array((np.ones(len(rows)), (rows, columns)), shape=(classes, sets + classes))
    takes = csc_array((np.ones(sets), (row, np.arange(sets))), shape=(len(used), sets + classes))
    cost_w = np.append(found.cost_w, refused_w)
    room = np.array([len(kinds.nodes[g]) for g in used], dtype=np.float64)
    relaxed = linprog(cost_w, takes, room, covers, demand, method="highs")
    if relaxed.status != 0:
        return None
    reduced_w = cost_w - covers.T @ relaxed.eqlin.marginals - takes.T @ relaxed.ineqlin.marginals
    likely = np.argsort(reduced_w[:sets], kind="stable")[:MOST_SETS]
    likely = likely[reduced_w[likely] <= reached_w - relaxed.fun + TOLERANCE_W]
    kept = np.unique(np.concatenate([likely, reached, sets + np.arange(classes)]).astype(np.int64))
    solved = milp(
        cost_w[kept],
        integrality=np.ones(len(kept)),
        bounds=Bounds(0, np.append(room[row], demand)[kept]),
        constraints=(
            LinearConstraint(covers[:, kept], demand, demand),
            LinearConstraint(takes[:, kept], -np.inf, room),
        ),
        options={"node_limit": NODE_LIMIT, "time_limit": seconds, "mip_rel_gap": GAP_W / max(GAP_W, abs(relaxed.fun))},
    )
    if solved.x is None:
        return None
    whole = np.zeros(sets + classes)
    whole[kept] = np.rint(solved.x)
    if (covers @ whole != demand).any() or (takes @ whole > room).any():  # beyond the solver's tolerances
        return None
    return whole[:sets].astype(np.int64)


def wish_of(found: Found, times: NDArray[np.int64], kinds: Kinds, waiting: list[list[int]], tasks: int) -> Wish:
    """The chosen sets as placements: nodes in node order, tasks of a class (`waiting`) in order of arrival."""
    free = [iter(nodes.tolist()) for nodes in kinds.nodes]
    rows: list[tuple[int, int, int]] = []
    for s in np.flatnonzero(times).tolist():
        for _ in range(int(times[s])):
            n = next(free[found.kind[s]])
            rows += [(waiting[i].pop(0), n, bits) for i, bits in zip(found.tasks[s], found.gpus[s], strict=True)]
    rows += [(task, NOWHERE, 0) for task in sorted(task for left in waiting for task in left)]
    order, node, gpus = zip(*rows, strict=True)
    assert len(rows) == tasks
    return Wish(np.array(order, dtype=np.int64), np.array(node, dtype=np.int32), np.array(gpus, dtype=np.int32))
