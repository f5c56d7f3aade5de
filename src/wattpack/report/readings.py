"""The numbers that figures, terminal and page all show, read from curves in one place so that they agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.curves import LOADS, Curves, at
from wattpack.report import BASELINE, BOUND, Results
from wattpack.report.style import rank

Array = NDArray[np.float64]

SAVING_LOADS = (0.2, 0.4, 0.6, 0.8, 0.9)  # where tables state the saving
FULL_LOAD = 1.0  # where tables state GRAR
BUSY_LOAD = 0.8  # where tables state watts per GPU
STEADY = (0.15, 0.8)  # the paper's region of sustained savings: the mean over it ranks policies


def traces(results: Results) -> list[str]:
    """In order of first appearance."""
    return list(dict.fromkeys(trace for trace, _ in results))


def policies(results: Results, trace: str) -> list[str]:
    """The policies of a trace in the order of legends: baseline first."""
    return sorted((policy for name, policy in results if name == trace), key=rank)


def mean(curves: Curves, column: str) -> Array:
    """Mean over the seeds; NaN everywhere where a curve (a bound, say) does not have the column."""
    return curves.mean(column) if column in curves.values else np.full(len(LOADS), np.nan)


def spread(curves: Curves, column: str) -> Array:
    """Standard deviation over the seeds, as `mean`."""
    return curves.spread(column) if column in curves.values else np.full(len(LOADS), np.nan)


def saving(results: Results, trace: str, policy: str) -> Array:
    """1 - EOPC / EOPC of the baseline as a fraction; NaN without a baseline."""
    base = results.get((trace, BASELINE))
    return results[trace, policy].saving(base) if base is not None else np.full(len(LOADS), np.nan)


def saving_spread(results: Results, trace: str, policy: str) -> Array:
    """Standard deviation over the seeds of the saving seed by seed; 0 where there is nothing to vary."""
    base, curves = results.get((trace, BASELINE)), results[trace, policy]
    if base is None or len(set(base.seeds) & set(curves.seeds)) < 2:
        return np.zeros(len(LOADS))
    return curves.saving_by_seed(base).std(axis=0, ddof=1)


def steady_saving(results: Results, trace: str, policy: str) -> float:
    """Mean saving over the steady region, over the loads that were reached; -inf if none was."""
    values = saving(results, trace, policy)[at(STEADY[0]) : at(STEADY[1]) + 1]
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else -np.inf


def by_saving(results: Results, trace: str) -> list[str]:
    """Baseline first, then by falling saving, the bound (which is no policy) last."""
    found = policies(results, trace)
    middle = [policy for policy in found if policy not in (BASELINE, BOUND)]
    middle.sort(key=lambda policy: -steady_saving(results, trace, policy))
    return [p for p in found if p == BASELINE] + middle + [p for p in found if p == BOUND]


def until(values: Array, threshold: float) -> float | None:
    """Last load x such that `values` exceed the threshold at every load from 0.15 to x; None if not even at 0.15."""
    start = at(STEADY[0])
    below = np.flatnonzero(~(values[start:] > threshold))
    end = int(below[0]) if len(below) else len(values) - start
    return float(LOADS[start + end - 1]) if end > 0 else None


def watts_per_gpu(curves: Curves, gpus: float) -> Array:
    """EOPC per GPU allocated, W, in a datacenter of so many GPUs; NaN where nothing is allocated."""
    allocated = mean(curves, "allocated") * gpus
    return mean(curves, "eopc_w") / np.where(allocated > 0, allocated, np.nan)


def first_loss(results: Results, trace: str) -> float:
    """Where a zoom on GRAR begins, in steps of 0.05: just before half of the policies start to fail tasks.

    The median, not the first: one careless policy (`random` fails from 0.5 on) would undo the zoom for all others.
    """
    full = at(FULL_LOAD) + 1
    starts = []
    for policy in policies(results, trace):
        losing = np.flatnonzero(mean(results[trace, policy], "grar")[:full] < 0.998)
        starts.append(float(LOADS[losing[0]]) if len(losing) else FULL_LOAD)
    return float(np.clip(np.floor(np.median(starts) * 20 - 0.5) / 20, 0.0, 0.9))


def seeds_of(results: Results) -> list[int]:
    """How many seeds the curves have, distinct counts ascending (usually one)."""
    return sorted({len(curves.seeds) for (_, policy), curves in results.items() if policy != BOUND})
