"""The steady state: tasks arrive and leave, a task that fits nowhere is dropped. Means over time after a warm-up."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
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
from wattpack.engine.moments.loop import MOVES, run_to_end
from wattpack.engine.moments.moves import Rounds
from wattpack.engine.moments.options import DROP, TimeOptions
from wattpack.engine.moments.run import MomentRun, new_moment_run
from wattpack.model.power import total_power
from wattpack.model.tasks import Workload
from wattpack.model.timed_tasks import TimedTasks


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


def simulate_steady(
    engine: Engine,
    workload: Workload,
    arrival_s: NDArray[np.float64],
    duration_s: NDArray[np.float64],
    luck: NDArray[np.float64],
    measured_from: int,
    rounds: Rounds | None = None,
) -> tuple[Steady, NDArray[np.int32], NDArray[np.int32]]:
    """Run `workload` with these times (arrivals ascending) on `engine`; also the node and the GPUs of each task."""
    run = new_steady_run(engine, workload, arrival_s, duration_s, luck, measured_from, rounds)
    run_to_end(engine, workload, run, moves_of(rounds, workload, run))
    return steady_of(workload, run, rounds), run.tasks.node, run.tasks.gpus


def new_steady_run(
    engine: Engine,
    workload: Workload,
    joined_s: NDArray[np.float64],
    duration_s: NDArray[np.float64],
    luck: NDArray[np.float64],
    measured_from: int,
    rounds: Rounds | None,
) -> MomentRun:
    """Until the last task is taken in."""
    begin_s, end_s = (float(joined_s[0]), float(joined_s[-1])) if len(workload) else (0.0, 0.0)
    tasks = TimedTasks(workload, joined_s, duration_s)
    every = rounds.every if rounds is not None else 0
    options = TimeOptions(DROP)
    return new_moment_run(
        engine.state, tasks, joined_s, luck, options, np.zeros(0), end_s, begin_s, measured_from, every
    )


def moves_of(rounds: Rounds | None, workload: Workload, run: MomentRun) -> dict[int, Callable[[], None]]:
    """What Python does in the loop."""
    return {} if rounds is None else {MOVES: lambda: rounds.move(workload, run)}


def steady_of(workload: Workload, run: MomentRun, rounds: Rounds | None = None) -> Steady:
    """The means of a finished run, and what the moves cost."""
    measured_s, measured_from = float(run.now[0].measured_s), run.measured_from
    means = run.integrals[:COLUMNS] / measured_s if measured_s > 0 else np.full(COLUMNS, np.nan)
    requested = workload.gpu_request_milli()[measured_from:]
    placed = requested[run.tasks.node[measured_from:] != NOWHERE].sum()
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
        measured_s=measured_s,
        base_w=float(means[BASE_POWER]) / 1000,
    )
