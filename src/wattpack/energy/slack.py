"""Waiting for clean or cheap hours: when tasks with slack join the queue. Decided once, on arrival.

A task of duration d that arrives at a with slack s joins at the time t in [a, a + s] with the least mean signal over
[t, t + d], the earliest of equals. Candidates: a, and every time stamp of the signal in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.model.durations import DAY_S, seconds_of
from wattpack.model.steps import Steps
from wattpack.model.timed_tasks import TimedTasks

PERFECT = "perfect"  # the signal itself
YESTERDAY = "yesterday"  # the value 24 h before; on the first day of the signal its value on arrival
FORECASTS = (PERFECT, YESTERDAY)
ALL_TASKS = "*"

# Means this close, as a part of the largest value, are equal: the same steps added in another order differ by some
# 1e-13, and a constant signal must not make anybody wait.
EQUAL = 1e-9
AT_ONCE = 50_000  # candidates at a time: with a million, the arrays leave the cache and it takes twice as long
MAX_CANDIDATES = 1_000_000_000  # some 130 ns each

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def joined_s(tasks: TimedTasks, signal: Steps, forecast: str = PERFECT) -> Floats:
    """By task: when it joins the queue, on the clock of `arrival_s`; its arrival where it has no slack.

    `signal` in seconds from the first arrival. After its last time stamp the last value holds. The mean over a duration
    of 0 is the value at t; a task that never ends has the same mean for every t, so it joins on arrival.
    """
    if forecast not in FORECASTS:
        raise UserError(f"forecast {forecast!r}, expected one of {', '.join(FORECASTS)}")
    joined = tasks.arrival_s.copy()
    arrival_s = tasks.arrival_s - tasks.first_s
    first = np.searchsorted(signal.time_s, arrival_s, side="right")
    after = np.searchsorted(signal.time_s, arrival_s + tasks.slack_s, side="right")
    may_wait = np.flatnonzero((after > first) & np.isfinite(tasks.duration_s))
    counts = (after - first)[may_wait] + 1
    if counts.sum() > MAX_CANDIDATES:
        raise UserError(
            f"slack of {len(may_wait):,} tasks: {counts.sum():,} time stamps to compare, expected at most "
            f"{MAX_CANDIDATES:,}: less slack or a coarser signal"
        )
    integral = Integral(signal)
    for chunk in _chunks(counts):
        chosen = may_wait[chunk]
        found = _best(integral, arrival_s[chosen], tasks.duration_s[chosen], first[chosen], counts[chunk], forecast)
        later = found >= 0  # a place in the signal; -1 is the arrival itself
        joined[chosen[later]] = signal.time_s[found[later]] + tasks.first_s
    return joined


class Integral:
    """The integral of a signal at any time, as a sum of two doubles: a difference of two stays exact to the last digits
    also where the integral over months is large and the time between is short."""

    def __init__(self, signal: Steps) -> None:
        self.time_s, self.value = signal.time_s, signal.value
        areas = self.value[:-1].astype(np.longdouble) * np.diff(self.time_s)
        total = np.concatenate([np.zeros(1, dtype=np.longdouble), np.cumsum(areas)])
        self.high = total.astype(np.float64)
        self.low = (total - self.high).astype(np.float64)

    def place(self, time_s: Floats) -> Places:
        return np.maximum(np.searchsorted(self.time_s, time_s, side="right") - 1, 0)

    def at(self, time_s: Floats) -> Floats:
        """The value of the signal."""
        return self.value[self.place(time_s)]

    def between(self, from_s: Floats, to_s: Floats, place: Places | None = None) -> Floats:
        """The integral from one time to another; `place` of `from_s`, if it is known."""
        a, b = self.place(from_s) if place is None else place, self.place(to_s)
        whole = (self.high[b] - self.high[a]) + (self.low[b] - self.low[a])
        ends = self.value[b] * (to_s - self.time_s[b]) - self.value[a] * (from_s - self.time_s[a])
        return whole + ends


def _best(
    integral: Integral, arrival_s: Floats, duration_s: Floats, first: Places, counts: Places, forecast: str
) -> Places:
    """The place in the signal of the best time stamp of each task; -1 for the arrival itself."""
    begin = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = np.arange(int(counts.sum())) + np.repeat(first - begin - 1, counts)
    start_s = integral.time_s[np.maximum(place, 0)]
    start_s[begin] = arrival_s  # the place is that of the value which holds then
    duration = np.repeat(duration_s, counts)
    if forecast == PERFECT:
        means = _mean(integral, start_s, duration, np.maximum(place, 0))
    else:
        means = _mean_of_yesterday(integral, start_s, duration, np.repeat(integral.at(arrival_s), counts))
    limit = np.minimum.reduceat(means, begin) + EQUAL * float(np.abs(integral.value).max())
    equal = np.flatnonzero(means <= np.repeat(limit, counts))  # at least one for each task, in order of time
    chosen = equal[np.searchsorted(equal, begin)]
    return np.where(chosen == begin, -1, place[chosen])


def _mean(integral: Integral, start_s: Floats, duration_s: Floats, place: Places) -> Floats:
    means = integral.between(start_s, start_s + duration_s, place) / np.where(duration_s > 0, duration_s, 1.0)
    return np.where(duration_s > 0, means, integral.value[place])


def _mean_of_yesterday(integral: Integral, start_s: Floats, duration_s: Floats, on_arrival: Floats) -> Floats:
    """The mean over [t, t + d] of the value 24 h before; of the value on arrival where the signal has none."""
    end_s, begin_s = start_s + duration_s, float(integral.time_s[0])
    first_day_s = np.maximum(np.minimum(end_s, begin_s + DAY_S) - start_s, 0.0)
    later = integral.between(np.maximum(start_s - DAY_S, begin_s), np.maximum(end_s - DAY_S, begin_s))
    means = (on_arrival * first_day_s + later) / np.where(duration_s > 0, duration_s, 1.0)
    at_start = np.where(start_s < begin_s + DAY_S, on_arrival, integral.at(start_s - DAY_S))
    return np.where(duration_s > 0, means, at_start)


def _chunks(counts: Places) -> Iterable[slice]:
    """Runs of tasks with some `AT_ONCE` candidates each, at least one task."""
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        before = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, before + AT_ONCE, side="right")), begin + 1)
        yield slice(begin, end)
        begin = end


def slack_by_class(texts: Iterable[str]) -> dict[str, float]:
    """Seconds by class of service, from texts like `BE=6h`; a lone `6h` is for all tasks."""
    found: dict[str, float] = {}
    for text in texts:
        for part in text.split(","):
            name, equals, duration = part.rpartition("=")
            name = name.strip() if equals else ALL_TASKS
            if name == "" or name in found:
                raise UserError(f"slack {part.strip()!r}, expected CLASS=DURATION like BE=6h, each class once")
            found[name] = seconds_of(duration, "slack")
    return found


def with_slack(tasks: TimedTasks, by_class: Mapping[str, float]) -> TimedTasks:
    """The same tasks; those of the named classes of service have this slack, others keep theirs. `*`: all tasks."""
    if not by_class:
        return tasks
    classes = np.array(tasks.service_class, dtype=object)
    slack_s = tasks.slack_s.copy()
    if ALL_TASKS in by_class:
        slack_s[:] = by_class[ALL_TASKS]
    for name, seconds in by_class.items():
        if name == ALL_TASKS:
            continue
        chosen = classes == name
        if len(tasks) and not chosen.any():
            known = ", ".join(sorted(set(tasks.service_class) - {""})) or "none is named"
            raise UserError(
                f"slack {name}: no task of that class of service in {tasks.workload.name}, expected {known}"
            )
        slack_s[chosen] = seconds
    return replace(tasks, slack_s=slack_s)
