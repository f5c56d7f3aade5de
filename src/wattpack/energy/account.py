"""What a run in time cost: energy, carbon, money, work done and waiting. Formulas: docs/guide/energy.md."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattpack.energy.embodied import Embodied
from wattpack.energy.waiting import completion_of, waiting_of
from wattpack.engine.moments.options import Speeds
from wattpack.engine.moments.record import (
    ASLEEP,
    BASE,
    CPU,
    DONE,
    FAILED,
    GAVE_UP,
    GPU,
    NO_PART,
    OUTCOMES,
    PARTS,
    REFUSED,
    RUNNING,
    TRANSITION,
    WAITING,
    TimeRecord,
)
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.steps import Steps
from wattpack.model.timed_tasks import TimedTasks

J_PER_KWH = 3.6e6
HOUR_S = 3600.0


@dataclass(frozen=True)
class Account:
    """All over the horizon. None where it does not apply: no carbon intensity, no price, no speeds, no GPU-hours."""

    # IT energy
    kwh: float
    gpu_kwh: float
    cpu_kwh: float
    base_kwh: float
    asleep_kwh: float  # drawn by nodes asleep
    transition_kwh: float  # drawn by nodes that shut down or wake
    facility_kwh: float  # IT energy times PUE
    pue: float
    # IT power; NaN for a run of no length
    mean_kw: float
    p99_kw: float  # not exceeded for 99 % of the time
    peak_kw: float
    # emissions
    co2_operational_kg: float | None
    co2_embodied_kg: float
    co2_kg: float | None  # both
    sci_g_per_gpu_hour: float | None
    # money
    money: float | None
    currency: str
    # what was delivered
    gpu_hours: float
    wh_per_gpu_hour: float | None  # IT energy
    work: float | None  # A100-hours of batch tasks
    kwh_per_work: float | None  # IT energy per A100-hour
    # tasks that arrived in the horizon
    arrived: int
    done: int
    running: int
    waiting: int
    failed: int
    refused: int
    gave_up: int
    # how long they waited: energy/waiting.py
    wait_mean_s: float | None
    wait_p50_s: float | None
    wait_p95_s: float | None
    wait_p99_s: float | None
    slowdown_mean: float | None
    slowdown_p95: float | None
    horizon_s: float
    nodes: int = 0
    # of nodes that sleep; None where they do not
    wakes: int | None = None
    asleep_node_hours: float | None = None
    mean_asleep_nodes: float | None = None
    # of running tasks that are moved so that nodes become empty; None where none may be
    moves: int | None = None
    paused_gpu_hours: float | None = None
    least_kwh: float | None = None  # of any schedule with the same tasks at each moment; None where not asked for
    wait_max_s: float | None = None
    # of finished tasks, from arrival to end; None where none is. `makespan_s`: from the first arrival to the last end
    jct_mean_s: float | None = None
    jct_p50_s: float | None = None
    jct_p95_s: float | None = None
    jct_p99_s: float | None = None
    makespan_s: float | None = None


def account(
    record: TimeRecord,
    tasks: TimedTasks,
    datacenter: Datacenter,
    *,
    pue: float = 1.0,
    carbon: Steps | None = None,
    price: Steps | None = None,
    currency: str = "",
    embodied: Embodied | None = None,
    speeds: Speeds | None = None,
    sleeps: bool = False,
    moves: bool = False,
) -> Account:
    """The account of a run of these tasks on this datacenter, whose node order is that of the run.

    `sleeps`: whether nodes may sleep; `moves`: whether running tasks may be moved.

    `carbon` in g CO2e per kWh and `price` per kWh, on the clock of the run; their time stamps must be marks of the
    record (`signal_marks`), so that sums over marks are exact integrals.
    """
    kwh_by_part = record.energy_j[-1] / J_PER_KWH if len(record.energy_j) else np.zeros(len(PARTS))
    kwh = float(kwh_by_part.sum())
    gpu_hours = float(record.gpu_s[-1]) / HOUR_S if len(record.gpu_s) else 0.0
    here = record.outcome != NO_PART
    counts = np.bincount(record.outcome[here], minlength=len(OUTCOMES))
    waits = waiting_of(record, here)
    finished = record.outcome == DONE
    completion = completion_of(record.end_s[finished], (tasks.arrival_s - tasks.first_s)[finished])
    operational_kg = None if carbon is None else pue * weighted_kwh(record, carbon) / 1000
    embodied_kg = (embodied or Embodied()).kg(datacenter, record.horizon_s)
    co2_kg = None if operational_kg is None else operational_kg + embodied_kg
    work = None if speeds is None else work_hours(record, tasks, datacenter, speeds)
    return Account(
        kwh=kwh,
        gpu_kwh=float(kwh_by_part[GPU]),
        cpu_kwh=float(kwh_by_part[CPU]),
        base_kwh=float(kwh_by_part[BASE]),
        asleep_kwh=float(kwh_by_part[ASLEEP]),
        transition_kwh=float(kwh_by_part[TRANSITION]),
        facility_kwh=kwh * pue,
        pue=pue,
        mean_kw=record.mean_w / 1000,
        p99_kw=record.percentile_w(99) / 1000,
        peak_kw=record.peak_w / 1000,
        co2_operational_kg=operational_kg,
        co2_embodied_kg=embodied_kg,
        co2_kg=co2_kg,
        sci_g_per_gpu_hour=_per(None if co2_kg is None else co2_kg * 1000, gpu_hours),
        money=None if price is None else pue * weighted_kwh(record, price),
        currency=currency,
        gpu_hours=gpu_hours,
        wh_per_gpu_hour=_per(kwh * 1000, gpu_hours),
        work=work,
        kwh_per_work=_per(kwh, work),
        arrived=int(here.sum()),
        done=int(counts[DONE]),
        running=int(counts[RUNNING]),
        waiting=int(counts[WAITING]),
        failed=int(counts[FAILED]),
        refused=int(counts[REFUSED]),
        gave_up=int(counts[GAVE_UP]),
        wait_mean_s=waits.mean_s,
        wait_p50_s=waits.p50_s,
        wait_p95_s=waits.p95_s,
        wait_p99_s=waits.p99_s,
        slowdown_mean=waits.slowdown_mean,
        slowdown_p95=waits.slowdown_p95,
        horizon_s=record.horizon_s,
        nodes=len(datacenter),
        wakes=record.wakes if sleeps else None,
        asleep_node_hours=record.asleep_node_s / HOUR_S if sleeps else None,
        mean_asleep_nodes=_per(record.asleep_node_s, record.horizon_s) if sleeps else None,
        moves=record.moves if moves else None,
        paused_gpu_hours=record.paused_gpu_s / HOUR_S if moves else None,
        wait_max_s=waits.max_s,
        jct_mean_s=completion.mean_s,
        jct_p50_s=completion.p50_s,
        jct_p95_s=completion.p95_s,
        jct_p99_s=completion.p99_s,
        makespan_s=completion.makespan_s,
    )


def weighted_kwh(record: TimeRecord, signal: Steps) -> float:
    """The integral of IT power times the signal, in kWh times the signal's unit."""
    inside = signal.time_s[(signal.time_s > 0) & (signal.time_s < record.horizon_s)]
    if not np.isin(inside, record.mark_s).all():
        raise UserError("a time stamp of a signal is no mark of the run, expected it in more_marks_s")
    mark_s = np.concatenate([[0.0], record.mark_s])
    joules = np.diff(record.energy_j.sum(axis=1), prepend=0.0)  # from the mark before to each mark
    return float((joules * signal.at(mark_s[:-1])).sum()) / J_PER_KWH


def delivered_s(record: TimeRecord) -> NDArray[np.float64]:
    """By task: how long it ran inside the horizon."""
    ran = np.minimum(record.end_s, record.horizon_s) - record.start_s
    return np.where(np.isnan(ran), 0.0, np.maximum(ran, 0.0))


def work_hours(record: TimeRecord, tasks: TimedTasks, datacenter: Datacenter, speeds: Speeds) -> float:
    """Sum over batch tasks of GPUs asked for, times the model's speed, times the hours inside the horizon."""
    model = datacenter.model[np.maximum(record.node, 0)]  # a task on no node ran 0 s
    gpus = tasks.workload.gpu_request_milli() / 1000
    by_task = gpus * speeds.by_model[model] * delivered_s(record)
    return float(by_task[tasks.batch].sum()) / HOUR_S


def _per(amount: float | None, of: float | None) -> float | None:
    return None if amount is None or not of else amount / of
