"""When a task with slack joins the queue: the candidate with the least mean signal over its duration."""

from __future__ import annotations

from fractions import Fraction
from math import inf

from time_reference.inputs import Steps, TimedTask, integral, value_at

DAY_S = 86_400.0
PERFECT, YESTERDAY = "perfect", "yesterday"


def joins_s(timed: TimedTask, signal: Steps, forecast: str = PERFECT) -> float:
    """Candidates: the arrival and every time stamp of the signal in [a, a + s]; the earliest of equals.

    Means are equal within 1e-9 of the signal's largest value: float sums cannot tell more (docs/decisions/017).

    Arrival and signal on one clock, whose 0 is the start of the run.
    """
    a = timed.arrival_s
    if timed.slack_s == 0 or timed.duration_s == inf:
        return a
    seen = signal if forecast == PERFECT else yesterday(signal, a)
    candidates = [a, *(stamp_s for stamp_s, _ in signal if a < stamp_s <= a + timed.slack_s)]
    means = [mean(seen, t, timed.duration_s) for t in candidates]
    close = Fraction(max(abs(value) for _, value in signal)) / 10**9
    return next(t for t, found in zip(candidates, means, strict=True) if found <= min(means) + close)


def mean(signal: Steps, from_s: float, duration_s: float) -> Fraction:
    if duration_s == 0:
        return Fraction(value_at(signal, from_s))
    # Exact: a rounded end would make one of two equal means the smaller one.
    return integral(signal, Fraction(from_s), Fraction(from_s) + Fraction(duration_s)) / Fraction(duration_s)


def yesterday(signal: Steps, a: float) -> Steps:
    """The value 24 h before; where there is none, in the first day of the signal, the signal's value at the arrival."""
    later = [(stamp_s + DAY_S, value) for stamp_s, value in signal]
    return [(-inf, value_at(signal, a)), *later]
