"""The result of a timed run: means over the measured time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wattpack.engine.core.state import (
    ALLOCATED,
    BASE_POWER,
    COLUMNS,
    CPU_POWER,
    FRAGMENTATION,
    GPU_POWER,
    MICRO,
    NOWHERE,
)
from wattpack.engine.runs.moves import Rounds
from wattpack.engine.runs.timed_run import TimedRun
from wattpack.model.power import total_power
from wattpack.model.tasks import Workload


class Steady(NamedTuple):
    """Means over the measured time."""

    eopc_w: float
    cpu_w: float
    gpu_w: float
    allocated_gpus: float
    grar: float  # GPU placed / GPU requested, of the measured arrivals
    fragmentation_gpus: float
    arrivals: int  # measured arrivals
    moves: int = 0  # moves of placed tasks in the measured time
    lost_gpu_s: float = 0.0  # GPU-seconds for which moved tasks were paused in the measured time
    measured_s: float = 0.0
    mean_wait_s: float = 0.0  # from arrival until the batch window closed, of the measured arrivals
    largest_wait_s: float = 0.0
    base_w: float = 0.0  # part of `eopc_w`, as `cpu_w` and `gpu_w` are

    @property
    def w_per_gpu(self) -> float:
        """Watts per GPU allocated: the fair measure where policies serve different amounts."""
        return self.eopc_w / self.allocated_gpus if self.allocated_gpus > 0 else float("nan")

    @property
    def paused_gpus(self) -> float:
        """GPUs of paused tasks, mean over time."""
        return self.lost_gpu_s / self.measured_s if self.measured_s > 0 else 0.0


def steady_of(workload: Workload, run: TimedRun, rounds: Rounds | None = None) -> Steady:
    """The means of a finished run, and what the moves cost."""
    integrals, measured_from = run.integrals, run.measured_from
    means = integrals[:COLUMNS] / integrals[COLUMNS] if integrals[COLUMNS] > 0 else np.full(COLUMNS, np.nan)
    requested = workload.gpu_request_milli()[measured_from:]
    placed = requested[run.node[measured_from:] != NOWHERE].sum()
    return Steady(
        eopc_w=float(total_power(means[CPU_POWER], means[GPU_POWER], means[BASE_POWER])) / 1000,
        cpu_w=float(means[CPU_POWER]) / 1000,
        gpu_w=float(means[GPU_POWER]) / 1000,
        allocated_gpus=float(means[ALLOCATED]) / 1000,
        grar=float(placed / requested.sum()) if requested.sum() > 0 else 1.0,
        fragmentation_gpus=float(means[FRAGMENTATION:].sum()) / MICRO / 1000,
        arrivals=len(workload) - measured_from,
        moves=rounds.moves if rounds is not None else 0,
        lost_gpu_s=rounds.lost_gpu_s if rounds is not None else 0.0,
        measured_s=float(integrals[COLUMNS]),
        base_w=float(means[BASE_POWER]) / 1000,
    )
