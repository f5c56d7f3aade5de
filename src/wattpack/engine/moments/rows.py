"""Rows of the arrays of a run in time, and their types, so that mypy finds a misspelt field.

What belongs together lies together: a task is one line of the processor's cache.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

# A task, by its number, which is its place in the file: 64 bytes.
TASK_ROW = np.dtype(
    [
        ("task_class", "i4"),
        ("node", "i4"),  # NOWHERE before it is placed
        ("gpus", "i4"),  # bit set
        ("outcome", "i1"),  # of record.py
        ("slowed", "i1"),  # whether the speed of the GPU model decides how long it runs
        ("closes_window", "i1"),  # whether it is the last of its batch window
        ("", "i1"),
        ("joined_s", "f8"),  # when it joins the queue
        ("duration_s", "f8"),
        ("start_s", "f8"),
        ("end_s", "f8"),
        ("rank", "i8"),  # place in the order of joining
        (
            "next",
            "i8",
        ),  # the task behind it in its class (`backfill`), or of those that wait for its node; or NOBODY
    ]
)

# A class of tasks.
CLASS_ROW = np.dtype(
    [
        ("refused", "i8"),  # whether it fits no node of the empty datacenter
        ("first", "i8"),  # waiting task of the class, or NOBODY; only under `backfill`
        ("last", "i8"),
        ("twin", "i8"),  # the class of the same request and the other kind, where kinds have classes; else itself
    ]
)

# Classes as bits, in the places of `State.columns`.
WORD_ROW = np.dtype(
    [
        ("waiting", "i8"),  # classes that have a waiting task
        ("no_room", "i8"),  # classes that were seen to fit no node; a departure may change that
        ("tried", "i8"),  # classes that cannot start in this pass, as was seen
    ]
)

# An event of the queue.
EVENT = np.dtype([("time_s", "f8"), ("kind", "i4"), ("number", "i4")])

# The only row of `MomentRun.now`.
NOW = np.dtype(
    [
        ("clock_s", "f8"),  # up to which time is integrated
        ("measured_s", "f8"),  # that the integrals are over
        ("joined", "i8"),  # tasks that have joined the queue, or were refused: `order` up to here
        ("oldest", "i8"),  # no task of `order` before this place waits
        ("queued", "i8"),  # tasks that wait
        ("running", "i8"),  # tasks
        ("budget_steps", "i8"),  # that have begun
        ("marks", "i8"),  # that have passed
        ("moments", "i8"),  # so far
        ("moved_at", "i8"),  # tasks that had joined at the last look whether it is time for moves
        ("next_move_s", "f8"),  # time of the next round of moves; inf: there is none
        ("look_again", "i8"),  # 1: tasks were moved at this instant, so that others may start and nodes may sleep
        ("watched", "i8"),  # the run ends just before this task is placed; NOBODY: it does not
        ("reached", "i8"),  # 1: it has ended there
    ]
)

# A mark: a time at which energy and use are read. What holds from the mark on.
MARK = np.dtype(
    [
        ("time_s", "f8"),
        ("power_mw", "i8"),
        ("allocated_milli", "i8"),
        ("queued", "i8"),  # tasks
        ("running", "i8"),  # tasks
        ("busy", "i8"),  # nodes awake with a task; counted only where nodes sleep
        ("asleep", "i8"),  # nodes
        ("in_transition", "i8"),  # nodes that wake or shut down
    ]
)

# A moment that has passed, and the power from then on.
MOMENT = np.dtype([("time_s", "f8"), ("power_mw", "i8")])

# A change of a node's state of sleep, for those who ask (`TimeOptions.note_sleep`).
SLEEP_CHANGE = np.dtype([("time_s", "f8"), ("node", "i4"), ("state", "i4")])


class TaskRow(Protocol):
    task_class: int
    node: int
    gpus: int
    outcome: int
    slowed: int
    closes_window: int
    joined_s: float
    duration_s: float
    start_s: float
    end_s: float
    rank: int
    next: int


class ClassRow(Protocol):
    refused: int
    first: int
    last: int
    twin: int


class WordRow(Protocol):
    waiting: int
    no_room: int
    tried: int


class Event(Protocol):
    time_s: float
    kind: int
    number: int


class Now(Protocol):
    clock_s: float
    measured_s: float
    joined: int
    oldest: int
    queued: int
    running: int
    budget_steps: int
    marks: int
    moments: int
    moved_at: int
    next_move_s: float
    look_again: int
    watched: int
    reached: int


class Mark(Protocol):
    time_s: float
    power_mw: int
    allocated_milli: int
    queued: int
    running: int
    busy: int
    asleep: int
    in_transition: int


class Moment(Protocol):
    time_s: float
    power_mw: int


class SleepChange(Protocol):
    time_s: float
    node: int
    state: int  # from then on
