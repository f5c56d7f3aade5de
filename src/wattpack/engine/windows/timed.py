"""The timed run with batch windows: tasks are held until their window closes (batch.py), and placed at that time.

A task's duration counts from then on. Departures go on while tasks are held.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.faults import NOWHERE
from wattpack.engine.runs.events import DEPARTURE, WINDOW_CLOSES, new_events, push
from wattpack.engine.runs.moves import Rounds
from wattpack.engine.runs.steady import Steady, steady_of
from wattpack.engine.runs.timed import handle_events
from wattpack.engine.runs.timed_run import TimedRun, new_timed_run
from wattpack.engine.windows.batch import Batch, closings
from wattpack.engine.windows.place import place_window
from wattpack.jit import kernel
from wattpack.model.tasks import Workload


@kernel
def add_departures(run: TimedRun, begin: int, end: int) -> None:
    """Put the departures of the tasks `begin` to `end`, which were placed or dropped just now, into the queue."""
    for i in range(begin, end):
        if run.node[i] != NOWHERE:
            push(run.events, run.clock_s[0] + run.duration_s[i], DEPARTURE, i)


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
    """`simulate_timed` with windows. Moves follow the closing of the window with the last of `rounds.every` tasks."""
    windows = list(closings(arrival_s, batch))
    closing_s = np.array([window.moment_s for window in windows])
    last = np.array([window.end - 1 for window in windows], dtype=np.int64)
    begin_of = {window.end - 1: window.begin for window in windows}
    run = new_timed_run(workload, arrival_s, duration_s, luck, measured_from, rounds.every if rounds else 0)
    run = run._replace(events=new_events(closing_s, WINDOW_CLOSES, last, len(workload) + 1))

    def close_window(last_task: int) -> None:
        begin, end = begin_of[last_task], last_task + 1
        rows = slice(begin, end)
        placed = place_window(engine, workload, workload.sequence[rows], luck[rows], batch.milp_seconds)
        run.node[begin + placed.order], run.gpus[begin + placed.order] = placed.node, placed.gpus
        add_departures(run, begin, end)

    handle_events(engine, workload, run, {WINDOW_CLOSES: close_window}, rounds)
    steady = steady_of(workload, run, rounds)
    wait_s = np.repeat(closing_s, np.diff(last, prepend=-1)) - arrival_s
    if len(held_s := wait_s[measured_from:]) > 0:
        steady = steady._replace(mean_wait_s=float(held_s.mean()), largest_wait_s=float(held_s.max()))
    return steady, run.node, run.gpus
