"""Idle, context and slope of a model from samples of a fleet: a robust line, since samples have outliers.

A GPU that nothing holds draws `idle_w`; one in use draws context_w + (max_w - context_w) * share. Outliers (a GPU that
is throttled, a sample across a change of load) do not count: weights fall to 0 at 4.685 deviations (Tukey).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wattpack.calibrate.fleet import Samples

LEAST_SAMPLES = 30
LEAST_RANGE = 0.2  # of shares between the 5th and 95th percentile, for a slope
UNUSED = 0.005  # a share below is none: utilisation is a mean of whole percents
TOO_LARGE = 1.05  # a share above is no share
TUKEY = 4.685  # 95 % as efficient as least squares where there are no outliers
BINS = 20
NEARLY = 0.9


class FleetFit(NamedTuple):
    """None: the samples do not tell it; `why` says what is missing."""

    gpus: int
    samples: int
    idle_w: float | None
    context_w: float | None
    max_w: float | None
    error_w: float | None  # root mean square over what is no outlier
    outliers: float  # share of the samples
    most_share: float  # 95th percentile
    why: str


def fit_model(samples: Samples) -> FleetFit:
    """Samples by node mix free GPUs and those in use: they tell no context."""
    by_node = samples.by_node
    good = (samples.share >= 0) & (samples.share <= TOO_LARGE) & (samples.watts > 0)
    share, watts, held = np.minimum(samples.share[good], 1.0), samples.watts[good], samples.held[good]
    count = len(share)
    unused = share < UNUSED
    on_line = np.ones(count, dtype=bool) if by_node else ~unused | (held == 1)
    most = float(np.percentile(share[on_line], 95)) if on_line.any() else 0.0
    idle_w = context_w = max_w = error_w = None
    outliers, why = 0.0, ""
    if on_line.sum() < LEAST_SAMPLES:
        why = f"{int(on_line.sum())} samples of GPUs in use, expected {LEAST_SAMPLES} or more"
    elif most - float(np.percentile(share[on_line], 5)) < LEAST_RANGE:
        why = f"all shares in use are near {most:.2f}, expected a range of {LEAST_RANGE} or more"
    else:
        base, slope, error_w, outliers = robust_line(share[on_line], watts[on_line])
        if slope <= 0:
            why, error_w = "watts do not rise with the share, expected a share that the watts follow", None
        elif by_node:
            idle_w, max_w = max(base, 0.0), base + slope
        else:
            context_w, max_w = max(base, 0.0), base + slope
    if not by_node:
        idle_w = _idle(watts[unused], held[unused], context_w)
        if idle_w is not None and context_w is not None:
            context_w = max(context_w, idle_w)
    return FleetFit(samples.gpus, count, idle_w, context_w, max_w, error_w, outliers, most, why)


def _idle(watts: np.ndarray, held: np.ndarray, context_w: float | None) -> float | None:
    """Of the GPUs that nothing holds.

    Where that is not known, of the samples that are nearer to it than to the context.
    """
    free, unknown = watts[held == 0], watts[held == -1]
    if len(free) == 0 and len(unknown) and context_w is not None:
        idle_w = float(np.percentile(unknown, 2))
        for _ in range(20):
            near = unknown[unknown < (idle_w + context_w) / 2]
            if len(near) == 0:
                break
            free, before, idle_w = near, idle_w, robust_mean(near)
            if idle_w == before:
                break
        if idle_w > NEARLY * context_w:  # they are all contexts
            return None
    elif len(free) == 0:
        free = unknown
    return robust_mean(free) if len(free) >= LEAST_SAMPLES else None


def robust_mean(values: np.ndarray) -> float:
    """Weighted as in `robust_line`, from the median on."""
    mean = float(np.median(values))
    for _ in range(50):
        weight = tukey_weight(values - mean)
        after = float(weight @ values / weight.sum())
        if abs(after - mean) < 1e-6 * abs(mean):
            return after
        mean = after
    return mean


def tukey_weight(off: np.ndarray) -> np.ndarray:
    scale = 1.4826 * float(np.median(np.abs(off))) or 1e-9
    return (1 - np.minimum(np.abs(off) / (TUKEY * scale), 1.0) ** 2) ** 2


def robust_line(share: np.ndarray, watts: np.ndarray) -> tuple[float, float, float, float]:
    """Watts at share 0, rise to share 1, root mean square error without outliers, share of outliers.

    Starts from the medians of the watts in bins of shares, which single outliers do not move.
    """
    edges = np.minimum((share * BINS).astype(int), BINS - 1)
    filled = [bin_ for bin_ in range(BINS) if (edges == bin_).any()]
    x = np.array([np.median(share[edges == bin_]) for bin_ in filled])
    y = np.array([np.median(watts[edges == bin_]) for bin_ in filled])
    base, slope = weighted_line(x, y, np.ones(len(x)))
    weight = np.ones(len(share))
    for _ in range(50):
        weight = tukey_weight(watts - base - slope * share)
        after = weighted_line(share, watts, weight)
        done = abs(after[0] - base) + abs(after[1] - slope) < 1e-6 * (abs(base) + abs(slope))
        base, slope = after
        if done:
            break
    inside = weight > 0
    off = (watts - base - slope * share)[inside]
    return base, slope, float(np.sqrt(np.mean(off**2))), 1 - float(inside.mean())


def weighted_line(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Least squares; without a spread of x the line is level."""
    total = weight.sum()
    mean_x, mean_y = float(weight @ x / total), float(weight @ y / total)
    spread = float(weight @ (x - mean_x) ** 2)
    slope = float(weight @ ((x - mean_x) * (y - mean_y))) / spread if spread > 0 else 0.0
    return mean_y - slope * mean_x, slope
