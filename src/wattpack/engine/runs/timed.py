"""The timed run: tasks arrive and leave; a task that fits nowhere is dropped. Means over time after a warm-up.

One loop takes events from one queue (events.py). Departures come before arrivals at the same time, so a task that
leaves makes room for one that arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.faults import NOWHERE, faulty
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.scores import Scores
from wattpack.engine.core.state import COLUMNS, State, release
from wattpack.engine.core.take import NO_WISH, take_task
from wattpack.engine.runs.events import ARRIVAL, DEPARTURE, MOVES, WINDOW_CLOSES, pop, push
from wattpack.engine.runs.moves import Rounds
from wattpack.engine.runs.steady import Steady, steady_of
from wattpack.engine.runs.timed_run import NUMBER, TAKEN_IN, TimedRun, new_timed_run
from wattpack.jit import inner, kernel
from wattpack.model.tasks import Workload

FINISHED = -1  # `run_events` returns it in place of a kind


@kernel
def run_events(state: State, plan: Plan, scores: Scores, run: TimedRun) -> int:
    """Take events from the queue until the last task is taken in: returns FINISHED, also after a fault.

    Returns the kind of an event that Python has to handle, with its number in `run.counts`; call it again afterwards.
    """
    while run.counts[TAKEN_IN] < len(run.sequence):
        now_s, kind, number = pop(run.events)
        pass_time(state, run, now_s)
        if kind == DEPARTURE:
            task_leaves(state, plan, run, number)
        elif kind == ARRIVAL:
            if task_arrives(state, plan, scores, run, number):
                break
        else:
            if kind == WINDOW_CLOSES:
                note_taken_in(run, number)
            run.counts[NUMBER] = number
            return kind
    return FINISHED


@inner
def pass_time(state: State, run: TimedRun, now_s: float) -> None:
    """Add the totals since the last event to the integrals."""
    passed_s = now_s - run.clock_s[0]
    for column in range(COLUMNS):
        run.integrals[column] += state.totals[column] * passed_s
    run.integrals[COLUMNS] += passed_s
    run.clock_s[0] = now_s


@inner
def note_taken_in(run: TimedRun, last: int) -> None:
    """The tasks up to `last` are taken in now. Restart measuring if that is too early; move tasks if it is time."""
    if last <= run.measured_from:
        for column in range(COLUMNS + 1):
            run.integrals[column] = 0.0
    before, after = run.counts[TAKEN_IN], last + 1
    run.counts[TAKEN_IN] = after
    every = run.move_every
    if every > 0 and after // every > before // every and after < len(run.sequence):
        push(run.events, run.clock_s[0], MOVES, last)


@inner
def task_leaves(state: State, plan: Plan, run: TimedRun, i: int) -> None:
    left: Any = (np.int64(run.sequence[i]), np.int64(run.node[i]), np.int64(run.gpus[i]))
    release(state, plan, left[0], left[1], left[2])


@inner
def task_arrives(state: State, plan: Plan, scores: Scores, run: TimedRun, i: int) -> bool:
    """Place task `i` or drop it; whether there was a fault."""
    note_taken_in(run, i)
    k: Any = np.int64(run.sequence[i])
    run.node[i], run.gpus[i] = take_task(state, plan, scores, k, run.luck[i], NO_WISH)
    if run.node[i] != NOWHERE:
        push(run.events, run.clock_s[0] + run.duration_s[i], DEPARTURE, i)
    return faulty(state, k, i)


def handle_events(
    engine: Engine,
    workload: Workload,
    run: TimedRun,
    handlers: Mapping[int, Callable[[int], None]],
    rounds: Rounds | None = None,
) -> None:
    """Let the run happen. `handlers`: for other kinds of events that Python handles, a function of their number."""
    while True:
        kind = int(run_events(engine.state, engine.plan, engine.scores, run))
        engine.stop_if_faulty(workload)
        if kind == FINISHED:
            return
        if kind == MOVES and rounds is not None:
            rounds.move(workload, run)
        else:
            handlers[kind](int(run.counts[NUMBER]))


def simulate_timed(
    engine: Engine,
    workload: Workload,
    arrival_s: NDArray[np.float64],
    duration_s: NDArray[np.float64],
    luck: NDArray[np.float64],
    measured_from: int,
    rounds: Rounds | None = None,
) -> tuple[Steady, NDArray[np.int32], NDArray[np.int32]]:
    """Run `workload` with these times (arrivals ascending) on `engine`; also the node and the GPUs of each task."""
    run = new_timed_run(workload, arrival_s, duration_s, luck, measured_from, rounds.every if rounds else 0)
    handle_events(engine, workload, run, {}, rounds)
    return steady_of(workload, run, rounds), run.node, run.gpus
