"""Units that fit the size of a number. That of power is decided once per table or axis, so that rows compare."""

from __future__ import annotations

from collections.abc import Iterable


def power_unit(power_w: Iterable[float]) -> tuple[str, float]:
    """MW, kW or W, by the largest of these values, and its size in watts. NaN is ignored."""
    most = max((value for value in power_w if value == value), default=0.0)
    return ("MW", 1e6) if most >= 50_000 else ("kW", 1e3) if most >= 50 else ("W", 1.0)


def as_time(value: float) -> str:
    """`0 s`, `5 min`, `2.5 h`."""
    if value >= 2 * 3600:
        return f"{value / 3600:.1f} h"
    return f"{value / 60:.0f} min" if value >= 120 else f"{value:.0f} s"
