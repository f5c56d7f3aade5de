"""An experiment: products of axes, resolved to scenarios before anything runs. `reader.py` reads one from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod
from pathlib import Path

from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import FIRST_SEED as FIRST_SEED
from wattpack.datasets.inflation import UP_TO, check_drawn
from wattpack.engine.windows.batch import Batch
from wattpack.errors import UserError
from wattpack.experiments.options import Moving, Offered
from wattpack.experiments.saving import DEFAULT_AGAINST
from wattpack.experiments.scenario import STEADY, Inputs, Scenario, new_scenario
from wattpack.experiments.spec.sections import batch_keys, moving_keys, steady_keys
from wattpack.experiments.steady import check_offered
from wattpack.experiments.timed_fields import timed_keys
from wattpack.experiments.timed_options import Timed
from wattpack.model.power import PAPER

DEFAULT_SEEDS = 10
MAX_SEEDS = 10_000
MAX_SEED = 2**32 - 1
MAX_RUNS = 1_000_000


@dataclass(frozen=True)
class Block:
    """One product of axes: every combination is run, as a fill-up, as a steady state at each offered load, in time."""

    policies: tuple[str, ...]  # canonical expressions
    traces: tuple[str, ...] = ("default",)
    datacenters: tuple[str, ...] = (alibaba2023.NAME,)
    seeds: tuple[int, ...] = tuple(range(FIRST_SEED, FIRST_SEED + DEFAULT_SEEDS))
    profiles: tuple[str, ...] = (PAPER.name,)
    up_to: tuple[float, ...] = (UP_TO,)  # loads at which fill-ups end; empty: no fill-ups
    batches: tuple[Batch | None, ...] = (None,)  # None: no windows
    steady: tuple[Offered, ...] = ()  # empty: no steady states
    movings: tuple[Moving | None, ...] = (None,)  # of steady states
    timed: tuple[Timed, ...] = ()  # empty: no runs in time

    def axes(self) -> dict[str, tuple[object, ...]]:
        """By the keys of the file, in the order of a product that keeps the policies of one workload together."""
        windows = batch_keys(self.batches)
        found: dict[str, tuple[object, ...]] = {
            "seeds": self.seeds,
            "datacenter": self.datacenters,
            "profile": self.profiles,
            "up_to": self.up_to,
            "trace": self.traces,
            "batch": windows.pop("batch"),
            "policy": self.policies,
        }
        return found | windows | steady_keys(self.steady) | moving_keys(self.movings) | timed_keys(self.timed)

    def fill_ups(self, inputs: Inputs, seed: int) -> Iterator[Scenario]:
        axes = product(self.datacenters, self.profiles, self.up_to, self.traces, self._windows(), self.policies)
        for datacenter, profile, up_to, trace, batch, policy in axes:
            yield new_scenario(inputs, datacenter, trace, policy, seed, profile, up_to, batch)

    def steady_states(self, inputs: Inputs, seed: int) -> Iterator[Scenario]:
        if not self.steady:
            return
        axes = product(self.datacenters, self.profiles, self.traces, self._windows(), self.policies)
        for datacenter, profile, trace, window, policy in axes:
            plain = new_scenario(inputs, datacenter, trace, policy, seed, profile, kind=STEADY)
            held = [batch for batch in self.batches if _without_hold(batch) == window]
            for steady, batch, moving in product(self.steady, held, self.movings):
                yield replace(plain, batch=batch, steady=steady, moving=moving)

    def runs_in_time(self, inputs: Inputs, seed: int) -> Iterator[Scenario]:
        """Tasks at their own times are run once, whatever the seeds."""
        if not self.timed:
            return
        from wattpack.experiments.timed_scenarios import timed_scenario  # 30 ms that other kinds do without

        axes = product(self.profiles, self.traces, self.timed, self.datacenters, self.policies)
        for profile, trace, timed, datacenter, policy in axes:
            yield timed_scenario(inputs, datacenter, trace, policy, seed, profile, timed, self.datacenters[0])

    def _windows(self) -> tuple[Batch | None, ...]:
        """The windows of a fill-up, which has no time: without the limits in seconds."""
        return tuple(dict.fromkeys(_without_hold(batch) for batch in self.batches))

    def __len__(self) -> int:
        """The number of runs."""
        axes = (self.policies, self.traces, self.datacenters, self.seeds, self.profiles)
        steady = len(self.steady) * len(self.batches) * len(self.movings)
        return prod(map(len, axes)) * (len(self.up_to) * len(self._windows()) + steady + len(self.timed))


def _without_hold(batch: Batch | None) -> Batch | None:
    return None if batch is None else batch._replace(seconds=inf)


@dataclass(frozen=True)
class Experiment:
    """What is to be run, and on what: everything has been read."""

    name: str
    blocks: tuple[Block, ...]
    inputs: Inputs
    power_files: tuple[tuple[Path, str | None], ...] = ()  # of an experiment file, with the profile it is laid over
    against: tuple[str, ...] = DEFAULT_AGAINST  # the policies that savings are against, the first where one is shown

    def with_seeds(self, count: int) -> Experiment:
        """The same experiment with the first `count` seeds in every block."""
        return replace(self, blocks=tuple(replace(block, seeds=first_seeds(count)) for block in self.blocks))


def first_seeds(count: int) -> tuple[int, ...]:
    if not 1 <= count <= MAX_SEEDS:
        raise UserError(f"seeds: {count}, expected 1 to {MAX_SEEDS}")
    return tuple(range(FIRST_SEED, FIRST_SEED + count))


def resolve(experiment: Experiment) -> tuple[Inputs, tuple[Scenario, ...]]:
    """Every scenario of the experiment, each once: the fill-ups, the steady states, then the runs in time.

    Seeds are outermost: a user who stops early has all policies on some seeds, not some policies on all.
    """
    inputs = experiment.inputs
    for block in experiment.blocks:
        for datacenter, trace in product(block.datacenters, block.traces):
            capacity_milli = inputs.datacenters[datacenter].gpu_milli
            for up_to in block.up_to:
                check_drawn(inputs.traces[trace], capacity_milli, up_to)
            if block.steady:
                check_offered(inputs.traces[trace], capacity_milli)
    timed = list(dict.fromkeys(_all(experiment, Block.runs_in_time)))
    if timed:
        from wattpack.experiments.timed_scenarios import check_timed

        check_timed(timed, inputs)
    found = [*_all(experiment, Block.fill_ups), *_all(experiment, Block.steady_states), *timed]
    return inputs, tuple(dict.fromkeys(found))


def _all(
    experiment: Experiment, scenarios_of: Callable[[Block, Inputs, int], Iterator[Scenario]]
) -> Iterator[Scenario]:
    seeds = [frozenset(block.seeds) for block in experiment.blocks]
    for seed in dict.fromkeys(seed for block in experiment.blocks for seed in block.seeds):
        for block, own_seeds in zip(experiment.blocks, seeds, strict=True):
            if seed in own_seeds:
                yield from scenarios_of(block, experiment.inputs, seed)
