"""The one queue of events of a timed run: a binary heap by (time, kind, number).

The kind orders events of the same time, the number orders those of the same kind. A new kind of event is a constant
here, and a function and a line in the loop of timed.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.jit import inner, kernel

# Kinds of events, in the order in which they happen at the same time. The number of an event is a task.
MOVES = 0  # placed tasks are moved, right after the task that was the last to be taken in: before all other events
DEPARTURE = 1  # the task leaves; before arrivals, for which it makes room
ARRIVAL = 2  # the task arrives and is placed, or dropped
WINDOW_CLOSES = 3  # the tasks of a batch window are placed; the number is its last task


class Events(NamedTuple):
    """Events that are still to happen, as a heap in the first `size` rows."""

    time_s: NDArray[np.float64]
    kind: NDArray[np.int64]
    number: NDArray[np.int64]
    size: NDArray[np.int64]  # [1]


def new_events(time_s: NDArray[np.float64], kind: int, number: NDArray[np.int64], more: int) -> Events:
    """A queue of these events, all of one kind and ascending by (time, number), with room for `more` of them."""
    room, size = len(time_s) + more, len(time_s)
    events = Events(
        np.zeros(room), np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64), np.array([size], dtype=np.int64)
    )
    events.time_s[:size], events.kind[:size], events.number[:size] = time_s, kind, number  # ascending: a heap already
    return events


@inner
def earlier(events: Events, a: int, b: int) -> bool:
    if events.time_s[a] != events.time_s[b]:
        return events.time_s[a] < events.time_s[b]
    if events.kind[a] != events.kind[b]:
        return events.kind[a] < events.kind[b]
    return events.number[a] < events.number[b]


@inner
def swap(events: Events, a: int, b: int) -> None:
    time_s, kind, number = events.time_s[a], events.kind[a], events.number[a]
    events.time_s[a], events.kind[a], events.number[a] = events.time_s[b], events.kind[b], events.number[b]
    events.time_s[b], events.kind[b], events.number[b] = time_s, kind, number


@inner
def push(events: Events, time_s: float, kind: int, number: int) -> None:
    """Add an event. There must be room for it."""
    at = events.size[0]
    events.time_s[at], events.kind[at], events.number[at] = time_s, kind, number
    events.size[0] += 1
    while at > 0 and earlier(events, at, (at - 1) // 2):
        swap(events, at, (at - 1) // 2)
        at = (at - 1) // 2


@inner
def sink(events: Events, at: int) -> None:
    """Restore the heap after the event in row `at` was put off."""
    while True:
        first = 2 * at + 1
        if first >= events.size[0]:
            return
        if first + 1 < events.size[0] and earlier(events, first + 1, first):
            first += 1
        if not earlier(events, first, at):
            return
        swap(events, at, first)
        at = first


@inner
def pop(events: Events) -> tuple[float, int, int]:
    """Remove the next event: its time, kind and number."""
    time_s, kind, number = events.time_s[0], events.kind[0], events.number[0]
    events.size[0] -= 1
    swap(events, 0, events.size[0])
    sink(events, 0)
    return time_s, kind, number


@kernel
def delay_departures(events: Events, tasks: NDArray[np.int64], seconds: float) -> None:
    """Put off the departures of these tasks, all of which are in the queue; one that is listed twice, twice."""
    for i in range(len(tasks)):
        at = 0
        while events.kind[at] != DEPARTURE or events.number[at] != tasks[i]:
            at += 1
        events.time_s[at] += seconds
        sink(events, at)
