"""The record of a timed run under way: tasks, what is still to happen, who waits, integrals and series."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.state import NOWHERE, State
from wattpack.engine.moments.options import DISCIPLINES, TimeOptions
from wattpack.engine.moments.record import WAITING
from wattpack.engine.runs.events import DEPARTURE, Events, new_events
from wattpack.model.timed_tasks import TimedTasks

NOBODY = -1  # in place of a task

# Columns of `MomentRun.counts`.
JOINED = 0  # tasks that have joined the queue, or were refused: `order` up to here
OLDEST = 1  # no task of `order` before this place waits
BUDGET_STEPS = 2  # steps of the budget that have begun
QUEUED = 3  # tasks that wait
RUNNING_TASKS = 4
MARKS = 5  # marks that have passed
MOMENTS = 6  # moments so far
COUNTS = 7

# Columns of `MomentRun.integrals`, in milliwatt-seconds and milli-GPU-seconds.
GPU_ENERGY = 0
CPU_ENERGY = 1
BASE_ENERGY = 2
GPU_TIME = 3
INTEGRALS = 4

# Columns of `MomentRun.at_mark`.
POWER_MW = 0
ALLOCATED_MILLI = 1
QUEUED_TASKS = 2
RUNNING_NOW = 3
AT_MARK = 4


class MomentRun(NamedTuple):
    """Arrays only, so that kernels change it in place. Tasks by their number, which is their place in the file."""

    sequence: NDArray[np.int32]  # [tasks] class of each task
    joined_s: NDArray[np.float64]
    duration_s: NDArray[np.float64]
    slowed: NDArray[np.bool_]  # [tasks] whether the speed of the GPU model decides how long it runs
    luck: NDArray[np.float64]  # [tasks, 2] for policies that draw
    order: NDArray[np.int64]  # [tasks] in which they join the queue
    rank: NDArray[np.int64]  # [tasks] place in `order`
    refused: NDArray[np.bool_]  # [classes] that fit no node of the empty datacenter

    node: NDArray[np.int32]
    gpus: NDArray[np.int32]  # bit set
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    outcome: NDArray[np.int8]

    departures: Events
    # The waiting tasks of each class, as a list. Only under `backfill`.
    first: NDArray[np.int64]  # [classes]
    last: NDArray[np.int64]  # [classes]
    next: NDArray[np.int64]  # [tasks]
    # Classes as bits, in the places of `State.columns`.
    waiting: NDArray[np.int64]  # [words] classes that have a waiting task
    no_room: NDArray[np.int64]  # [words] classes that were seen to fit no node; a departure may change that
    tried: NDArray[np.int64]  # [words] classes that cannot start in this pass, as was seen
    class_of_bit: NDArray[np.int64]  # [words, 63]

    budget_s: NDArray[np.float64]  # [steps]
    budget_mw: NDArray[np.float64]  # [steps + 1]; before the first step the first holds
    speed: NDArray[np.float64]  # [models]
    integrals: NDArray[np.float64]  # [INTEGRALS]
    clock_s: NDArray[np.float64]  # [1] up to which time is integrated
    counts: NDArray[np.int64]  # [COUNTS]
    mark_s: NDArray[np.float64]  # [marks]
    integrals_at_mark: NDArray[np.float64]  # [marks, INTEGRALS]
    at_mark: NDArray[np.int64]  # [marks, AT_MARK]
    moment_s: NDArray[np.float64]
    moment_mw: NDArray[np.int64]

    discipline: int  # place in DISCIPLINES
    patience_s: float
    reference_speed: float
    horizon_s: float


def refused_classes(state: State) -> NDArray[np.bool_]:
    """Whether each class fits no node. On the empty datacenter: its tasks are refused when they arrive."""
    of: Any = state.columns.of
    fits_somewhere = np.bitwise_or.reduce(state.fit, axis=0)
    refused: NDArray[np.bool_] = (fits_somewhere[of.word] & of.bit) == 0
    return refused


def _own(values: Any, kind: Any) -> Any:
    """A copy of exactly this type, which may be written to: for any other type the kernel would be compiled again."""
    return np.array(values, dtype=kind, order="C")


def new_moment_run(
    state: State,
    tasks: TimedTasks,
    joined_s: NDArray[np.float64],
    luck: NDArray[np.float64],
    options: TimeOptions,
    mark_s: NDArray[np.float64],
    horizon_s: float,
) -> MomentRun:
    """A run that is about to start on the empty datacenter of `state`. Times from the first arrival."""
    count, classes, words = len(tasks), len(state.tasks), state.fit.shape[1]
    order = np.lexsort((np.arange(count), joined_s)).astype(np.int64)
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    of: Any = state.columns.of
    class_of_bit = np.zeros((words, 63), dtype=np.int64)
    class_of_bit[of.word, np.round(np.log2(of.bit)).astype(np.int64)] = np.arange(classes)
    steps, speeds = options.budget_w, options.speeds
    budget_mw = np.array([inf]) if steps is None else np.append(steps.value[:1], steps.value) * 1000
    by_class = state.tasks.num_gpu[tasks.workload.sequence] > 0 if count else np.zeros(0, dtype=bool)
    most_moments = 2 * count + (count if options.patience_s < inf else 0) + len(budget_mw) + 1
    counts = np.zeros(COUNTS, dtype=np.int64)
    if steps is not None:  # those that began before the run are no events of it
        counts[BUDGET_STEPS] = np.searchsorted(steps.time_s, 0.0, side="right")
    return MomentRun(
        sequence=_own(tasks.workload.sequence, np.int32),
        joined_s=_own(joined_s, np.float64),
        duration_s=_own(tasks.duration_s, np.float64),
        slowed=tasks.batch & by_class if speeds is not None else np.zeros(count, dtype=bool),
        luck=_own(luck, np.float64),
        order=order,
        rank=rank,
        refused=refused_classes(state),
        node=np.full(count, NOWHERE, dtype=np.int32),
        gpus=np.zeros(count, dtype=np.int32),
        start_s=np.full(count, np.nan),
        end_s=np.full(count, np.nan),
        outcome=np.full(count, WAITING, dtype=np.int8),
        departures=new_events(np.zeros(0), DEPARTURE, np.zeros(0, dtype=np.int64), count),
        first=np.full(classes, NOBODY, dtype=np.int64),
        last=np.full(classes, NOBODY, dtype=np.int64),
        next=np.full(count, NOBODY, dtype=np.int64),
        waiting=np.zeros(words, dtype=np.int64),
        no_room=np.zeros(words, dtype=np.int64),
        tried=np.zeros(words, dtype=np.int64),
        class_of_bit=class_of_bit,
        budget_s=np.zeros(0) if steps is None else _own(steps.time_s, np.float64),
        budget_mw=budget_mw,
        speed=np.zeros(0) if speeds is None else _own(speeds.by_model, np.float64),
        integrals=np.zeros(INTEGRALS),
        clock_s=np.zeros(1),
        counts=counts,
        mark_s=mark_s,
        integrals_at_mark=np.zeros((len(mark_s), INTEGRALS)),
        at_mark=np.zeros((len(mark_s), AT_MARK), dtype=np.int64),
        moment_s=np.zeros(most_moments),
        moment_mw=np.zeros(most_moments, dtype=np.int64),
        discipline=DISCIPLINES.index(options.discipline),
        patience_s=options.patience_s,
        reference_speed=1.0 if speeds is None else speeds.reference,
        horizon_s=horizon_s,
    )
