"""What to do first: how much comes from placement, from sleep, from caps, from waiting for clean hours.

A full factorial: the policy that savings are against (FGD) and the best of the others, with and without each option.
Its shares are Shapley's: what an option adds, mean over all orders in which the options may come, so that the shares
add up to the whole saving.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import factorial
from pathlib import Path

import numpy as np

from wattpack.errors import UserError
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.plugins import Plugin
from wattpack.experiments.runner import Outcome, Report, run_experiment
from wattpack.experiments.scenario import Scenario
from wattpack.experiments.sleep_and_caps import cap_text, sleep_text
from wattpack.experiments.spec.axes import Experiment
from wattpack.experiments.timed_options import CARBON, Timed
from wattpack.experiments.timed_result import TimedNumbers

PLACEMENT, SLEEP, CAPS, HOURS = "placement", "sleep", "caps", "clean hours"
CAP = 0.7  # of all models, where no cap is given
FIELDS = {SLEEP: ("sleep", "consolidate"), CAPS: ("cap", "cap_speed"), HOURS: ("slack",)}

Chosen = frozenset[str]  # of the options


@dataclass(frozen=True)
class Tried:
    """Runs of one policy with some of the options, by seed."""

    policy: str
    chosen: Chosen
    runs: tuple[TimedNumbers, ...]

    def mean(self, measure: str) -> float:
        return float(np.mean([getattr(run, measure) for run in self.runs]))


@dataclass(frozen=True)
class Advice:
    """The factorial: every set of `factors` was run."""

    trace: str
    timed: Timed  # all options
    measure: str  # a field of TimedNumbers: what is saved
    policy: str  # the best one beside the one that savings are against; that one where no other was given
    factors: tuple[str, ...]
    tried: Mapping[Chosen, Tried]

    @property
    def plain(self) -> Tried:
        """The policy that savings are against, without any option."""
        return self.tried[frozenset()]

    @property
    def together(self) -> Tried:
        return self.tried[frozenset(self.factors)]

    @property
    def best(self) -> Tried:
        """The set of options that saves most; the smaller of equals."""
        return min(self.tried.values(), key=lambda one: (one.mean(self.measure), len(one.chosen)))

    def less(self, one: Tried) -> float:
        """Share of energy, carbon or money that is not used, against `plain`, mean over seeds.

        No saving as elsewhere (saving.py), which is per GPU-hour delivered: caps make the same work take more of them.
        """
        pairs = zip(one.runs, self.plain.runs, strict=True)
        values = [(getattr(run, self.measure), getattr(base, self.measure)) for run, base in pairs]
        return float(np.mean([1 - value / base if base else 0.0 for value, base in values]))

    def alone(self, factor: str) -> Tried:
        return self.tried[frozenset([factor])]

    def shares(self) -> dict[str, float]:
        """Of the saving of `best`, by its options: they add up to it."""
        chosen = [factor for factor in self.factors if factor in self.best.chosen]
        found = {}
        for factor in chosen:
            others, share = [other for other in chosen if other != factor], 0.0
            for size in range(len(others) + 1):
                weight = factorial(size) * factorial(len(others) - size) / factorial(len(chosen))
                for before in combinations(others, size):
                    with_it, without = self.tried[frozenset([*before, factor])], self.tried[frozenset(before)]
                    share += weight * (self.less(with_it) - self.less(without))
            found[factor] = share
        return found


def with_defaults(timed: Timed) -> Timed:
    """The options with sleep and a cap, where none is given."""
    return timed._replace(sleep=timed.sleep or sleep_text(True), cap=timed.cap or cap_text(CAP))


def without(timed: Timed, chosen: Chosen) -> Timed:
    """The options without those that are not chosen."""
    for factor, fields in FIELDS.items():
        if factor not in chosen:
            timed = timed._replace(**dict.fromkeys(fields, ""))  # type: ignore[arg-type]
    return timed


def run_advice(
    experiment: Experiment,
    out: str | Path,
    report: Report | None = None,
    on: str = "local",
    workers: int | None = None,
    plugins: Sequence[str | Path | Plugin] = (),
) -> tuple[ResultsFolder, tuple[Scenario, ...], Outcome, Advice | None]:
    """Run the factorial of an experiment of one trace, datacenter and set of options; no advice where runs failed.

    First all policies without and with all options; then that policy and the best of the others with some of them.
    """
    (block,) = experiment.blocks
    if len(block.traces) != 1 or len(block.datacenters) != 1 or len(block.timed) != 1:
        raise UserError("advice is for one datacenter and one trace, expected one of each")
    timed = block.timed[0]
    options = [SLEEP, CAPS, *([HOURS] if timed.slack else [])]
    measure = "kwh" if not timed.slack else "co2_operational_kg" if timed.slack_by == CARBON else "money"
    ends = (without(timed, frozenset()), timed)
    settings = (report, on, workers, plugins)
    folder, scenarios, outcome = run_experiment(
        replace(experiment, blocks=(replace(block, timed=ends),)), out, *settings
    )
    if outcome.failed:
        return folder, scenarios, outcome, None
    found = by_policy(folder, scenarios)
    base = experiment.against[0]
    others = [policy for policy in found if policy != base]
    policy = min(others, key=lambda one: _mean(found[one][frozenset(options)], measure), default=base)
    factors = (*([PLACEMENT] if others else []), *options)
    sets = [frozenset(chosen) for size in range(1, len(options)) for chosen in combinations(options, size)]
    middle = replace(
        block,
        policies=tuple(one for one in block.policies if one in (base, policy)),
        timed=tuple(without(timed, chosen) for chosen in sets),
    )
    blocks = (replace(block, timed=ends), middle)
    folder, scenarios, second = run_experiment(replace(experiment, blocks=blocks), out, *settings)
    second = replace(second, done=second.done + outcome.done, skipped=second.skipped - outcome.done)
    second = replace(second, seconds=second.seconds + outcome.seconds)
    if second.failed:
        return folder, scenarios, second, None
    found = by_policy(folder, scenarios)
    tried = {}
    for chosen in (frozenset(), *sets, frozenset(options)):
        tried[chosen] = Tried(base, chosen, found[base][chosen])
        if others:
            tried[chosen | {PLACEMENT}] = Tried(policy, chosen | {PLACEMENT}, found[policy][chosen])
    return folder, scenarios, second, Advice(block.traces[0], timed, measure, policy, factors, tried)


def by_policy(
    folder: ResultsFolder, scenarios: Sequence[Scenario]
) -> dict[str, dict[Chosen, tuple[TimedNumbers, ...]]]:
    """The numbers of the runs by policy, options and seed."""
    found: dict[str, dict[Chosen, dict[int, TimedNumbers]]] = {}
    for scenario, numbers in folder.read_timed(scenarios).items():
        timed = scenario.timed
        assert timed is not None
        chosen = frozenset(factor for factor, fields in FIELDS.items() if getattr(timed, fields[0]))
        found.setdefault(scenario.named, {}).setdefault(chosen, {})[scenario.seed] = numbers
    return {
        policy: {chosen: tuple(seeds[seed] for seed in sorted(seeds)) for chosen, seeds in own.items()}
        for policy, own in found.items()
    }


def _mean(runs: Sequence[TimedNumbers], measure: str) -> float:
    return float(np.mean([getattr(run, measure) for run in runs]))
