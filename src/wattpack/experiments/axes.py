"""An experiment: products of axes, resolved to scenarios before anything runs. `spec.py` reads one from a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import prod

from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import UP_TO
from wattpack.errors import UserError
from wattpack.experiments.scenario import Inputs, Scenario, new_scenario
from wattpack.model.power import PAPER

DEFAULT_SEEDS = 10
FIRST_SEED = 42
MAX_SEEDS = 10_000
MAX_SEED = 2**32 - 1
MAX_RUNS = 1_000_000


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

    def axes(self) -> dict[str, tuple[object, ...]]:
        """By the keys of the file, in the order of a product that keeps the policies of one workload together."""
        return {
            "seeds": self.seeds,
            "datacenter": self.datacenters,
            "profile": self.profiles,
            "up_to": self.up_to,
            "trace": self.traces,
            "batch": self.batches,
            "policy": self.policies,
        }

    def __len__(self) -> int:
        """How many runs these are."""
        return prod(len(values) for values in self.axes().values())


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
    seeds = dict.fromkeys(seed for block in experiment.blocks for seed in block.seeds)
    found: dict[Scenario, None] = {}
    for seed in seeds:
        for block in experiment.blocks:
            if seed in block.seeds:
                axes = product(
                    block.datacenters, block.profiles, block.up_to, block.traces, block.batches, block.policies
                )
                for datacenter, profile, up_to, trace, batch, policy in axes:
                    one = new_scenario(experiment.inputs, datacenter, trace, policy, seed, profile, up_to, batch)
                    found[one] = None
    return experiment.inputs, tuple(found)
