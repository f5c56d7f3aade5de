"""The choice: among the members that serve as much as FGD, the one that draws the fewest watts per GPU served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wattpack.choose.small_fleet import counted, in_order
from wattpack.choose.trial import Measured, Trial
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile
from wattpack.model.tasks import Workload
from wattpack.policies.expression import FILL_UP, STEADY, parse

BASELINE = "fgd"
# In this order ties are broken: the simplest first.
PORTFOLIO = (
    *(BASELINE, "ocs", "pwr:0.1+fgd:0.9", "pwr:0.2+fgd:0.8", "epsilon", "pwr", "pwrfeedback", "bestfit"),
    *("fgd:0.7+pwrexpected:0.3", "fgd:0.9+pwrexpected:0.1", "ocs@1", "ocs@0.7", "ocs@0.1"),
)
GRAR_LOSS = {FILL_UP: 0.001, STEADY: 0.002}  # below FGD's GRAR by more at any load: the member serves too little
HOPELESS, LEAST_RUNS = 0.02, 2  # so far below after a few runs that no further run is made


@dataclass(frozen=True)
class Member:
    """What was found of an expression. Means over seeds; the worst load for GRAR, all loads for watts."""

    expression: str
    grar_below: float  # the least GRAR against FGD's at any load; 0 or above: serves as much everywhere
    w_per_gpu: float  # watts per GPU served, mean over the loads
    runs: int


@dataclass(frozen=True)
class Found:
    """The expression chosen, and every member that was tried."""

    expression: str
    members: tuple[Member, ...]


def search(
    datacenter: Datacenter,
    trace: Workload,
    profile: PowerProfile,
    regime: str,
    portfolio: Sequence[str] = PORTFOLIO,
) -> Found:
    """Try the portfolio, FGD first. The same for any order of nodes and tasks."""
    trial = Trial(in_order(datacenter), counted(trace), profile, regime)
    base = [trial.run(parse(BASELINE), seed) for seed in trial.seeds]
    members, first_runs = [_member(BASELINE, base, base)], dict[str, Measured]()
    for expression in portfolio:
        if expression == BASELINE or _knob_is_idle(expression, first_runs):
            continue
        mix = parse(expression)
        found = [trial.run(mix, trial.seeds[0])]
        first_runs[expression] = found[0]
        if _knob_is_idle(expression, first_runs):
            continue
        for seed in trial.seeds[1:]:
            if len(found) >= LEAST_RUNS and _member(expression, found, base).grar_below < -HOPELESS:
                break
            found.append(trial.run(mix, seed))
        members.append(_member(expression, found, base))
    safe = [member for member in members if member.grar_below >= -GRAR_LOSS[regime]]
    best = min(safe, key=lambda member: member.w_per_gpu)  # the first of equals
    return Found(best.expression, tuple(members))


def _knob_is_idle(expression: str, first_runs: Mapping[str, Measured]) -> bool:
    """Whether a turned knob has been seen to change nothing here: the same first run as with the knob as it is."""
    name, at, _ = expression.partition("@")
    if not at or name not in first_runs:
        return False
    own = first_runs[name]
    turned = [run for other, run in first_runs.items() if other.startswith(f"{name}@")]
    return any((run.grar == own.grar).all() and (run.w_per_gpu == own.w_per_gpu).all() for run in turned)


def _member(expression: str, found: Sequence[Measured], base: Sequence[Measured]) -> Member:
    """Against the same runs of FGD, as far as the member was tried."""
    grar = np.mean([own.grar - other.grar for own, other in zip(found, base, strict=False)], axis=0)
    w_per_gpu = np.mean([own.w_per_gpu for own in found])
    return Member(expression, float(grar.min()), float(w_per_gpu), len(found))
