"""Curves through readings: the model's own form with its error, and watts that do not fall as the share rises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Points = Sequence[tuple[float, float]]  # (share in use, W)
LEAST_EXPONENT, MOST_EXPONENT = 0.1, 5.0


class PowerLaw(NamedTuple):
    """context_w + (max_w - context_w) * share ** exponent, and how far the readings are from it."""

    context_w: float
    max_w: float
    exponent: float
    error_w: float  # root mean square
    worst_w: float


def fit_power_law(context_w: float, points: Points) -> PowerLaw:
    """The curve from `context_w` at share 0 that is nearest to `points`; both maximum and exponent are fitted.

    For a given exponent the best maximum follows directly; the exponent is found by a golden-section search.
    """
    share = np.array([point[0] for point in points])
    watts = np.array([point[1] for point in points]) - context_w

    def best(exponent: float) -> tuple[float, float]:
        """Rise from context to maximum, and the sum of squared errors."""
        form = share**exponent
        rise = float(form @ watts / (form @ form))
        return rise, float(((watts - rise * form) ** 2).sum())

    low, high = LEAST_EXPONENT, MOST_EXPONENT
    golden = (5**0.5 - 1) / 2
    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if best(left)[1] <= best(right)[1]:
            high = right
        else:
            low = left
    exponent = (low + high) / 2
    rise, squares = best(exponent)
    worst = float(np.abs(watts - rise * share**exponent).max())
    return PowerLaw(context_w, context_w + rise, exponent, (squares / len(points)) ** 0.5, worst)


def not_falling(watts: Sequence[float]) -> list[float]:
    """The nearest values that never fall (least squares, pool of neighbours): a curve may not fall, noise does."""
    pools: list[tuple[float, int]] = []
    for value in watts:
        pools.append((value, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (later, n), (earlier, m) = pools.pop(), pools.pop()
            pools.append(((earlier * m + later * n) / (m + n), m + n))
    return [value for value, count in pools for _ in range(count)]


def curve(context_w: float, points: Points) -> list[tuple[float, float]]:
    """Points from share 0 (the context) to exactly 1 whose watts do not fall. The largest share becomes 1.

    The last point is the full load: a load that waits for its kernels reaches 0.99 or so.
    """
    rising = sorted({round(share, 3): watts for share, watts in points}.items())
    shares = [0.0, *(share for share, _ in rising[:-1] if 0 < share < 1), 1.0]
    watts = not_falling([context_w, *(watts for share, watts in rising[:-1] if 0 < share < 1), rising[-1][1]])
    return [(share, round(value, 1)) for share, value in zip(shares, watts, strict=True)]
