"""The search: all candidates on a few seeds, the better half on twice as many, and so on; the finalists on fresh seeds.

All policies of a seed see the same tasks and nodes, so savings are compared seed by seed. Runs are those of every other
experiment, kept in the results folder: the same command goes on from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.inflation import UP_TO
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.errors import RunError, UserError
from wattpack.experiments.curves import at
from wattpack.experiments.executors import check_executor
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.needs import need_gpus, need_loads, need_tasks
from wattpack.experiments.options import ARRIVALS, Offered
from wattpack.experiments.plugins import Plugin
from wattpack.experiments.runner import Outcome, Report, run_experiment, summarise_steady
from wattpack.experiments.scenario import Inputs, Scenario, choice_lines
from wattpack.experiments.spec.axes import FIRST_SEED, MAX_SEEDS, Block, Experiment
from wattpack.experiments.spec.chosen import check_models, chosen_against, chosen_profile
from wattpack.experiments.tune.candidates import all_candidates
from wattpack.experiments.tune.measured import Advice, Measured, advise, choose, front, survivors
from wattpack.model.power import PAPER, PowerProfile

FIRST_ROUND = 2  # seeds that every candidate gets
LOADS_OF_INTEREST = (0.5, 0.8, 0.9, 1.0)
GRAR_LOSS = 0.0005

Progress = Callable[[str], AbstractContextManager[Report]]  # a title; yields the function that is called after each run


@dataclass(frozen=True)
class Wanted:
    """What is tuned for."""

    datacenter: str
    trace: str
    loads: tuple[float, ...] = LOADS_OF_INTEREST  # of the fill-up, read while it goes on
    steady: tuple[float, ...] = ()  # offered loads, with departures
    seeds: int = 10  # to choose with, and as many again to check
    grar_loss: float = GRAR_LOSS  # GRAR that may be given away
    profile: PowerProfile | str = PAPER.name  # a built-in name, or any profile
    arrivals: int = ARRIVALS  # of a steady state
    against: str | Sequence[str] | None = None  # whom savings and service are compared with, the first for savings

    @property
    def compared_with(self) -> tuple[str, ...]:
        return chosen_against(self.against, [self.datacenter])


@dataclass(frozen=True)
class Tuned:
    """Every candidate with the seeds it ran on, the front of those that ran on all, and the advice."""

    found: tuple[Measured, ...]
    dropped_after: dict[str, int]  # seeds after which a candidate was left out
    front: tuple[Measured, ...]  # on the seeds that chose
    checked: dict[str, Measured]  # the front and the two best, on fresh seeds
    advice: Advice
    outcome: Outcome
    inputs: Inputs
    choices: tuple[str, ...] = ()  # what `auto` chose and why, if it was a candidate


def tune(
    wanted: Wanted,
    out: str | Path,
    progress: Progress,
    candidates: Sequence[str] | None = None,
    on: str = "local",
    workers: int | None = None,
    plugins: Sequence[str | Path | Plugin] = (),
) -> Tuned:
    """Find the expression that saves most and serves as much as `wanted.against`. Writes only into `out`."""
    if not 2 <= wanted.seeds <= MAX_SEEDS // 2:
        raise UserError(f"--seeds {wanted.seeds}, expected 2 to {MAX_SEEDS // 2}: no spread without a second one")
    check_executor(on, workers)
    bases = wanted.compared_with
    field = list(dict.fromkeys((*bases, *(candidates or all_candidates()))))
    runs = _Runs(wanted, Path(out), progress, on, workers, plugins)
    found: dict[str, Measured] = {}
    dropped: dict[str, int] = {}
    for count in rungs(wanted.seeds):
        measured = runs.measure(field, _seeds(0, count), f"{len(field)} candidates, {count} seeds")
        found |= {one.policy: one for one in measured}
        if count < wanted.seeds:
            kept = survivors(measured, wanted.grar_loss, bases)
            dropped |= dict.fromkeys((policy for policy in field if policy not in kept), count)
            field = kept
    finalists = [found[policy] for policy in field]
    on_front, order = front(finalists), choose(finalists, wanted.grar_loss, bases)
    # The best of many looks too good on the seeds that chose it: the numbers reported come from fresh seeds.
    again = list(dict.fromkeys([*bases, *order[:2], *(one.policy for one in on_front)]))
    fresh = runs.measure(again, _seeds(wanted.seeds, wanted.seeds), f"{len(again)} finalists, fresh seeds")
    checked = {one.policy: one for one in fresh}
    advice = advise(order[0], order[1] if len(order) > 1 else None, checked, bases)
    everything = tuple(sorted(found.values(), key=lambda one: (-len(one.seeds), -one.saving)))
    return Tuned(everything, dropped, tuple(on_front), checked, advice, runs.outcome, runs.inputs, runs.choices())


def rungs(seeds: int) -> list[int]:
    """Seeds of each round: 2, 4, 8, ... and all, which is at least half as many again."""
    counts = []
    count = FIRST_ROUND
    while 3 * count < 2 * seeds:
        counts.append(count)
        count *= 2
    return [*counts, seeds]


def _seeds(start: int, count: int) -> tuple[int, ...]:
    return tuple(range(FIRST_SEED + start, FIRST_SEED + start + count))


class _Runs:
    """Runs candidates into the results folder and reads the savings and GRAR that the advice needs."""

    def __init__(
        self,
        wanted: Wanted,
        out: Path,
        progress: Progress,
        on: str,
        workers: int | None,
        plugins: Sequence[str | Path | Plugin],
    ) -> None:
        self.wanted, self.out, self.progress, self.on, self.workers = wanted, out, progress, on, workers
        self.plugins, self.outcome, self.blocks = plugins, Outcome(), list[Block]()
        self.scenarios: tuple[Scenario, ...] = ()
        self.watts = chosen_profile(wanted.profile)
        datacenter, trace = load_datacenter(wanted.datacenter, power=self.watts), load_trace(wanted.trace)
        check_models(datacenter, self.watts)
        need_gpus(wanted.datacenter, datacenter)
        need_tasks(wanted.trace, trace)
        if int(trace.gpu_request_milli().sum()) == 0:
            raise UserError(f"{wanted.trace}: no task asks for a GPU, expected at least one to tune for")
        if wanted.loads:
            need_loads(wanted.trace, trace, datacenter, wanted.loads, _seeds(0, 2 * wanted.seeds))
        self.inputs = Inputs({wanted.datacenter: datacenter}, {wanted.trace: trace}, {self.watts.name: self.watts})

    def measure(self, policies: Sequence[str], seeds: tuple[int, ...], title: str) -> list[Measured]:
        wanted = self.wanted
        block = Block(
            tuple(policies),
            (wanted.trace,),
            (wanted.datacenter,),
            seeds,
            (self.watts.name,),
            up_to=(UP_TO,) if wanted.loads else (),
            steady=tuple(Offered(load, wanted.arrivals) for load in wanted.steady),
        )
        self.blocks.append(block)
        savings = {policy: list[NDArray[np.float64]]() for policy in policies}
        means = {policy: list[list[float]]() for policy in policies}
        grars = {policy: list[NDArray[np.float64]]() for policy in policies}
        folder, scenarios = self._run(title)
        own = [s for s in scenarios if s.named in block.policies and s.seed in block.seeds]
        if wanted.loads:
            self._read_fill_ups(folder, own, block, savings, means, grars)
        if wanted.steady:
            self._read_steady(folder, own, block, savings, means, grars)
        return [
            Measured(
                policy,
                seeds,
                np.mean(savings[policy], axis=0),
                np.mean(grars[policy], axis=0),
                tuple(np.mean(means[policy], axis=0).tolist()),
            )
            for policy in policies
        ]

    def _run(self, title: str) -> tuple[ResultsFolder, tuple[Scenario, ...]]:
        """Run all blocks so far, so that experiment.json lists all runs; finished ones are not run again."""
        experiment = Experiment("tune", tuple(self.blocks), self.inputs, against=self.wanted.compared_with)
        with self.progress(title) as report:
            folder, scenarios, outcome = run_experiment(
                experiment, self.out, report, self.on, self.workers, self.plugins
            )
        self.scenarios = scenarios
        if outcome.failed:
            scenario, fault = outcome.failed[0]
            raise RunError(f"{len(outcome.failed)} runs failed, the first: {scenario}: {fault}")
        self.outcome.done += outcome.done
        self.outcome.skipped = len(scenarios) - self.outcome.done
        self.outcome.seconds += outcome.seconds
        return folder, scenarios

    def choices(self) -> tuple[str, ...]:
        return tuple(choice_lines(self.scenarios, self.inputs))

    def _read_fill_ups(
        self,
        folder: ResultsFolder,
        scenarios: Sequence[Scenario],
        block: Block,
        savings: Columns,
        means: Means,
        grars: Columns,
    ) -> None:
        curves = {policy: found for (_, policy), found in folder.read(scenarios).items()}
        bases = [curves[policy] for policy in self.wanted.compared_with]
        for load in self.wanted.loads:
            if np.isnan(bases[0].values["eopc_w"][:, at(load)]).any():
                raise UserError(f"{self.wanted.trace}: no run reaches load {load:g}, expected --loads below")
        for policy in block.policies:
            own = curves[policy]
            for load in self.wanted.loads:
                savings[policy].append(own.saving_by_seed(bases[0])[:, at(load)])
                means[policy].append([float(own.saving(base)[at(load)]) for base in bases])
                grars[policy].append(own.values["grar"][:, at(load)])

    def _read_steady(
        self,
        folder: ResultsFolder,
        scenarios: Sequence[Scenario],
        block: Block,
        savings: Columns,
        means: Means,
        grars: Columns,
    ) -> None:
        rows = summarise_steady(folder, scenarios)
        for load in self.wanted.steady:
            by_policy = {row.policy: row for row in rows if row.load == load}
            bases = [by_policy[policy] for policy in self.wanted.compared_with]
            for policy in block.policies:
                savings[policy].append(np.array(by_policy[policy].savings(bases[0])))
                means[policy].append([by_policy[policy].saving(base) for base in bases])
                grars[policy].append(np.array([run.grar for run in by_policy[policy].runs]))


Columns = dict[str, list[NDArray[np.float64]]]
Means = dict[str, list[list[float]]]  # by policy and load: the saving against each, of the means over the seeds
