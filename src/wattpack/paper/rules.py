"""What the rules of the claims are made of: readings of the mean curves, and verdicts with the paper's tolerances.

The paper's "about" allows 1.5 points of saving, 0.01 of GRAR and 0.03 of load. A number of the paper `holds` where it
is met at the digits that the paper gives it with, and `holds within tolerance` where one of the three allowances, not
two of them at once, is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.curves import LOADS, Results, at
from wattpack.experiments.lineup import BASELINE, COMPETITORS, MIXES, pwr_share

Array = NDArray[np.float64]
Scalar = TypeVar("Scalar", bound=np.generic)

HOLDS, WITHIN, DIFFERS = "holds", "holds within tolerance", "differs"
VERDICTS = (HOLDS, WITHIN, DIFFERS)

SAVING_TOLERANCE = 1.5  # points of saving
GRAR_TOLERANCE = 0.01
LOAD_TOLERANCE = 0.03
SETTLED = 0.15  # "until x" is every load from here to x
LEAST_LOAD = 0.05  # of "never" and "always": a handful of tasks decide below
FULL = 1.0
EXACT = 1e-9  # what rounding of floats may add to a difference


class Part(NamedTuple):
    """The verdict on one part of a statement, and in words by how much it is missed where it is not met."""

    verdict: str
    miss: str


class Reading(NamedTuple):
    """What was measured, in words and numbers, and the verdicts on the parts of the statement."""

    measured: str
    parts: Sequence[Part]


class Rule(NamedTuple):
    """One row of the claims. `needs` are the curves without which nothing can be said."""

    id: str
    section: str
    statement: str
    paper: str
    needs: Sequence[tuple[str, str]]  # (trace, policy)
    check: Callable[[View], Reading | None]  # None: the curves that the statement is about are not there
    cause: str  # what usually moves this number, for a row that differs


class View:
    """Mean curves of the results: the paper's savings, in percent of FGD's EOPC, GRAR."""

    def __init__(self, results: Results) -> None:
        self.results = results

    def saving(self, trace: str, policy: str) -> Array:
        return self.results[trace, policy].eopc_saving(self.results[trace, BASELINE]) * 100

    def grar(self, trace: str, policy: str) -> Array:
        return self.results[trace, policy].mean("grar")

    def behind(self, trace: str, policies: Iterable[str], load: float = FULL) -> dict[str, float]:
        """By how much the GRAR of each policy is below the baseline's at a load."""
        best = self.grar(trace, BASELINE)[at(load)]
        return {policy: float(best - self.grar(trace, policy)[at(load)]) for policy in policies}

    def mixes(self, trace: str) -> dict[str, float]:
        """PWR's share alpha of every mix of PWR and FGD on a trace, ascending."""
        shares = {policy: pwr_share(policy) for name, policy in self.results if name == trace}
        found = {policy: share for policy, share in shares.items() if share is not None}
        return dict(sorted(found.items(), key=lambda item: item[1]))


def needed(traces: Iterable[str], policies: Iterable[str]) -> list[tuple[str, str]]:
    """The baseline and `policies` on every trace."""
    return [(trace, policy) for trace in traces for policy in (BASELINE, *policies)]


def compared(*traces: str) -> list[tuple[str, str]]:
    """What the paper's comparisons need on every trace: the baseline, the three combinations, the competitors."""
    return needed(traces, (*MIXES, *COMPETITORS))


# ---- verdicts --------------------------------------------------------------------------------------------------------


def part(holds: bool | np.bool_, within: bool | np.bool_, miss: str) -> Part:
    return Part(HOLDS if holds else WITHIN if within else DIFFERS, miss)


def worst(parts: Iterable[Part]) -> str:
    return VERDICTS[max(VERDICTS.index(one.verdict) for one in parts)]


def about(value: float, paper: float, step: float, tolerance: float, what: str) -> Part:
    """A number of the paper with its last digit worth `step`."""
    away = abs(value - paper)
    miss = f"{what} is {value:.4g}, {away:.3g} away from {paper:g}"
    return part(away <= step / 2 + EXACT, away <= tolerance + EXACT, miss)


def at_most(value: float, limit: float, tolerance: float, what: str) -> Part:
    miss = f"{what} is {value:.4g}, {value - limit:.3g} more than {limit:g}"
    return part(value <= limit + EXACT, value <= limit + tolerance + EXACT, miss)


def above_until(values: Array, threshold: float, until: float, what: str) -> Part:
    """Savings above `threshold` at every load from 0.15 to `until`, both numbers being "about"."""
    low, where = least(values, SETTLED, until)
    within = low > threshold - SAVING_TOLERANCE or least(values, SETTLED, until - LOAD_TOLERANCE)[0] > threshold
    miss = f"{what} saves {low:.1f} % at load {load_text(where)}, {threshold - low:.1f} points less than {threshold:g}"
    return part(low > threshold, within, miss)


# ---- readings --------------------------------------------------------------------------------------------------------


def between(values: NDArray[Scalar], start: float, end: float) -> NDArray[Scalar]:
    """The part of a curve on [start, end]."""
    return values[at(start) : at(end) + 1]


def least(values: Array, start: float, end: float) -> tuple[float, float]:
    """Smallest value on [start, end] and the load it is at."""
    inside = between(values, start, end)
    return float(inside.min()), float(between(LOADS, start, end)[inside.argmin()])


def most(values: Array, start: float, end: float) -> tuple[float, float]:
    """Largest value on [start, end] and the first load it is at."""
    inside = between(values, start, end)
    return float(inside.max()), float(between(LOADS, start, end)[inside.argmax()])


def last_load(met: NDArray[np.bool_], start: float = SETTLED) -> float | None:
    """The last load x up to 1 such that a condition is met at every load from `start` to x; None if not at `start`."""
    broken = np.flatnonzero(~between(met, start, FULL))
    if len(broken) == 0:
        return FULL
    return float(LOADS[at(start) + broken[0] - 1]) if broken[0] > 0 else None


def positive_around(values: Array, load: float) -> tuple[float, float]:
    """The interval around a load on which a curve is above 0; the load itself twice if it is not above 0 there."""
    level = np.flatnonzero(between(values, 0, FULL) <= 0)
    before, after = level[level <= at(load)], level[level >= at(load)]
    first = float(LOADS[before[-1] + 1]) if len(before) else 0.0
    last = float(LOADS[after[0] - 1]) if len(after) else FULL
    return (first, last) if first <= last else (load, load)


# ---- words -----------------------------------------------------------------------------------------------------------


def load_text(load: float | None) -> str:
    """Two digits, three where the third is not 0."""
    if load is None:
        return "never"
    text = f"{load:.3f}"
    return text[:-1] if text.endswith("0") else text


def share_text(policies: Iterable[str]) -> str:
    """`a = 0.05, 0.1, 0.2`: the mixes that a list of numbers belongs to."""
    return "a = " + ", ".join(f"{pwr_share(policy):g}" for policy in policies)


def name_text(policy: str) -> str:
    share = pwr_share(policy)
    return policy if share is None else f"a={share:g}"


def named(values: Mapping[str, float], digits: int) -> str:
    """`a=0.05 0.023, bestfit 0.025`: numbers by policy."""
    return ", ".join(f"{name_text(policy)} {value:.{digits}f}" for policy, value in values.items())


def numbers(values: Iterable[float], digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def range_text(values: Sequence[float], digits: int) -> str:
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"
