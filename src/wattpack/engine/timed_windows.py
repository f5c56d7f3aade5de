"""The timed run with batch windows: tasks are held until `batch` of them have come, and placed at that moment.

A task's duration counts from then; what leaves while tasks are held leaves as ever.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.arrivals import Engine
from wattpack.engine.decide import NOWHERE
from wattpack.engine.plan import Plan
from wattpack.engine.state import COLUMNS, State, release
from wattpack.engine.timed import Departures, Steady, pass_time, pop, push, steady_of
from wattpack.engine.windows import check_batch, place_window
from wattpack.jit import kernel
from wattpack.model.tasks import Workload


@kernel
def let_leave(
    state: State,
    plan: Plan,
    heap: Departures,
    since_s: float,
    until_s: float,
    measured: bool,
    sequence: Any,
    node: Any,
    gpus: Any,
    integrals: Any,
) -> None:
    """Everything that leaves from `since_s` to `until_s`, and the time that passes."""
    now = since_s
    while heap.size[0] > 0 and heap.time_s[0] <= until_s:
        if measured:
            pass_time(state.totals, now, heap.time_s[0], integrals)
        now = heap.time_s[0]
        gone = pop(heap)
        left: Any = (np.int64(sequence[gone]), np.int64(node[gone]), np.int64(gpus[gone]))
        release(state, plan, left[0], left[1], left[2])
    if measured:
        pass_time(state.totals, now, until_s, integrals)


@kernel
def let_stay(heap: Departures, now: float, first: int, duration_s: Any, node: Any) -> None:
    """Note when the tasks of a window, `first` and those after it, will leave."""
    for i in range(len(node)):
        if node[i] != NOWHERE:
            push(heap, now + duration_s[i], first + i)


def simulate_timed_windows(
    engine: Engine,
    workload: Workload,
    arrival_s: NDArray[np.float64],
    duration_s: NDArray[np.float64],
    luck: NDArray[np.float64],
    measured_from: int,
    batch: int,
) -> tuple[Steady, NDArray[np.int32], NDArray[np.int32]]:
    """`simulate_timed` with windows of `batch` tasks; the last window of a run may be smaller."""
    check_batch(batch)
    tasks = len(workload)
    node, gpus = np.full(tasks, NOWHERE, dtype=np.int32), np.zeros(tasks, dtype=np.int32)
    heap = Departures(np.zeros(tasks + 1), np.zeros(tasks + 1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    integrals, state, plan = np.zeros(COLUMNS + 1), engine.state, engine.plan
    sequence, now = workload.sequence, float(arrival_s[0]) if tasks > 0 else 0.0
    for at in range(0, tasks, batch):
        end = min(at + batch, tasks)
        until, measured = float(arrival_s[end - 1]), end - 1 > measured_from
        let_leave(state, plan, heap, now, until, measured, sequence, node, gpus, integrals)
        now = until
        placed = place_window(engine, workload, sequence[at:end], luck[at:end])
        node[at + placed.order], gpus[at + placed.order] = placed.node, placed.gpus
        let_stay(heap, now, at, duration_s[at:end], node[at:end])
    return steady_of(workload, node, integrals, measured_from), node, gpus
