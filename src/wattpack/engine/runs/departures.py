"""When placed tasks will leave: a heap by (time, task)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.jit import inner, kernel


class Departures(NamedTuple):
    """Tasks that are placed, as a heap by (time, task); `size` is int64[1]."""

    time_s: NDArray[np.float64]
    task: NDArray[np.int64]
    size: NDArray[np.int64]


def no_departures(tasks: int) -> Departures:
    """Room for so many."""
    return Departures(np.zeros(tasks + 1), np.zeros(tasks + 1, dtype=np.int64), np.zeros(1, dtype=np.int64))


@inner
def earlier(heap: Departures, a: int, b: int) -> bool:
    if heap.time_s[a] != heap.time_s[b]:
        return heap.time_s[a] < heap.time_s[b]
    return heap.task[a] < heap.task[b]


@inner
def swap(heap: Departures, a: int, b: int) -> None:
    time_s, task = heap.time_s[a], heap.task[a]
    heap.time_s[a], heap.task[a] = heap.time_s[b], heap.task[b]
    heap.time_s[b], heap.task[b] = time_s, task


@inner
def push(heap: Departures, time_s: float, task: int) -> None:
    at = heap.size[0]
    heap.time_s[at], heap.task[at] = time_s, task
    heap.size[0] += 1
    while at > 0 and earlier(heap, at, (at - 1) // 2):
        swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2


@inner
def sink(heap: Departures, at: int) -> None:
    """Let what is at `at` sink to its place, if it leaves later than what is below it."""
    while True:
        first = 2 * at + 1
        if first >= heap.size[0]:
            return
        if first + 1 < heap.size[0] and earlier(heap, first + 1, first):
            first += 1
        if not earlier(heap, first, at):
            return
        swap(heap, at, first)
        at = first


@inner
def pop(heap: Departures) -> int:
    """Take the first departure out; returns its task."""
    task = heap.task[0]
    heap.size[0] -= 1
    swap(heap, 0, heap.size[0])
    sink(heap, 0)
    return task


@kernel
def delay(heap: Departures, tasks: Any, seconds: float) -> None:
    """Let these tasks (int64[], all of them here) leave so much later; one that is named twice, twice as much."""
    for i in range(len(tasks)):
        at = 0
        while heap.task[at] != tasks[i]:
            at += 1
        heap.time_s[at] += seconds
        sink(heap, at)
