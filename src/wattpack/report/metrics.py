"""The numbers that figures, terminal and page all show, read from curves in one place so that they agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.curves import LOADS, Curves, Results, at
from wattpack.experiments.lineup import BASELINE, BOUND
from wattpack.experiments.saving import unbeaten
from wattpack.report.style import rank

Array = NDArray[np.float64]

SAVING_LOADS = (0.2, 0.4, 0.6, 0.8, 0.9)  # where tables state the saving
FULL_LOAD = 1.0  # where tables state GRAR
BUSY_LOAD = 0.8  # where tables state watts per GPU
SUSTAINED = (0.15, 0.8)  # the paper's region of sustained savings: the mean over it ranks policies


def traces(results: Results) -> list[str]:
    """In order of first appearance."""
    return list(dict.fromkeys(trace for trace, _ in results))


def shown_against(results: Results, trace: str) -> list[str]:
    """The policies that savings on this trace are shown against: those that were run."""
    return [policy for policy in results.against if (trace, policy) in results]


def policies(results: Results, trace: str) -> list[str]:
    """The policies of a trace in the order of legends: FGD first."""
    return sorted((policy for name, policy in results if name == trace), key=rank)


def mean(curves: Curves, column: str) -> Array:
    """Mean over the seeds; NaN everywhere where a curve (a bound, say) does not have the column."""
    return curves.mean(column) if column in curves.values else np.full(len(LOADS), np.nan)


def spread(curves: Curves, column: str) -> Array:
    """Standard deviation over the seeds, as `mean`."""
    return curves.spread(column) if column in curves.values else np.full(len(LOADS), np.nan)


def saving(results: Results, trace: str, policy: str, against: str | None = None) -> Array:
    """The saving of `policy`, as a fraction (`Results.saving`); NaN where nobody to compare with was run."""
    return results.saving(trace, policy, against)


def eopc_saving(results: Results, trace: str, policy: str) -> Array:
    """The paper's saving: 1 - EOPC / EOPC of FGD, whatever they serve; the bound only where no policy saves more."""
    base = results.base(trace, BASELINE)
    if base is None:
        return np.full(len(LOADS), np.nan)
    own = results[trace, policy].eopc_saving(base)
    return unbeaten(own, [row.eopc_saving(base) for row in results.of_policies(trace)]) if policy == BOUND else own


def eopc_w(results: Results, trace: str, policy: str) -> Array:
    """Mean EOPC; that of the bound only where no policy draws less by serving less."""
    own = mean(results[trace, policy], "eopc_w")
    if policy != BOUND:
        return own
    return unbeaten(own, [mean(row, "eopc_w") for row in results.of_policies(trace)], least=True)


def saving_spread(results: Results, trace: str, policy: str, against: str | None = None) -> Array:
    """Standard deviation over the seeds of the saving seed by seed; 0 where there is nothing to vary."""
    base = results.base(trace, against)
    if base is None or not set(base.seeds) & set(results[trace, policy].seeds):
        return np.zeros(len(LOADS))
    return results.saving_spread(trace, policy, against)


def eopc_saving_spread(results: Results, trace: str, policy: str) -> Array:
    """The same of the paper's saving."""
    base, own = results.base(trace, BASELINE), results[trace, policy]
    common = sorted(set(base.seeds) & set(own.seeds)) if base is not None else []
    if base is None or len(common) < 2:
        return np.zeros(len(LOADS))
    rows = [one.values["eopc_w"][[one.seeds.index(seed) for seed in common]] for one in (own, base)]
    return np.asarray((1 - rows[0] / rows[1]).std(axis=0, ddof=1))


def sustained_saving(results: Results, trace: str, policy: str) -> float:
    """Mean saving over the region of sustained savings, over the loads that were reached; -inf if none was."""
    values = saving(results, trace, policy)[at(SUSTAINED[0]) : at(SUSTAINED[1]) + 1]
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else -np.inf


def by_saving(results: Results, trace: str) -> list[str]:
    """The policy that savings are against, then by falling saving, the bound (which is no policy) last."""
    found, first = policies(results, trace), results.against[0]
    middle = [policy for policy in found if policy not in (first, BOUND)]
    middle.sort(key=lambda policy: -sustained_saving(results, trace, policy))
    return [p for p in found if p == first] + middle + [p for p in found if p == BOUND]


def serve_alike(results: Results, trace: str) -> bool:
    """Whether all policies serve the same, to the digits that tables show, wherever tables state a saving."""
    shares = np.array([[mean(row, "grar")[at(load)] for load in SAVING_LOADS] for row in results.of_policies(trace)])
    return bool(np.nanmax(np.ptp(shares, axis=0), initial=0.0) < 0.0005) if len(shares) else True


def unbeaten_at(least: Sequence[float], shown: Sequence[str]) -> list[float]:
    """A column of a table in which less is better: NaN instead of a bound that a row beats."""
    best = min((v for v, policy in zip(least, shown, strict=True) if policy != BOUND and v == v), default=np.inf)
    return [np.nan if policy == BOUND and v > best else v for v, policy in zip(least, shown, strict=True)]


def until(values: Array, threshold: float) -> float | None:
    """Last load x such that `values` exceed the threshold at every load from 0.15 to x; None if not even at 0.15."""
    start = at(SUSTAINED[0])
    below = np.flatnonzero(~(values[start:] > threshold))
    end = int(below[0]) if len(below) else len(values) - start
    return float(LOADS[start + end - 1]) if end > 0 else None


def watts_per_gpu(curves: Curves, gpus: float) -> Array:
    """EOPC per GPU allocated, W, in a datacenter of `gpus` GPUs; NaN where nothing is allocated."""
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
