"""Knobs of sleep and the policy for a wanted wait: the least energy among those that keep it.

Policies are tried with the default knobs, then a grid of knobs with the best of them. What is chosen on some seeds is
run on others, and those are reported. All runs are ordinary runs in time, kept in the folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from wattpack.engine.moments.options import DROP
from wattpack.errors import RunError, UserError
from wattpack.experiments.plugins import Plugin
from wattpack.experiments.runner import Outcome, Report, run_experiment, summarise_timed
from wattpack.experiments.saving import DEFAULT_AGAINST, saved
from wattpack.experiments.scenario import choice_lines
from wattpack.experiments.sleep_and_caps import AUTO, sleep_text
from wattpack.experiments.spec.axes import Block, Experiment
from wattpack.experiments.timed_result import TimedNumbers

IDLE = (AUTO, "2m", "10m", "1h")
RESERVE = ("0", "1%", "2%", "5%", "10%")
POLICIES_KEPT = 2  # of which all knobs are tried
CHECKED = 3  # of the best that keep the wait, run on fresh seeds
AWAKE = ""  # in the place of knobs: all nodes stay awake


@dataclass(frozen=True)
class Tried:
    """A policy with knobs, on some seeds."""

    policy: str
    sleep: str  # as `sleep_text` spells it, or AWAKE
    seeds: tuple[int, ...]
    runs: tuple[TimedNumbers, ...]

    def mean(self, measure: str) -> float:
        return float(np.mean([getattr(run, measure) for run in self.runs]))

    @property
    def wait_p99_s(self) -> float:
        """Of the seed in which tasks waited longest."""
        return max(run.wait_p99_s for run in self.runs)


@dataclass(frozen=True)
class TunedSleep:
    """What was found. `best` is None where nothing keeps the wait on the seeds that choose."""

    limit_s: float
    found: tuple[Tried, ...]  # on the seeds that choose: those that keep the wait first, by energy
    checked: tuple[Tried, ...]  # the best of them, on fresh seeds, and `against` awake and with the default knobs
    best: Tried | None  # on fresh seeds
    outcome: Outcome
    choices: tuple[str, ...] = ()  # what `auto` chose, and why
    against: tuple[str, ...] = DEFAULT_AGAINST  # the policies that savings are against, with all nodes awake

    def keeps(self, one: Tried) -> bool:
        return one.wait_p99_s <= self.limit_s

    @property
    def awake(self) -> Tried:
        """The first of `against` with all nodes awake, on the seeds that report."""
        return self.awake_under(self.against[0])

    def awake_under(self, policy: str) -> Tried:
        return next(one for one in self.checked if (one.policy, one.sleep) == (policy, AWAKE))

    def saving(self, one: Tried, against: str) -> float:
        """The share of kWh per GPU-hour delivered that is saved against a policy with all nodes awake."""
        base = self.awake_under(against)
        return float(saved(*(row.mean(name) for row in (one, base) for name in ("kwh", "gpu_hours"))))


def knobs_to_try(given: str) -> tuple[str, ...]:
    """The grid; knobs that the user gives stay as they are. `given`: as the user wrote it."""
    told = {part.partition("=")[0].strip() for part in given.split(",") if "=" in part}
    found = []
    for idle in IDLE if "idle" not in told else (None,):
        for reserve in RESERVE if "reserve" not in told else (None,):
            own = [given] if told else []
            own += [f"idle={idle}"] if idle is not None else []
            own += [f"reserve={reserve}"] if reserve is not None else []
            found.append(sleep_text(",".join(own) or "on"))
    return tuple(dict.fromkeys(found))


def tune_sleep(
    experiment: Experiment,
    given: str,
    limit_s: float,
    out: str | Path,
    report: Report | None = None,
    on: str = "local",
    workers: int | None = None,
    plugins: Sequence[str | Path | Plugin] = (),
) -> TunedSleep:
    """Tune an experiment of one datacenter, trace and set of options; half of its seeds choose, the others report.

    Tasks at their own times have no seeds: then the same tasks choose and report.
    """
    (block,) = experiment.blocks
    timed = block.timed[0]
    if timed.queue == DROP:
        raise UserError(f"queue {DROP!r}: no task waits there, expected fifo or backfill")
    half = max(1, len(block.seeds) // 2)
    choosing, fresh = block.seeds[:half], block.seeds[half:] or block.seeds
    first = sleep_text(given)
    outcome = Outcome()
    blocks: list[Block] = []
    choices: list[str] = []

    def run(policies: Sequence[str], knobs: Sequence[str], seeds: tuple[int, ...]) -> None:
        nonlocal outcome
        options = tuple(timed._replace(sleep=sleep) for sleep in knobs)
        blocks.append(replace(block, policies=tuple(policies), timed=options, seeds=seeds))
        so_far = replace(experiment, blocks=tuple(blocks))
        _, scenarios, latest = run_experiment(so_far, out, report, on, workers, plugins)
        if latest.failed:
            scenario, fault = latest.failed[0]
            raise RunError(f"{scenario}: {fault}")
        # what earlier steps ran is there by now: it is no run that was skipped
        outcome = replace(latest, done=outcome.done + latest.done, seconds=outcome.seconds + latest.seconds)
        outcome = replace(outcome, skipped=latest.done + latest.skipped - outcome.done)
        choices[:] = choice_lines(scenarios, experiment.inputs)

    run(block.policies, (first,), choosing)
    ranked = sorted(
        read(experiment, blocks, out, choosing), key=lambda one: (one.wait_p99_s > limit_s, one.mean("kwh"))
    )
    run([one.policy for one in ranked[:POLICIES_KEPT]], knobs_to_try(given), choosing)
    found = read(experiment, blocks, out, choosing)
    found.sort(key=lambda one: (one.wait_p99_s > limit_s, one.mean("kwh"), one.policy, one.sleep))
    kept = [one for one in found if one.wait_p99_s <= limit_s]
    for one in kept[:CHECKED] or found[:1]:
        run([one.policy], (one.sleep,), fresh)
    against = experiment.against
    run(against, (AWAKE, first), fresh)
    checked = read(experiment, blocks, out, fresh)
    by_name = {(one.policy, one.sleep): one for one in checked}
    again = [by_name[one.policy, one.sleep] for one in kept[:CHECKED]]
    best = next((one for one in again if one.wait_p99_s <= limit_s), again[0] if again else None)
    wanted = dict.fromkeys(
        [
            *((one.policy, one.sleep) for one in kept[:CHECKED] or found[:1]),
            *((policy, sleep) for policy in against for sleep in (first, AWAKE)),
        ]
    )
    checked = [by_name[name] for name in wanted]
    return TunedSleep(limit_s, tuple(found), tuple(checked), best, outcome, tuple(choices), against)


def read(experiment: Experiment, blocks: Sequence[Block], out: str | Path, seeds: tuple[int, ...]) -> list[Tried]:
    """What is in the folder of these blocks, of these seeds; `time.csv` has all."""
    from wattpack.experiments.folder import ResultsFolder
    from wattpack.experiments.spec.axes import resolve

    _, scenarios = resolve(replace(experiment, blocks=tuple(blocks)))
    found: dict[tuple[str, str], dict[int, TimedNumbers]] = {}
    for scenario, numbers in summarise_timed(ResultsFolder(out), scenarios).items():
        assert scenario.timed is not None
        if scenario.seed in seeds or scenario.timed.load == 0:
            found.setdefault((scenario.named, scenario.timed.sleep), {})[scenario.seed] = numbers
    return [
        Tried(policy, sleep, tuple(sorted(runs)), tuple(runs[seed] for seed in sorted(runs)))
        for (policy, sleep), runs in found.items()
    ]
