"""The unit of power that fits the size of a datacenter. Decided once per table or axis, so that rows compare."""

from __future__ import annotations

from collections.abc import Iterable


def power_unit(power_w: Iterable[float]) -> tuple[str, float]:
    """MW, kW or W, by the largest of these values, and its size in watts. NaN is ignored."""
    most = max((value for value in power_w if value == value), default=0.0)
    return ("MW", 1e6) if most >= 50_000 else ("kW", 1e3) if most >= 50 else ("W", 1.0)
