"""An experiment: products of axes, resolved to scenarios before anything runs. `spec.py` reads one from a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf, prod

from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import UP_TO, check_drawn
from wattpack.errors import UserError
from wattpack.experiments.regime import Moving, Regime
from wattpack.experiments.scenario import Inputs, Scenario, new_scenario
from wattpack.model.power import PAPER

DEFAULT_SEEDS = 10
FIRST_SEED = 42
MAX_SEEDS = 10_000
MAX_SEED = 2**32 - 1
MAX_RUNS = 1_000_000


@dataclass(frozen=True)
class SteadyAxes:
    """The steady states of a block, every combination; none without `steady`. By the keys of the file."""

    steady: tuple[float, ...] = ()  # offered loads
    batch_seconds: tuple[float, ...] = (inf,)
    defrag_every: tuple[int, ...] = (0,)  # 0: no moves
    defrag_moves: tuple[int, ...] = (100,)
    defrag_pause_seconds: tuple[float, ...] = (0.0,)

    def regimes(self, batch: int) -> tuple[Regime, ...]:
        """Each once: without windows nothing is held, and without moves nothing pauses."""
        axes = product(self.steady, self.batch_seconds, self.defrag_every, self.defrag_moves, self.defrag_pause_seconds)
        found = (
            Regime(load, seconds if batch > 1 else inf, Moving(every, moves, pause_s) if every > 0 else None)
            for load, seconds, every, moves, pause_s in axes
        )
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Block:
    """One product of axes: every combination is run."""

    policies: tuple[str, ...]  # canonical expressions
    traces: tuple[str, ...] = ("default",)
    datacenters: tuple[str, ...] = (alibaba2023.NAME,)
    seeds: tuple[int, ...] = tuple(range(FIRST_SEED, FIRST_SEED + DEFAULT_SEEDS))
    profiles: tuple[str, ...] = (PAPER.name,)
    up_to: tuple[float, ...] = (UP_TO,)
    batches: tuple[int, ...] = (1,)  # sizes of windows
    milp_seconds: tuple[float, ...] = (0.0,)  # limits of the windows' MILP
    steady: SteadyAxes = field(default_factory=SteadyAxes)

    def axes(self) -> dict[str, tuple[object, ...]]:
        """By the keys of the file, in the order of a product that keeps the policies of one workload together.

        Of the later keys only those that say something.
        """
        found: dict[str, tuple[object, ...]] = {
            "seeds": self.seeds,
            "datacenter": self.datacenters,
            "profile": self.profiles,
            "up_to": self.up_to,
            "trace": self.traces,
            "batch": self.batches,
            "policy": self.policies,
        }
        said, unsaid = vars(self.steady), vars(SteadyAxes())
        later = {"batch_milp_seconds": (self.milp_seconds, (0.0,))} | {key: (said[key], unsaid[key]) for key in said}
        return found | {key: values for key, (values, default) in later.items() if values != default}

    def scenarios(self, inputs: Inputs, seed: int) -> Iterator[Scenario]:
        axes = product(
            *(self.datacenters, self.profiles, self.up_to, self.traces, self.batches, self.milp_seconds, self.policies)
        )
        for datacenter, profile, up_to, trace, batch, milp_seconds, policy in axes:
            yield new_scenario(inputs, datacenter, trace, policy, seed, profile, up_to, batch, milp_seconds)

    def __len__(self) -> int:
        """How many runs these are at most: some combinations may be the same run."""
        one_load = prod(
            len(values)
            for values in (self.policies, self.traces, self.datacenters, self.seeds, self.profiles, self.batches)
        ) * len(self.milp_seconds)
        return one_load * (len(self.up_to) + prod(len(values) for values in vars(self.steady).values()))


@dataclass(frozen=True)
class Experiment:
    """What is to be run, and what it is run on: everything has been read."""

    name: str
    blocks: tuple[Block, ...]
    inputs: Inputs

    def with_seeds(self, count: int) -> Experiment:
        """The same with so many seeds, the first ones, in every block."""
        return replace(self, blocks=tuple(replace(block, seeds=first_seeds(count)) for block in self.blocks))


def first_seeds(count: int) -> tuple[int, ...]:
    if not 1 <= count <= MAX_SEEDS:
        raise UserError(f"seeds: {count}, expected 1 to {MAX_SEEDS}")
    return tuple(range(FIRST_SEED, FIRST_SEED + count))


def resolve(experiment: Experiment) -> tuple[Inputs, tuple[Scenario, ...]]:
    """Every run of the experiment, each once.

    Seeds outermost: whoever stops early has all policies on some seeds, not some policies on all.
    """
    for block in experiment.blocks:
        for datacenter, trace, up_to in product(block.datacenters, block.traces, block.up_to):
            inputs = experiment.inputs
            check_drawn(inputs.traces[trace], inputs.datacenters[datacenter].gpu_milli, up_to)
    return experiment.inputs, tuple(dict.fromkeys(scenario for _, scenario in _all(experiment)))


def resolve_steady(experiment: Experiment) -> tuple[tuple[Scenario, Regime], ...]:
    """Every steady state of the experiment, each once. They do not fill up, so `up_to` says nothing."""
    found = (
        (replace(scenario, up_to=UP_TO), regime)
        for block, scenario in _all(experiment)
        for regime in block.steady.regimes(scenario.batch)
    )
    return tuple(dict.fromkeys(found))


def _all(experiment: Experiment) -> Iterator[tuple[Block, Scenario]]:
    seeds = [frozenset(block.seeds) for block in experiment.blocks]
    for seed in dict.fromkeys(seed for block in experiment.blocks for seed in block.seeds):
        for block, mine in zip(experiment.blocks, seeds, strict=True):
            if seed in mine:
                for scenario in block.scenarios(experiment.inputs, seed):
                    yield block, scenario
