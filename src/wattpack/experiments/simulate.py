"""`wattpack.simulate`: one run in Python, in the same words as the command line."""

from __future__ import annotations

from typing import Literal

from wattpack.datasets.inflation import seeded
from wattpack.engine.arrivals import simulate as simulate_arrivals
from wattpack.engine.learning import LEARNT, simulate_learning
from wattpack.engine.record import Run
from wattpack.errors import UserError
from wattpack.experiments.scenario import run_seed
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.policies.expression import parse


def simulate(
    datacenter: Datacenter,
    workload: Workload,
    policy: str,
    *,
    seed: int | None = None,
    target: Workload | Literal["learnt"] | None = None,
    profile: PowerProfile = PAPER,
) -> Run:
    """One run of `policy` (an expression such as `pwr:0.1+fgd:0.9`); the result's columns have one row a task.

    Without `seed` the tasks come in the order of `workload` and ties go to the first node, as in `wattpack replay`;
    `target` is the trace that the target workload is taken from (default: `workload`); "learnt": from the tasks seen.
    With `seed` it is the paper's experiment, as in `wattpack compare`: `workload` is the trace, shuffled and drawn from
    until 1.3 times the GPU capacity is asked for, on nodes in random order.
    """
    mix = parse(policy)
    if seed is not None:
        return run_seed(datacenter, workload, mix, seed, profile)
    if isinstance(target, str):
        if target != LEARNT:
            raise UserError(f"target {target!r}, expected a workload or {LEARNT!r}")
        return simulate_learning(datacenter, workload, mix, seeded(0).policy, profile)
    return simulate_arrivals(datacenter, workload, mix, Target.of(target or workload), seeded(0).policy, profile)
