"""The timed run with batch windows: tasks are held until their window closes (batch.py), and placed at that moment.

A task's duration counts from then; what leaves while tasks are held leaves as ever.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.decide import NOWHERE
from wattpack.engine.core.state import COLUMNS
from wattpack.engine.runs.arrivals import Engine
from wattpack.engine.runs.departures import Departures, no_departures, push
from wattpack.engine.runs.timed import Rounds, Steady, let_leave, steady_of
from wattpack.engine.windows.batch import Batch, closings
from wattpack.engine.windows.place import place_window
from wattpack.jit import kernel
from wattpack.model.tasks import Workload


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
    batch: Batch,
    rounds: Rounds | None = None,
) -> tuple[Steady, NDArray[np.int32], NDArray[np.int32]]:
    """`simulate_timed` with windows. Tasks are moved when the window closes in which so many have come."""
    tasks = len(workload)
    node, gpus = np.full(tasks, NOWHERE, dtype=np.int32), np.zeros(tasks, dtype=np.int32)
    heap, integrals, wait_s = no_departures(tasks), np.zeros(COLUMNS + 1), np.zeros(tasks)
    state, plan, sequence = engine.state, engine.plan, workload.sequence
    now = float(arrival_s[0]) if tasks > 0 else 0.0
    for begin, end, moment_s in closings(arrival_s, batch):
        measured = end - 1 > measured_from
        let_leave(state, plan, heap, now, moment_s, measured, sequence, node, gpus, integrals)
        now, rows = moment_s, slice(begin, end)
        placed = place_window(engine, workload, sequence[rows], luck[rows], batch.milp_seconds)
        node[begin + placed.order], gpus[begin + placed.order] = placed.node, placed.gpus
        let_stay(heap, now, begin, duration_s[rows], node[rows])
        wait_s[rows] = now - arrival_s[rows]
        if rounds is not None and end // rounds.every > begin // rounds.every and end < tasks:
            rounds.move(heap, workload, node, gpus, end > measured_from)
    steady = steady_of(workload, node, integrals, measured_from, rounds)
    if len(held := wait_s[measured_from:]) > 0:
        steady = steady._replace(mean_wait_s=float(held.mean()), largest_wait_s=float(held.max()))
    return steady, node, gpus
