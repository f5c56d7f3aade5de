"""The result of a run in time as it is stored: its numbers, and its series by mark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.moments.record import TimeRecord

if TYPE_CHECKING:
    from wattpack.energy.account import Account

NAN = float("nan")
J_PER_KWH = 3.6e6


class TimedNumbers(NamedTuple):
    """All over the horizon; NaN where it does not apply."""

    kwh: float  # of IT
    facility_kwh: float
    mean_kw: float
    p99_kw: float  # not exceeded for 99 % of the time
    peak_kw: float
    co2_operational_kg: float
    co2_embodied_kg: float
    sci_g_per_gpu_hour: float
    money: float
    gpu_hours: float
    wh_per_gpu_hour: float
    work: float  # A100-hours of batch tasks
    kwh_per_work: float
    arrived: int
    done: int
    running: int
    waiting: int
    failed: int
    refused: int
    gave_up: int
    wait_mean_s: float
    wait_p50_s: float
    wait_p95_s: float
    wait_p99_s: float
    slowdown_mean: float  # bounded slowdown
    slowdown_p95: float
    gpu_kwh: float
    cpu_kwh: float
    base_kwh: float
    asleep_kwh: float
    transition_kwh: float
    horizon_s: float
    nodes: int = 0
    # of nodes that sleep
    wakes: float = NAN
    asleep_node_hours: float = NAN
    mean_asleep_nodes: float = NAN
    moves: float = NAN  # of running tasks, where nodes are emptied by them
    paused_gpu_hours: float = NAN  # of moved tasks
    least_kwh: float = NAN  # of any schedule with the same tasks running at each moment
    start_s: float = NAN  # clock time of the first arrival, seconds since 1970 in its own time zone
    currency: str = ""
    # run files of earlier versions lack these
    wait_max_s: float = NAN
    # of finished tasks, from arrival to end
    jct_mean_s: float = NAN
    jct_p50_s: float = NAN
    jct_p95_s: float = NAN
    jct_p99_s: float = NAN
    makespan_s: float = NAN  # from the first arrival to the last end


def numbers_of(account: Account, start_s: float = NAN) -> TimedNumbers:
    """The account as numbers; what it has not is NaN."""
    found: dict[str, float | int | str] = {}
    for name in TimedNumbers._fields:
        if name not in ("start_s", "currency"):
            value = getattr(account, name)
            number = (
                float(value) if name in ("wakes", "moves") and value is not None else value
            )  # one type in all files
            found[name] = NAN if number is None else number
    return TimedNumbers(**found, start_s=start_s, currency=account.currency)  # type: ignore[arg-type]


# The columns of the series, with their units; `TimedRun.columns` gives them to the user.
SERIES = {
    "time_s": "seconds from the first arrival",
    "power_w": "IT power from then on, W",
    "kwh": "IT energy since the start, kWh",
    "allocated_gpus": "GPUs in use from then on",
    "gpu_hours": "GPU-hours delivered since the start",
    "queued": "tasks that wait",
    "running": "tasks that run",
}
# Where nodes sleep, they are in one of these states each.
NODES_BY_STATE = {
    "busy_nodes": "nodes awake with a task that runs",
    "empty_nodes": "nodes awake without a task",
    "transition_nodes": "nodes that wake or shut down",
    "asleep_nodes": "nodes asleep",
}


@dataclass(frozen=True)
class Series:
    """By mark: every sample, the time stamps of signals, the end of the horizon."""

    time_s: NDArray[np.float64]
    power_w: NDArray[np.float64]
    kwh: NDArray[np.float64]
    allocated_gpus: NDArray[np.float64]
    gpu_hours: NDArray[np.float64]
    queued: NDArray[np.float64]
    running: NDArray[np.float64]
    # None where all nodes stay awake
    busy_nodes: NDArray[np.float64] | None = None
    empty_nodes: NDArray[np.float64] | None = None
    transition_nodes: NDArray[np.float64] | None = None
    asleep_nodes: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def sleeps(self) -> bool:
        return self.asleep_nodes is not None

    @property
    def meaning(self) -> dict[str, str]:
        """What each column holds, and its unit."""
        return SERIES | (NODES_BY_STATE if self.sleeps else {})

    def columns(self) -> dict[str, NDArray[np.float64]]:
        return {name: getattr(self, name) for name in self.meaning}


def series_of(record: TimeRecord, nodes: int | None = None) -> Series:
    """`nodes`: of the datacenter, where they may sleep."""
    by_state: dict[str, NDArray[np.float64]] = {}
    if nodes is not None:
        busy, asleep, moving = record.busy_nodes, record.asleep_nodes, record.transition_nodes
        states = (busy, nodes - busy - asleep - moving, moving, asleep)
        by_state = {name: one.astype(np.float64) for name, one in zip(NODES_BY_STATE, states, strict=True)}
    return Series(
        time_s=record.mark_s,
        power_w=record.power_w,
        kwh=record.energy_j.sum(axis=1) / J_PER_KWH,
        allocated_gpus=record.allocated_gpus,
        gpu_hours=record.gpu_s / 3600,
        queued=record.queued.astype(np.float64),
        running=record.running.astype(np.float64),
        **by_state,
    )
