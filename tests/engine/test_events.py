"""Events come by time, then by kind, then by number, also where departures were delayed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wattpack.engine.runs.events import (
    ARRIVAL,
    DEPARTURE,
    MOVES,
    WINDOW_CLOSES,
    Events,
    delay_departures,
    new_events,
    pop,
    push,
)
from wattpack.jit import kernel

KINDS = st.sampled_from([MOVES, DEPARTURE, ARRIVAL, WINDOW_CLOSES])


@kernel
def push_all(events: Events, time_s: np.ndarray, kind: np.ndarray, number: np.ndarray) -> None:
    for i in range(len(time_s)):
        push(events, time_s[i], kind[i], number[i])


@kernel
def pop_all(events: Events, time_s: np.ndarray, kind: np.ndarray, number: np.ndarray) -> None:
    for i in range(len(time_s)):
        time_s[i], kind[i], number[i] = pop(events)


def in_order(events: Events) -> list[tuple[float, int, int]]:
    """All events of the queue in the order in which they happen; the queue is empty afterwards."""
    size = int(events.size[0])
    time_s, kind, number = np.zeros(size), np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    pop_all(events, time_s, kind, number)
    assert events.size[0] == 0
    return list(zip(time_s.tolist(), kind.tolist(), number.tolist(), strict=True))


def queue_of(given: list[tuple[int, int, int]]) -> Events:
    """The arrivals in the queue from the start, the others added one by one."""
    arrivals = sorted((time, number) for time, kind, number in given if kind == ARRIVAL)
    others = [event for event in given if event[1] != ARRIVAL]
    times, numbers = (np.array([pair[i] for pair in arrivals], dtype=np.int64) for i in (0, 1))
    events = new_events(times.astype(float), ARRIVAL, numbers, len(others))
    time_s, kind, number = (np.array([event[i] for event in others], dtype=np.int64) for i in (0, 1, 2))
    push_all(events, time_s.astype(float), kind, number)
    return events


@given(st.lists(st.tuples(st.integers(0, 5), KINDS, st.integers(0, 9)), max_size=40))
def test_events_come_by_time_then_kind_then_number(events: list[tuple[int, int, int]]) -> None:
    assert in_order(queue_of(events)) == sorted(events)


def test_what_leaves_makes_room_for_what_arrives_at_the_same_time() -> None:
    assert MOVES < DEPARTURE < ARRIVAL < WINDOW_CLOSES


@given(st.lists(st.integers(0, 8), min_size=1, max_size=30), st.data())
def test_delayed_tasks_leave_later_and_the_others_as_they_would_have(times: list[int], data: st.DataObject) -> None:
    time_s = np.array(times, dtype=float)
    delayed = data.draw(st.lists(st.integers(0, len(times) - 1), max_size=6))
    # an arrival of the same number is another event and stays where it is
    events = queue_of([(time, kind, i) for i, time in enumerate(times) for kind in (DEPARTURE, ARRIVAL)])
    delay_departures(events, np.array(delayed, dtype=np.int64), 2.5)
    expected = [(float(time), ARRIVAL, i) for i, time in enumerate(times)]
    for i in delayed:  # one that is listed twice is delayed twice
        time_s[i] += 2.5
    expected += [(float(time), DEPARTURE, i) for i, time in enumerate(time_s)]
    assert in_order(events) == sorted(expected)
