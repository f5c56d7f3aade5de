"""The paper's experiment, a fill-up: a shuffled datacenter and a shuffled, inflated workload, task after task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wattpack.datasets.inflation import UP_TO, node_order, run_workload, seeded
from wattpack.engine.runs.arrivals import simulate
from wattpack.engine.runs.record import Run
from wattpack.engine.windows.batch import Batch, simulate_windows
from wattpack.experiments.recent import Recent
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.policies.expression import parse

if TYPE_CHECKING:  # how scenarios are made is no part of their runs: an edit there keeps finished ones
    from wattpack.experiments.scenario import Inputs, Scenario

# Runs of one seed come together, so few are enough; a datacenter of 100,000 nodes is 15 MB.
_targets, _workloads, _ordered = Recent(32), Recent(8), Recent(4)


def run_fill_up(scenario: Scenario, inputs: Inputs) -> Run:
    """The same as `run_seed`; what the runs of one seed share is made once (1.1 ms of a run of 45, measured)."""
    datacenter, trace = inputs.datacenters[scenario.datacenter], inputs.traces[scenario.trace]
    seeds, up_to = seeded(scenario.seed), scenario.up_to
    target = _targets.get(scenario.trace_digest, lambda: Target.of(trace))
    workload = _workloads.get(
        (scenario.trace_digest, datacenter.gpu_milli, scenario.seed, up_to),
        lambda: run_workload(trace, datacenter.gpu_milli, seeds.workload, up_to),
    )
    shuffled = _ordered.get(
        (scenario.datacenter_digest, scenario.seed),
        lambda: datacenter.ordered(node_order(datacenter, seeds.node_order)),
    )
    profile = inputs.profiles[scenario.profile]
    mix = parse(scenario.policy)
    if scenario.batch is not None:
        return simulate_windows(shuffled, workload, mix, target, seeds.policy, profile, scenario.batch)
    return simulate(shuffled, workload, mix, target, seeds.policy, profile)


def run_seed(
    datacenter: Datacenter,
    trace: Workload,
    mix: Mix,
    seed: int,
    profile: PowerProfile = PAPER,
    up_to: float = UP_TO,
    batch: Batch | None = None,
) -> Run:
    """One run of the paper's experiment; all policies of a seed see the same workload and node order."""
    seeds = seeded(seed)
    workload = run_workload(trace, datacenter.gpu_milli, seeds.workload, up_to)
    shuffled = datacenter.ordered(node_order(datacenter, seeds.node_order))
    if batch is not None:
        return simulate_windows(shuffled, workload, mix, Target.of(trace), seeds.policy, profile, batch)
    return simulate(shuffled, workload, mix, Target.of(trace), seeds.policy, profile)
