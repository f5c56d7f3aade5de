"""Power caps of GPU models: the watts of a capped GPU, and how fast it still is.

A cap is a share of the maximum draw. Work slows down less than power falls: the table is a summary of public sweeps,
linear between its rows; a user's own table replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from wattpack.errors import UserError
from wattpack.model.power import GpuPower, PowerProfile

SPEED_UNDER_CAP = ((0.5, 0.80), (0.6, 0.90), (0.7, 0.95), (0.8, 0.98), (0.9, 0.995), (1.0, 1.0))  # (cap, speed)


def check_cap(model: str, cap: float) -> float:
    if not 0 < cap <= 1:
        raise UserError(f"cap of {model}: {cap:g}, expected a share of its maximum draw above 0 and at most 1")
    return cap


def speed_under_cap(cap: float, table: Sequence[tuple[float, float]] = SPEED_UNDER_CAP) -> float:
    """Speed as a share of that without a cap. Below the first row of the table it is that of the first row."""
    rows = sorted(table)
    if cap <= rows[0][0]:
        return rows[0][1]
    for (low, at_low), (high, at_high) in pairwise(rows):
        if cap == high:
            return at_high
        if cap < high:
            return at_low + (at_high - at_low) * (cap - low) / (high - low)
    return rows[-1][1]


def capped_gpu(gpu: GpuPower, cap: float) -> GpuPower:
    """Full draw is max(idle, cap * maximum); the curve runs between context and that."""
    full_w = max(gpu.idle_w, cap * gpu.max_w)
    context_w = min(gpu.context_w, full_w)
    span_w = gpu.max_w - gpu.context_w
    shrunk = (full_w - context_w) / span_w if span_w > 0 else 0.0
    points = tuple((share, context_w + (watts - gpu.context_w) * shrunk) for share, watts in gpu.points)
    return replace(gpu, max_w=full_w, context_w=context_w, points=points)


def capped(profile: PowerProfile, caps: Mapping[str, float]) -> PowerProfile:
    """The profile with these models capped. A model without watts is an error."""
    if not caps:
        return profile
    limited = {model: capped_gpu(profile.gpu(model), check_cap(model, cap)) for model, cap in caps.items()}
    text = ", ".join(f"{model}={cap:g}" for model, cap in sorted(caps.items()))
    return replace(profile, name=f"{profile.name} capped {text}", gpus={**profile.gpus, **limited})
