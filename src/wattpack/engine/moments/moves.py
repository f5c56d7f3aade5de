"""Moves of placed tasks during a run in time, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.state import State, change
from wattpack.engine.moments.events import delay_departures
from wattpack.engine.moments.extension import task_moves
from wattpack.engine.moments.record import RUNNING
from wattpack.engine.moments.run import MomentRun
from wattpack.engine.moments.sleep import after_releasing, place_there
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


@kernel
def move_running(state: State, plan: Plan, run: MomentRun, i: int, to: int, new: int) -> None:
    """Move running task `i` to GPUs `new` of node `to`, which must be free and awake. Nodes may sleep."""
    task = run.tasks[i]
    here: Any = (np.int64(task.task_class), np.int64(task.node), np.int64(task.gpus))
    place_there(state, plan, run, here[0], to, new)
    free = state.nodes[here[1]].gpu_free
    change(state, plan, here[0], here[1], here[2], -1)
    if run.sleep.on:
        after_releasing(state, run, here[1], free, run.now[0].clock_s)
    if run.busy.on:
        task_moves(run, i, here[1], to, run.now[0].clock_s)
    task.node, task.gpus = to, new


class Place(NamedTuple):
    """A running task goes to GPUs (bit set) of a node."""

    task: int
    node: int
    gpus: int


# Where running tasks shall go, one after another, at most as many as may be moved now.
Planner = Callable[[Engine, MomentRun], Sequence[Place]]


class MovesInTime:
    """Rounds of moves every `TimeOptions.move_every_s`. A moved task is paused, and leaves that much later."""

    def __init__(self, planner: Planner, pause_s: float = 0.0) -> None:
        self.planner, self.pause_s = planner, pause_s
        self.moves, self.paused_gpu_s = 0, 0.0

    def move(self, engine: Engine, run: MomentRun) -> None:
        """One round."""
        places = self.planner(engine, run)
        for place in places:
            move_running(engine.state, engine.plan, run, place.task, place.node, place.gpus)
        moved = np.array([place.task for place in places], dtype=np.int64)
        pause(run, moved, self.pause_s)
        self.moves += len(moved)
        requested = engine.state.tasks.gpu_request[run.tasks.task_class[moved]]
        self.paused_gpu_s += self.pause_s * float(requested.sum()) / 1000


def pause(run: MomentRun, moved: NDArray[np.int64], pause_s: float) -> None:
    """Moved tasks leave later, and there may be room again for any class."""
    run.words.no_room[:] = 0
    if pause_s > 0 and len(moved) > 0:
        np.add.at(run.tasks.end_s, moved, pause_s)
        delay_departures(run.events, moved, pause_s)
        if run.busy.on and not run.busy.learnt:
            np.add.at(run.busy.task_end_s, moved, pause_s)


class Rounds:
    """Moves after every `every` arrivals, at the time of the last of them; what they cost in the measured time.

    A moved task is paused for `pause_s` on its new node and leaves that much later.
    """

    def __init__(self, mover: Mover, every: int, pause_s: float = 0.0) -> None:
        self.mover, self.every, self.pause_s = mover, every, pause_s
        self.moves, self.lost_gpu_s = 0, 0.0

    def move(self, workload: Workload, run: MomentRun) -> None:
        """One round."""
        tasks = run.tasks
        moved = self.mover(np.flatnonzero(tasks.outcome == RUNNING), tasks.node, tasks.gpus)
        pause(run, moved, self.pause_s)
        if run.now[0].joined > run.measured_from:
            self.moves += len(moved)
            self.lost_gpu_s += self.pause_s * float(workload.gpu_request_milli()[moved].sum()) / 1000
