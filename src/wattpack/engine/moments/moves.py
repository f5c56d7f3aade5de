"""Moves of placed tasks during a run in time, and what they cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.plan import Plan
from wattpack.engine.core.state import State, change
from wattpack.engine.moments.events import delay_departures
from wattpack.engine.moments.record import RUNNING
from wattpack.engine.moments.run import MomentRun
from wattpack.jit import kernel
from wattpack.model.tasks import Workload

# Moves some of the placed tasks, int64[]: changes the state of the engine, and `node` and `gpus` of the run. Returns
# the tasks that were moved, int64[moves]; a task that was moved twice is listed twice.
Mover = Callable[[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]], NDArray[np.int64]]


@kernel
def move_one(state: State, plan: Plan, k: int, source: int, old: int, to: int, new: int) -> None:
    """Move a task of class `k` from GPUs `old` of node `source` to GPUs `new` of node `to`, which must be free.

    Policies that keep a memory see two changed nodes, neither an arrival nor a departure.
    """
    change(state, plan, k, to, new, 1)
    change(state, plan, k, source, old, -1)


class Rounds:
    """Moves after every `every` arrivals, at the time of the last of them; what they cost in the measured time.

    A moved task is paused for `pause_s` on its new node and leaves that much later.
    """

    def __init__(self, mover: Mover, every: int, pause_s: float = 0.0) -> None:
        self.mover, self.every, self.pause_s = mover, every, pause_s
        self.moves, self.lost_gpu_s = 0, 0.0

    def move(self, workload: Workload, run: MomentRun) -> None:
        """One round."""
        tasks, words = run.tasks, run.words
        moved = self.mover(np.flatnonzero(tasks.outcome == RUNNING), tasks.node, tasks.gpus)
        words.no_room[:] = 0  # there may be room again for any class
        if self.pause_s > 0:
            np.add.at(tasks.end_s, moved, self.pause_s)
            delay_departures(run.events, moved, self.pause_s)
        if run.now[0].joined > run.measured_from:
            self.moves += len(moved)
            self.lost_gpu_s += self.pause_s * float(workload.gpu_request_milli()[moved].sum()) / 1000
