"""A steady state: Poisson arrivals at an offered load, exponential durations, refused tasks dropped.

The paper fills a datacenter once; in real clusters tasks also leave. This is the second kind of scenario.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.inflation import node_order, seeded
from wattpack.datasets.offered import check_offered as check_offered  # part of what this module offers
from wattpack.datasets.offered import offered as offered
from wattpack.engine.core.engine import Engine
from wattpack.engine.moments.moves import Mover, Rounds, move_one
from wattpack.engine.moments.steady import Steady, simulate_steady
from wattpack.engine.runs.arrivals import draw_luck
from wattpack.engine.windows.batch import Batch
from wattpack.engine.windows.steady import simulate_steady_windows
from wattpack.errors import UserError
from wattpack.experiments.options import ARRIVALS, MAX_LOAD, Moving
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.optimise.defrag.search import Defrag
from wattpack.policies.expression import parse

if TYPE_CHECKING:
    from wattpack.experiments.scenario import Inputs, Scenario


def run_steady_state(scenario: Scenario, inputs: Inputs) -> Steady:
    """The steady state of a scenario."""
    assert scenario.steady is not None
    return run_steady(
        inputs.datacenters[scenario.datacenter],
        inputs.traces[scenario.trace],
        parse(scenario.policy),
        scenario.steady.load,
        scenario.seed,
        inputs.profiles[scenario.profile],
        scenario.steady.arrivals,
        scenario.batch,
        scenario.moving,
    )


def run_steady(
    datacenter: Datacenter,
    trace: Workload,
    mix: Mix,
    load: float,
    seed: int,
    profile: PowerProfile = PAPER,
    arrivals: int = ARRIVALS,
    batch: Batch | None = None,
    moving: Moving | None = None,
) -> Steady:
    """One run at offered load `load`, its second half measured. All policies of a seed see the same tasks."""
    if not 0 < load <= MAX_LOAD:
        raise UserError(f"steady load {load:g}, expected above 0 and at most {MAX_LOAD:g}")
    seeds = seeded(seed)
    workload, arrival_s, duration_s = offered(trace, datacenter.gpu_milli, load, arrivals, seeds.workload)
    shuffled = datacenter.ordered(node_order(datacenter, seeds.node_order))
    engine = Engine(shuffled, workload.classes, mix, Target.of(trace), profile)
    luck = draw_luck(workload, seeds.policy)
    times = (arrival_s, duration_s, luck, arrivals // 2)
    rounds = None
    if moving is not None:
        rounds = Rounds(new_mover(engine, workload, moving.moves), moving.every, moving.pause_s)
    if batch is not None:
        return simulate_steady_windows(engine, workload, *times, batch, rounds)[0]
    return simulate_steady(engine, workload, *times, rounds)[0]


def new_mover(engine: Engine, workload: Workload, most: int) -> Mover:
    """Defragments the engine's datacenter, at most `most` moves each time."""

    def move(present: NDArray[np.int64], node: NDArray[np.int32], gpus: NDArray[np.int32]) -> NDArray[np.int64]:
        there = np.sort(present)
        found = Defrag(engine.state, workload.sequence[there], node[there], gpus[there]).moves(most, thorough=False)
        for step in found:
            i = there[step.task]
            k, places = int(workload.sequence[i]), (step.from_node, step.from_gpus, step.to_node, step.to_gpus)
            move_one(engine.state, engine.plan, k, *places)
            node[i], gpus[i] = step.to_node, step.to_gpus
        return there[[step.task for step in found]]

    return move
