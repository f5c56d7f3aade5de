"""Departures come by time, then by task, also where some were delayed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wattpack.engine.runs.departures import Departures, delay, no_departures, pop, push
from wattpack.jit import kernel


@kernel
def push_all(heap: Departures, time_s: np.ndarray) -> None:
    for i in range(len(time_s)):
        push(heap, time_s[i], i)


@kernel
def pop_all(heap: Departures, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = pop(heap)


@given(st.lists(st.integers(0, 8), min_size=1, max_size=30), st.data())
def test_delayed_tasks_leave_later_and_the_others_as_they_would_have(times: list[int], data: st.DataObject) -> None:
    time_s = np.array(times, dtype=float)
    delayed = data.draw(st.lists(st.integers(0, len(times) - 1), max_size=6))
    heap, out = no_departures(len(times)), np.zeros(len(times), dtype=np.int64)
    push_all(heap, time_s)
    delay(heap, np.array(delayed, dtype=np.int64), 2.5)
    for i in delayed:  # one that is named twice is delayed twice
        time_s[i] += 2.5
    pop_all(heap, out)
    assert out.tolist() == sorted(range(len(times)), key=lambda i: (time_s[i], i))
