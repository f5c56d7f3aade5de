"""A scene over time as the scenario of `wattpack simulate` that it is: the map and "Why here?" run the same."""

from __future__ import annotations

from dataclasses import replace

from wattpack.experiments.scenario import Inputs, Scenario
from wattpack.experiments.spec.axes import resolve
from wattpack.experiments.timed_experiment import timed_experiment
from wattpack.experiments.timed_fields import timed_of
from wattpack.ui.sources import Sources
from wattpack.ui.wire import TimedScene


def timed_scenario(request: TimedScene, sources: Sources) -> tuple[Inputs, Scenario]:
    """Tasks drawn at a load with the seed, or without a seed those of a file at their own times."""
    drawn = {"load": request.load, "days": request.days} if request.seed is not None else {}
    experiment = timed_experiment(
        timed_of({**drawn, "sleep": request.sleep or None}),
        [sources.datacenter_path(request.datacenter)],
        [sources.trace_path(request.trace)],
        [request.policy],
        1,
        sources.profile(request.profile),
        (request.add, request.remove, request.replace),
        with_against=False,
    )
    if request.seed is not None:
        blocks = tuple(replace(block, seeds=(request.seed,)) for block in experiment.blocks)
        experiment = replace(experiment, blocks=blocks)
    inputs, (scenario,) = resolve(experiment)
    return inputs, scenario
