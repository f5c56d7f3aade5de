"""The record of a timed run under way: tasks, queue of events, clock and integrals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.faults import NOWHERE
from wattpack.engine.core.state import COLUMNS
from wattpack.engine.runs.events import ARRIVAL, Events, new_events
from wattpack.model.tasks import Workload

# Columns of `TimedRun.counts`.
TAKEN_IN = 0  # tasks that have been placed or dropped
NUMBER = 1  # of the event that `run_events` has returned


class TimedRun(NamedTuple):
    """A timed run: its tasks, what has become of them, the queue of events, and the means. Kernels change it."""

    sequence: NDArray[np.int32]  # [tasks] class of each task
    arrival_s: NDArray[np.float64]  # [tasks] ascending
    duration_s: NDArray[np.float64]  # [tasks]
    luck: NDArray[np.float64]  # [tasks, 2] for policies that draw
    node: NDArray[np.int32]  # [tasks] NOWHERE: dropped, or not taken in yet
    gpus: NDArray[np.int32]  # [tasks] bit set
    events: Events
    integrals: NDArray[np.float64]  # [COLUMNS + 1] of the totals over the measured time, and the measured seconds
    clock_s: NDArray[np.float64]  # [1] time of the last event
    counts: NDArray[np.int64]  # TAKEN_IN, NUMBER
    # Time is measured from the moment this task is taken in. If its window has later tasks too, all of them count: time
    # is then measured from the closing of the window before.
    measured_from: int
    move_every: int  # arrivals between two events MOVES; 0: there are none


def new_timed_run(
    workload: Workload,
    arrival_s: NDArray[np.float64],
    duration_s: NDArray[np.float64],
    luck: NDArray[np.float64],
    measured_from: int,
    move_every: int = 0,
) -> TimedRun:
    """A run that is about to start: the queue has the arrivals, and room for departures and one MOVES."""
    tasks = len(workload)
    return TimedRun(
        sequence=workload.sequence,
        arrival_s=arrival_s,
        duration_s=duration_s,
        luck=luck,
        node=np.full(tasks, NOWHERE, dtype=np.int32),
        gpus=np.zeros(tasks, dtype=np.int32),
        events=new_events(arrival_s, ARRIVAL, np.arange(tasks), tasks + 1),
        integrals=np.zeros(COLUMNS + 1),
        clock_s=arrival_s[:1].copy() if tasks > 0 else np.zeros(1),
        counts=np.zeros(2, dtype=np.int64),
        measured_from=measured_from,
        move_every=move_every,
    )
