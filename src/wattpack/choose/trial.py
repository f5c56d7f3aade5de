"""Tries members of the portfolio on a small fleet: GRAR and watts per GPU served at several loads, by seed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.choose.small_fleet import runs_for, scaled
from wattpack.datasets.inflation import node_order, run_workload, seeded
from wattpack.datasets.offered import offered
from wattpack.engine.core.engine import Engine
from wattpack.engine.moments.steady import simulate_steady
from wattpack.engine.runs.arrivals import draw_luck, simulate
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.policies.expression import FILL_UP, STEADY

FIRST_SEED = (
    7_000_000  # far from the seeds of runs, which start at 42: a choice must not be made on what it is judged by
)
UP_TO = 0.92
GRAR_AT = np.round(np.arange(2, 19) * 0.05, 2)  # loads 0.1 to 0.9
WATTS_AT = np.round(np.arange(2, 10) * 0.1, 1)  # 0.2 to 0.9
STEADY_AT = (0.9, 0.6)  # offered loads; first the one at which most members serve less than FGD
STEADY_DURATIONS = 6  # mean durations; the second half is measured


class Size(NamedTuple):
    """How much is simulated."""

    held: int  # tasks that the small fleet holds when it is full
    tasks: int  # that all seeds together take in, at least
    least_seeds: int
    most_seeds: int
    first_seed: int


# Every member is tried; then the best one is checked on a larger copy of the fleet and other seeds.
TRY = {FILL_UP: Size(6000, 12_000, 2, 12, FIRST_SEED), STEADY: Size(1200, 1200, 1, 4, FIRST_SEED)}
CHECK = {
    FILL_UP: Size(20_000, 60_000, 4, 24, FIRST_SEED + 1000),
    STEADY: Size(4000, 8000, 2, 8, FIRST_SEED + 1000),
}


class Measured(NamedTuple):
    """What one run of a member found; a steady state is one run for each offered load."""

    grar: NDArray[np.float64]  # at each load
    w_per_gpu: NDArray[np.float64]  # watts per GPU served, at each load


class Trial:
    """One fleet, workload, profile and regime; `run` makes one of `runs`: a seed and an end or offered load."""

    def __init__(self, fleet: Datacenter, trace: Workload, profile: PowerProfile, regime: str, size: Size) -> None:
        self.trace, self.profile, self.target, self.regime = trace, profile, Target.of(trace), regime
        self.fleet = scaled(fleet, trace, size.held)
        count = runs_for(self.fleet, trace, size.tasks, size.least_seeds, size.most_seeds)
        self.parts = (UP_TO,) if regime == FILL_UP else STEADY_AT
        seeds = range(size.first_seed, size.first_seed + count)
        self.runs = tuple((seed, part) for seed in seeds for part in self.parts)

    def run(self, mix: Mix, seed: int, part: float) -> Measured:
        return self._fill_up(mix, seed) if self.regime == FILL_UP else self._steady(mix, seed, part)

    def _fill_up(self, mix: Mix, seed: int) -> Measured:
        seeds, capacity = seeded(seed), self.fleet.gpu_milli
        workload = run_workload(self.trace, capacity, seeds.workload, UP_TO)
        shuffled = self.fleet.ordered(node_order(self.fleet, seeds.node_order))
        run = simulate(shuffled, workload, mix, self.target, seeds.policy, self.profile)
        if len(run) == 0:  # the first task alone asks for more GPUs than there are
            return Measured(np.ones(len(GRAR_AT)), np.zeros(len(WATTS_AT)))
        requested, served, power_w = run.requested_milli, run.allocated_milli, run.power_w

        def after(loads: NDArray[np.float64]) -> NDArray[np.int64]:
            """The last task that has come by each load; the first one where none has."""
            found: NDArray[np.int64] = np.searchsorted(requested, np.floor(loads * capacity + 0.5), side="right")
            return np.maximum(found - 1, 0)

        grar_at, watts_at = after(GRAR_AT), after(WATTS_AT)
        grar = served[grar_at] / np.maximum(requested[grar_at], 1)
        return Measured(grar, power_w[watts_at] / (np.maximum(served[watts_at], 1) / 1000))

    def _steady(self, mix: Mix, seed: int, load: float) -> Measured:
        seeds, capacity = seeded(seed), self.fleet.gpu_milli
        mean_milli = float(self.trace.gpu_request_milli().mean())
        arrivals = max(200, int(STEADY_DURATIONS * load * capacity / mean_milli))
        workload, arrival_s, duration_s = offered(self.trace, capacity, load, arrivals, seeds.workload)
        shuffled = self.fleet.ordered(node_order(self.fleet, seeds.node_order))
        engine = Engine(shuffled, workload.classes, mix, self.target, self.profile)
        luck = draw_luck(workload, seeds.policy)
        found, _, _ = simulate_steady(engine, workload, arrival_s, duration_s, luck, arrivals // 2)
        return Measured(np.array([found.grar]), np.array([found.eopc_w / max(found.allocated_gpus, 1e-3)]))
