"""Statistics of how long tasks waited, and how long after their arrival they were done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.moments.record import DONE, RUNNING, TimeRecord

SHORTEST_RUN_S = 10.0  # tasks shorter than this would have a huge slowdown for a wait that nobody minds


@dataclass(frozen=True)
class Waiting:
    """Of tasks that started, still wait or gave up. None if there are none.

    Bounded slowdown, of tasks that started: max(1, (wait + run) / max(run, 10 s)).
    """

    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    max_s: float | None
    slowdown_mean: float | None
    slowdown_p95: float | None


def waiting_of(record: TimeRecord, here: NDArray[np.bool_]) -> Waiting:
    """Of the tasks that `here` marks. A wait is counted from joining the queue."""
    wait_s = record.wait_s[here]
    started = (record.outcome[here] == DONE) | (record.outcome[here] == RUNNING)
    slowdown = bounded_slowdown(wait_s[started], (record.end_s - record.start_s)[here][started])
    waited_s = wait_s[~np.isnan(wait_s)]
    p50, p95, p99 = (_percentile(waited_s, percent) for percent in (50, 95, 99))
    longest_s = float(waited_s.max()) if len(waited_s) else None
    return Waiting(_mean(waited_s), p50, p95, p99, longest_s, _mean(slowdown), _percentile(slowdown, 95))


@dataclass(frozen=True)
class Completion:
    """Of finished tasks. None if there are none."""

    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    makespan_s: float | None  # from the first arrival to the last end


def completion_of(end_s: NDArray[np.float64], arrival_s: NDArray[np.float64]) -> Completion:
    """Of these tasks, all finished; times from the first arrival of the run. Slack is part of a completion time."""
    took_s = end_s - arrival_s
    p50, p95, p99 = (_percentile(took_s, percent) for percent in (50, 95, 99))
    return Completion(_mean(took_s), p50, p95, p99, float(end_s.max()) if len(end_s) else None)


def bounded_slowdown(wait_s: NDArray[np.float64], run_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """By task; 1 for one that never ends."""
    endless = np.isinf(run_s)
    run = np.where(endless, 0.0, run_s)
    found = np.maximum(1.0, (wait_s + run) / np.maximum(run, SHORTEST_RUN_S))
    return np.where(endless, 1.0, found)


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def _percentile(values: NDArray[np.float64], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if len(values) else None
