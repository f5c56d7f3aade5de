"""The steady state with batch windows: tasks are held until their window closes (batch.py), and placed at that time.

A task's duration counts from then on. Departures go on while tasks are held.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import NOWHERE, State
from wattpack.engine.moments.loop import WINDOW_CLOSES, run_to_end
from wattpack.engine.moments.moves import Rounds
from wattpack.engine.moments.queue import start
from wattpack.engine.moments.record import FAILED
from wattpack.engine.moments.run import HELD, MomentRun
from wattpack.engine.moments.steady import Steady, moves_of, new_steady_run, steady_of
from wattpack.engine.windows.batch import Batch, closings
from wattpack.engine.windows.place import place_window
from wattpack.jit import kernel
from wattpack.model.tasks import Workload


@kernel
def start_placed(state: State, run: MomentRun, begin: int, end: int) -> None:
    """The tasks `begin` to `end`, which have a node or NOWHERE, start now or have failed."""
    for i in range(begin, end):
        task = run.tasks[i]
        if task.node != NOWHERE:
            placed: Any = (np.int64(task.node), np.int64(task.gpus))
            start(state, run, i, placed[0], placed[1], run.now[0].clock_s)
        else:
            task.outcome = FAILED


def simulate_steady_windows(
    engine: Engine,
    workload: Workload,
    arrival_s: NDArray[np.float64],
    duration_s: NDArray[np.float64],
    luck: NDArray[np.float64],
    measured_from: int,
    batch: Batch,
    rounds: Rounds | None = None,
) -> tuple[Steady, NDArray[np.int32], NDArray[np.int32]]:
    """`simulate_steady` with windows. Moves follow the closing of the window with the last of `rounds.every` tasks."""
    windows = list(closings(arrival_s, batch))
    placed_s = np.zeros(len(workload))
    for window in windows:
        placed_s[window.begin : window.end] = window.moment_s
    run = new_steady_run(engine, workload, placed_s, duration_s, luck, measured_from, rounds)._replace(discipline=HELD)
    tasks, now = run.tasks, run.now[0]
    tasks.closes_window[[window.end - 1 for window in windows]] = 1
    if len(workload) > 0:
        now.clock_s = arrival_s[0]

    def close_window() -> None:
        begin, end = int(now.oldest), int(now.joined)
        window = slice(begin, end)
        placed = place_window(engine, workload, workload.sequence[window], luck[window], batch.milp_seconds)
        tasks.node[begin + placed.order], tasks.gpus[begin + placed.order] = placed.node, placed.gpus
        start_placed(engine.state, run, begin, end)
        now.oldest = end

    run_to_end(engine, workload, run, {WINDOW_CLOSES: close_window, **moves_of(rounds, workload, run)})
    steady = steady_of(workload, run, rounds)
    if len(held_s := (placed_s - arrival_s)[measured_from:]) > 0:
        steady = steady._replace(mean_wait_s=float(held_s.mean()), largest_wait_s=float(held_s.max()))
    return steady, run.tasks.node, run.tasks.gpus
