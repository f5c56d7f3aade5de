"""The measurements of the candidates, which candidates get more seeds, and the advice at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.saving import DEFAULT_AGAINST

CONFIDENCE = 0.95
NEAR = 0.002  # saving: a candidate this close to the front stays, whatever the noise
KEEP_AT_LEAST = 8


@dataclass(frozen=True)
class Measured:
    """One candidate: saving and GRAR by seed, each the mean over the loads of interest.

    `against`: the savings of the means over the seeds, as tables show them, against each policy that it is compared
    with. Empty: as by seed.
    """

    policy: str
    seeds: tuple[int, ...]
    savings: NDArray[np.float64]
    grars: NDArray[np.float64]
    against: tuple[float, ...] = ()

    @property
    def saving(self) -> float:
        """-inf where it serves nothing: never the best."""
        found = self.against[0] if self.against else float(self.savings.mean())
        return -math.inf if math.isnan(found) else found

    @property
    def grar(self) -> float:
        return float(self.grars.mean())

    @property
    def saving_error(self) -> float:
        """Half of the 95 % interval of the mean over the seeds (Student's t); NaN for one seed."""
        return half_interval(self.savings)

    @property
    def grar_error(self) -> float:
        return half_interval(self.grars)


def half_interval(values: NDArray[np.float64]) -> float:
    from scipy.stats import t  # 0.5 s: not for `wattpack --help`

    if len(values) < 2:
        return math.nan
    return float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))


def effort(policy: str) -> tuple[int, int]:
    """Sort key of complexity: single policies before mixes, default knobs before changed ones."""
    return policy.count("+"), policy.count("@")


def front(found: Sequence[Measured]) -> list[Measured]:
    """The Pareto front: those that none beats in both saving and GRAR, most saving first. Of equals the simplest."""
    best = sorted(found, key=lambda one: (-one.saving, -one.grar, effort(one.policy)))
    kept: list[Measured] = []
    for one in best:
        if not kept or one.grar > kept[-1].grar:
            kept.append(one)
    return kept


def behind(one: Measured, on_front: Sequence[Measured]) -> float:
    """How much more it would have to save to be on the front, 0 on the front."""
    return max((other.saving - one.saving for other in on_front if other.grar >= one.grar), default=0.0)


def survivors(found: Sequence[Measured], grar_loss: float, against: Sequence[str] = DEFAULT_AGAINST) -> list[str]:
    """Who gets more seeds: `against`, the front, and candidates near it or within its noise; at most half of all.

    There are two fronts: of all, and of those that serve as much as `against`. The advice comes from the second.
    """
    by_policy = {one.policy: one for one in found}
    admitted = admissible(by_policy, grar_loss, against)
    fronts = front(found), front(admitted)
    kept = dict.fromkeys([*against, *(one.policy for on_front in fronts for one in on_front)])
    most = max(KEEP_AT_LEAST, (len(found) + 1) // 2)
    distance = {one.policy: min(behind(one, on_front) for on_front in fronts) for one in found}
    for one in sorted(found, key=lambda one: (effort(one.policy) > (0, 0), round(distance[one.policy], 4))):
        noise = 0.0 if math.isnan(one.saving_error) else one.saving_error
        if len(kept) < most and distance[one.policy] <= NEAR + noise:
            kept[one.policy] = None
    return [policy for policy in by_policy if policy in kept]


def admissible(
    found: Mapping[str, Measured], grar_loss: float, against: Sequence[str] = DEFAULT_AGAINST
) -> list[Measured]:
    """Those whose GRAR is at most `grar_loss` below the best of `against`, mean over the same seeds."""
    most = max(found[policy].grar for policy in against)
    return [one for one in found.values() if one.grar - most >= -grar_loss]


@dataclass(frozen=True)
class Advice:
    """The recommended expression with its results on fresh seeds, and the runner-up."""

    best: Measured
    base: Measured
    next: Measured | None
    wins: int  # seeds on which it saves more than the next
    lead: float  # mean difference of the two savings
    lead_error: float  # half of its 95 % interval

    @property
    def is_clear(self) -> bool:
        """Whether its lead over the next is larger than the noise."""
        return self.next is None or self.lead > self.lead_error


def choose(found: Sequence[Measured], grar_loss: float, against: Sequence[str] = DEFAULT_AGAINST) -> list[str]:
    """Most saving at a GRAR at most `grar_loss` below the best of `against`: the first, then the next in order.

    First is the simplest of those whose saving does not differ clearly from the largest one.
    """
    admitted = admissible({one.policy: one for one in found}, grar_loss, against)
    ordered = sorted(admitted, key=lambda one: (-one.saving, effort(one.policy)))
    first = min((one for one in ordered if _alike(ordered[0], one)), key=lambda one: effort(one.policy))
    return [first.policy, *(one.policy for one in ordered if one is not first)]


def _alike(best: Measured, one: Measured) -> bool:
    """Whether `one` saves less than `best` by little, and by less than the noise."""
    lead = float((best.savings - one.savings).mean())
    return lead <= NEAR and not lead > half_interval(best.savings - one.savings)


def advise(
    chosen: str,
    runner_up: str | None,
    checked: Mapping[str, Measured],
    against: Sequence[str] = DEFAULT_AGAINST,
) -> Advice:
    """`checked`: both and those that they are compared with, measured on fresh seeds."""
    best = checked[chosen]
    second = checked[runner_up] if runner_up is not None else None
    difference = best.savings - second.savings if second is not None else np.zeros(0)
    lead = float(difference.mean()) if len(difference) else 0.0
    return Advice(best, checked[against[0]], second, int((difference > 0).sum()), lead, half_interval(difference))
