"""Policies side by side in time, as `wattpack simulate` runs them: inputs read and checked, as one experiment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from wattpack.datasets import alibaba2023
from wattpack.datasets.edits import with_edits
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.datasets.speed_files import mean_speed, speeds_by_model
from wattpack.errors import UserError
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.lineup import BASELINE, MIXES, OWN_BEST
from wattpack.experiments.needs import need_gpus
from wattpack.experiments.scenario import Inputs, Scenario
from wattpack.experiments.spec.axes import Block, Experiment, first_seeds, resolve
from wattpack.experiments.spec.chosen import check_models, chosen_against
from wattpack.experiments.timed import TimedOutcome, run_timed_scenario
from wattpack.experiments.timed_fields import load_cap_tables, load_signals, load_speed_tables
from wattpack.experiments.timed_options import Timed
from wattpack.experiments.timed_run_files import encode_timed
from wattpack.experiments.timed_scenarios import load_timed
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.timed_tasks import TimedTasks
from wattpack.policies.expression import canonical

DEFAULT_POLICIES = (BASELINE, *MIXES, OWN_BEST)
DEFAULT_SEEDS = 2


def timed_experiment(
    timed: Timed,
    datacenters: Sequence[str] = (alibaba2023.NAME,),
    traces: Sequence[str] = ("default",),
    policies: Iterable[str] = DEFAULT_POLICIES,
    seeds: int = DEFAULT_SEEDS,
    profile: PowerProfile = PAPER,
    edits: tuple[Sequence[str], Sequence[str], Sequence[str]] = ((), (), ()),
    with_against: bool = True,
    against: str | Iterable[str] | None = None,
) -> Experiment:
    """One block of runs in time. `edits`: nodes added, removed and replaced in every datacenter.

    Loads and speeds refer to the first datacenter as it is without `edits`: with and without them, and on every
    datacenter, the tasks are the same. `against`: the policies that savings are against, the first where one is shown;
    they are run too, unless `with_against` is false.
    """
    first = load_datacenter(datacenters[0], power=profile)
    need_gpus(datacenters[0], first)
    named = tuple(dict.fromkeys(with_edits(name, *edits) for name in datacenters))
    nodes = {name: load_datacenter(name, power=profile) for name in named}
    for found in nodes.values():
        check_models(found, profile)
    names = tuple(dict.fromkeys(traces))
    tasks = {name: load_timed(name) for name in names}
    workloads = {name: own.workload if isinstance(own, TimedTasks) else load_trace(name) for name, own in tasks.items()}
    if timed.days and not timed.load and not any(name in alibaba2023.TRACES for name in names):
        raise UserError(
            f"days {timed.days:g} with tasks at their own times, expected a load to draw tasks at, or a horizon"
        )
    if timed.target:
        workloads.setdefault(timed.target, load_trace(timed.target))
    speeds = load_speed_tables((timed,))
    if timed.speed and not timed.speed_reference:
        by_model = speeds_by_model(speeds[timed.speed], first.models, timed.speed)
        timed = timed._replace(speed_reference=mean_speed(first, by_model))
    in_time = (tasks, load_signals((timed,)), speeds, load_cap_tables((timed,)))
    inputs = Inputs(nodes, workloads, {profile.name: profile}, *in_time)
    compared_with = chosen_against(against)
    wanted = (*compared_with, *policies) if with_against else tuple(policies)
    block = Block(
        tuple(dict.fromkeys(map(canonical, wanted))),
        names,
        named,
        first_seeds(seeds),
        (profile.name,),
        up_to=(),
        timed=(timed._replace(load_gpu_milli=first.gpu_milli),),
    )
    return Experiment("simulate", (block,), inputs, against=compared_with)


def notes_of(experiment: Experiment) -> list[str]:
    """What was assumed when the inputs were read, a line each."""
    inputs, found = experiment.inputs, list[str]()
    for signal in inputs.signals.values():
        found += [f"{signal.name}: {note}" for note in signal.notes]
        found.append("" if signal.name.endswith(signal.source) else f"{signal.name}: {signal.source}")
        for tasks in inputs.timed.values():
            start = tasks.start if isinstance(tasks, TimedTasks) else None
            told = any(timed.start for block in experiment.blocks for timed in block.timed)
            found.append("" if told else signal.clock_note(start))
    return [line for line in dict.fromkeys(found) if line and not line.endswith(": as given")]


def run_one(experiment: Experiment, out: str | Path) -> tuple[Scenario, TimedOutcome]:
    """The only run of an experiment, with what became of each task; its run file is stored too."""
    inputs, scenarios = resolve(experiment)
    if len(scenarios) != 1:
        raise UserError(f"{len(scenarios)} runs, expected one datacenter, trace, policy and seed")
    outcome = run_timed_scenario(scenarios[0], inputs)
    folder = ResultsFolder(out)
    folder.store(scenarios[0], encode_timed(scenarios[0], outcome))
    return scenarios[0], outcome
