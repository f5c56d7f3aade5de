"""Events come by time, then by kind, then by number, also where departures were delayed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wattpack.engine.moments.events import DEPARTURE, Events, delay_departures, new_events, pop, push
from wattpack.jit import kernel

KINDS = st.integers(DEPARTURE, DEPARTURE + 3)


@kernel
def push_all(events: Events, time_s: np.ndarray, kind: np.ndarray, number: np.ndarray) -> None:
    for i in range(len(time_s)):
        push(events, time_s[i], kind[i], number[i])


@kernel
def pop_all(events: Events, time_s: np.ndarray, kind: np.ndarray, number: np.ndarray) -> None:
    for i in range(len(time_s)):
        time_s[i], kind[i] = events.rows[0].time_s, events.rows[0].kind
        number[i] = pop(events)


def in_order(events: Events) -> list[tuple[float, int, int]]:
    """All events of the queue in the order in which they happen; the queue is empty afterwards."""
    size = int(events.size[0])
    time_s, kind, number = np.zeros(size), np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    pop_all(events, time_s, kind, number)
    assert events.size[0] == 0
    return list(zip(time_s.tolist(), kind.tolist(), number.tolist(), strict=True))


def queue_of(given: list[tuple[int, int, int]]) -> Events:
    events = new_events(len(given))
    time_s, kind, number = (np.array([event[i] for event in given], dtype=np.int64) for i in (0, 1, 2))
    push_all(events, time_s.astype(float), kind, number)
    return events


@given(st.lists(st.tuples(st.integers(0, 5), KINDS, st.integers(0, 9)), max_size=40))
def test_events_come_by_time_then_kind_then_number(events: list[tuple[int, int, int]]) -> None:
    assert in_order(queue_of(events)) == sorted(events)


@given(st.lists(st.integers(0, 8), min_size=1, max_size=30), st.data())
def test_delayed_tasks_leave_later_and_the_others_as_they_would_have(times: list[int], data: st.DataObject) -> None:
    time_s = np.array(times, dtype=float)
    delayed = data.draw(st.lists(st.integers(0, len(times) + 2), max_size=6))  # some are not in the queue
    # another event of the same number stays where it is
    other = DEPARTURE + 1
    events = queue_of([(time, kind, i) for i, time in enumerate(times) for kind in (DEPARTURE, other)])
    delay_departures(events, np.array(delayed, dtype=np.int64), 2.5)
    expected = [(float(time), other, i) for i, time in enumerate(times)]
    for i in delayed:  # one that is listed twice is delayed twice
        if i < len(times):
            time_s[i] += 2.5
    expected += [(float(time), DEPARTURE, i) for i, time in enumerate(time_s)]
    assert in_order(events) == sorted(expected)
