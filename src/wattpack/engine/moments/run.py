"""The record of a run in time under way: tasks, what is still to happen, who waits, integrals and series."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.state import COLUMNS, NOWHERE, State
from wattpack.engine.moments.busy_run import BusyRun, new_busy_run
from wattpack.engine.moments.events import Events, new_events
from wattpack.engine.moments.options import DISCIPLINES, TimeOptions
from wattpack.engine.moments.record import OUTCOMES, WAITING
from wattpack.engine.moments.rows import (
    CLASS_ROW,
    MARK,
    MOMENT,
    NOW,
    TASK_ROW,
    WORD_ROW,
    ClassRow,
    Mark,
    Moment,
    Now,
    TaskRow,
    WordRow,
)
from wattpack.engine.moments.sleep_run import SleepRun, new_sleep_run
from wattpack.model.records import RecordTable
from wattpack.model.timed_tasks import TimedTasks

NOBODY = -1  # in place of a task
PLACED = len(OUTCOMES)  # in place of an outcome: on a node that is not awake yet
HELD = len(DISCIPLINES)  # in place of a discipline: tasks are held until their batch window closes
ALL_MEASURED = -1

# Integrals: of the columns of `State.totals`, then of these.
ASLEEP_POWER = COLUMNS
TRANSITION_POWER = COLUMNS + 1
INTEGRALS = COLUMNS + 2


class MomentRun(NamedTuple):
    """Arrays only, so that kernels change it in place."""

    tasks: RecordTable[TaskRow]
    luck: NDArray[np.float64]  # [tasks, 2] for policies that draw
    order: NDArray[np.int64]  # [tasks] in which they join the queue
    classes: RecordTable[ClassRow]
    words: RecordTable[WordRow]
    class_of_bit: NDArray[np.int64]  # [words, 63]
    events: Events  # departures, ends of wakes and shutdowns
    sleep: SleepRun
    busy: BusyRun
    now: RecordTable[Now]  # [1]

    budget_s: NDArray[np.float64]  # [steps]
    budget_mw: NDArray[np.float64]  # [steps + 1]; before the first step the first holds
    speed: NDArray[np.float64]  # [models]
    # Counted in the totals, not drawn yet; subtract: nodes that are not awake, and the tasks placed on them.
    hidden: NDArray[np.int64]  # [COLUMNS]
    integrals: NDArray[np.float64]  # [INTEGRALS] over time: milliwatt-seconds, milli-GPU-seconds ...
    marks: RecordTable[Mark]
    integrals_at_mark: NDArray[np.float64]  # [marks, INTEGRALS]
    moments: RecordTable[Moment]

    discipline: int  # place in DISCIPLINES, or HELD
    patience_s: float
    reference_speed: float
    horizon_s: float
    # Integrals begin when this task is taken in. If its batch window has later tasks too, all of them count: the
    # integrals then begin at the closing of the window before.
    measured_from: int
    move_every: int  # arrivals between two rounds of moves; 0: there are none
    move_every_s: float  # time between two rounds of moves; inf: there are none


def refused_classes(state: State) -> NDArray[np.bool_]:
    """Whether each class fits no node. On the empty datacenter: its tasks are refused when they arrive."""
    of: Any = state.columns.of
    fits_somewhere = np.bitwise_or.reduce(state.fit, axis=0)
    refused: NDArray[np.bool_] = (fits_somewhere[of.word] & of.bit) == 0
    return refused


def new_moment_run(
    state: State,
    tasks: TimedTasks,
    joined_s: NDArray[np.float64],
    luck: NDArray[np.float64],
    options: TimeOptions,
    mark_s: NDArray[np.float64],
    horizon_s: float,
    begin_s: float = 0.0,
    measured_from: int = ALL_MEASURED,
    move_every: int = 0,
    extends: bool = False,
    twins: NDArray[np.int64] | None = None,
) -> MomentRun:
    """A run that is about to start on the empty datacenter of `state`. All times are on the clock of `joined_s`."""
    steps, speeds = options.budget_w, options.speeds
    budget_mw = np.array([inf]) if steps is None else np.append(steps.value[:1], steps.value) * 1000
    now = rows(1, NOW)
    now.clock_s, now.next_move_s, now.watched = begin_s, begin_s + options.move_every_s, NOBODY
    if steps is not None:  # those that began before the run are no events of it
        now.budget_steps = np.searchsorted(steps.time_s, begin_s, side="right")
    moments = len(tasks) * (3 if options.patience_s < inf else 2) + len(budget_mw) + 1
    if options.sleep is not None:  # a node sleeps after a task has left it, or at the start; that takes three events
        moments += 3 * (len(tasks) + len(state.nodes))
    if options.move_every_s < inf:
        moments += int((horizon_s - begin_s) / options.move_every_s) + 1
    marks = rows(len(mark_s), MARK)
    marks.time_s = mark_s
    timed, order = task_rows(state, tasks, joined_s, slowed=speeds is not None)
    sleep = new_sleep_run(state, options.sleep, len(tasks) if options.note_sleep else None)
    return MomentRun(
        tasks=timed,
        luck=_own(luck, np.float64),
        order=order,
        classes=class_rows(state, twins),
        words=rows(state.fit.shape[1], WORD_ROW),
        class_of_bit=class_of_bit(state),
        events=new_events(len(tasks) + len(state.nodes)),
        sleep=sleep,
        busy=new_busy_run(state, sleep, tasks, options, extends),
        now=now,
        budget_s=np.zeros(0) if steps is None else _own(steps.time_s, np.float64),
        budget_mw=budget_mw,
        speed=np.zeros(0) if speeds is None else _own(speeds.by_model, np.float64),
        hidden=np.zeros(COLUMNS, dtype=np.int64),
        integrals=np.zeros(INTEGRALS),
        marks=marks,
        integrals_at_mark=np.zeros((len(mark_s), INTEGRALS)),
        moments=rows(moments, MOMENT),
        discipline=DISCIPLINES.index(options.discipline),
        patience_s=float(options.patience_s),
        reference_speed=1.0 if speeds is None else float(speeds.reference),
        horizon_s=float(horizon_s),
        measured_from=measured_from,
        move_every=move_every,
        move_every_s=float(options.move_every_s),
    )


def rows(count: int, kind: Any) -> Any:
    return np.zeros(count, dtype=kind).view(np.recarray)


def task_rows(state: State, tasks: TimedTasks, joined_s: NDArray[np.float64], slowed: bool) -> tuple[Any, Any]:
    """The tasks, and the order in which they join the queue."""
    found = rows(len(tasks), TASK_ROW)
    found.task_class, found.duration_s, found.joined_s = tasks.workload.sequence, tasks.duration_s, joined_s
    found.node, found.outcome, found.next = NOWHERE, WAITING, NOBODY
    found.start_s = found.end_s = np.nan
    if slowed and len(tasks) > 0:
        found.slowed = tasks.batch & (state.tasks.num_gpu[tasks.workload.sequence] > 0)
    order = np.lexsort((np.arange(len(tasks)), joined_s)).astype(np.int64)
    found.rank[order] = np.arange(len(tasks))
    return found, order


def class_rows(state: State, twins: NDArray[np.int64] | None) -> Any:
    found = rows(len(state.tasks), CLASS_ROW)
    found.refused, found.first, found.last = refused_classes(state), NOBODY, NOBODY
    found.twin = np.arange(len(found)) if twins is None else twins
    return found


def class_of_bit(state: State) -> NDArray[np.int64]:
    of: Any = state.columns.of
    found = np.zeros((state.fit.shape[1], 63), dtype=np.int64)
    found[of.word, np.round(np.log2(of.bit)).astype(np.int64)] = np.arange(len(state.tasks))
    return found


def _own(values: Any, kind: Any) -> Any:
    """A copy of exactly this type, which may be written to: for any other type the kernel would be compiled again."""
    return np.array(values, dtype=kind, order="C")
