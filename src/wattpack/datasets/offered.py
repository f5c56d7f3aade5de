"""Tasks of a steady state, drawn from a trace: Poisson arrivals at an offered load, exponential durations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.model.tasks import Workload

MEAN_DURATION_S = 3600.0  # sets the unit of time: only limits and pauses in seconds depend on it


def check_offered(trace: Workload, capacity_gpu_milli: int) -> None:
    """A load is a share of GPUs: a steady state needs tasks that request GPUs, and GPUs."""
    if len(trace) == 0 or trace.gpu_request_milli().sum() == 0 or capacity_gpu_milli == 0:
        raise UserError(
            f"{trace.name}: no GPU is asked for or there is none, expected a GPU workload for a steady state"
        )


def offered(
    trace: Workload, capacity_gpu_milli: int, load: float, arrivals: int, rng: np.random.Generator
) -> tuple[Workload, NDArray[np.float64], NDArray[np.float64]]:
    """Tasks drawn from the trace with their arrival times and durations, such that `load` of the GPUs are asked for."""
    check_offered(trace, capacity_gpu_milli)
    mean_milli = float(trace.gpu_request_milli().mean())
    rate = load * capacity_gpu_milli / (mean_milli * MEAN_DURATION_S)
    sequence = trace.sequence[rng.integers(len(trace), size=arrivals)]
    arrival_s = np.cumsum(rng.exponential(1 / rate, size=arrivals))
    return trace.with_sequence(sequence), arrival_s, rng.exponential(MEAN_DURATION_S, size=arrivals)
