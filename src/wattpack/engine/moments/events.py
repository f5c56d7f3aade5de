"""The one queue of events of a run in time: a binary heap by (time, kind, number).

The kind orders events of the same time, the number orders those of the same kind. Only what is not in order from the
start is in the queue: arrivals, patience and the steps of a budget are lists in which the loop keeps its place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.moments.rows import EVENT, Event
from wattpack.jit import inner, kernel, step
from wattpack.model.records import RecordTable

# Kinds of events, in the order in which they happen at the same time.
DEPARTURE = 0  # the task of this number leaves
NODE_AWAKE = 1  # the wake of the node of this number ends
NODE_ASLEEP = 2  # its shutdown ends
IDLE_ENDS = 3  # it may have been empty for long enough to sleep


class Events(NamedTuple):
    """Events that are still to happen, as a heap in the first `size` rows."""

    rows: RecordTable[Event]
    size: NDArray[np.int64]  # [1]


def new_events(room: int) -> Events:
    """An empty queue for at most `room` events."""
    rows: Any = np.zeros(room, dtype=EVENT).view(np.recarray)
    return Events(rows, np.zeros(1, dtype=np.int64))


@inner
def earlier(a: Event, b: Event) -> bool:
    if a.time_s != b.time_s:
        return a.time_s < b.time_s
    if a.kind != b.kind:
        return a.kind < b.kind
    return a.number < b.number


@inner
def swap(a: Event, b: Event) -> None:
    time_s, kind, number = a.time_s, a.kind, a.number
    a.time_s, a.kind, a.number = b.time_s, b.kind, b.number
    b.time_s, b.kind, b.number = time_s, kind, number


@step
def push(events: Events, time_s: float, kind: int, number: int) -> None:
    """Add an event. There must be room for it."""
    at = events.size[0]
    event = events.rows[at]
    event.time_s, event.kind, event.number = time_s, kind, number
    events.size[0] += 1
    while at > 0 and earlier(events.rows[at], events.rows[(at - 1) // 2]):
        swap(events.rows[at], events.rows[(at - 1) // 2])
        at = (at - 1) // 2


@step
def sink(events: Events, at: int) -> None:
    """Restore the heap after the event in row `at` was put off."""
    while True:
        first = 2 * at + 1
        if first >= events.size[0]:
            return
        if first + 1 < events.size[0] and earlier(events.rows[first + 1], events.rows[first]):
            first += 1
        if not earlier(events.rows[first], events.rows[at]):
            return
        swap(events.rows[at], events.rows[first])
        at = first


@step
def is_due(events: Events, kind: int, now_s: float) -> bool:
    """Whether the next event is of this kind, and due."""
    return events.size[0] > 0 and events.rows[0].kind == kind and events.rows[0].time_s <= now_s


@step
def pop(events: Events) -> Any:
    """Remove the next event. Returns its number."""
    number = np.int64(events.rows[0].number)
    events.size[0] -= 1
    swap(events.rows[0], events.rows[events.size[0]])
    sink(events, 0)
    return number


@kernel
def delay_departures(events: Events, tasks: NDArray[np.int64], seconds: float) -> None:
    """Put off the departures of these tasks as far as they are in the queue; one that is listed twice, twice."""
    for i in range(len(tasks)):
        for at in range(events.size[0]):
            event = events.rows[at]
            if event.kind == DEPARTURE and event.number == tasks[i]:
                event.time_s += seconds
                sink(events, at)
                break
