"""Records of runs written by hand, whose accounts are known by arithmetic."""

import numpy as np

from wattpack.engine.moments.record import DONE, PARTS, TimeRecord
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import TaskClass, Workload
from wattpack.model.timed_tasks import TimedTasks


def power_record(
    moments: list[tuple[float, float]],
    horizon_s: float,
    marks: list[float] | None = None,
    starts: tuple[float, ...] = (),
    ends: tuple[float, ...] = (),
    joined: tuple[float, ...] | None = None,
    outcomes: tuple[int, ...] | None = None,
    nodes: tuple[int, ...] | None = None,
    patience_s: float = np.inf,
    gpu_s: float = 0.0,
) -> TimeRecord:
    """Moments are (second, watts from then on); all of it is drawn by GPUs. Marks: those given and the horizon."""
    times, watts = (np.array(column, dtype=float) for column in zip(*moments, strict=True))
    mark_s = np.unique([*(marks or []), horizon_s])
    ends_of_moments = np.append(times[1:], horizon_s)
    joules = [(watts * np.clip(np.minimum(ends_of_moments, mark) - times, 0, None)).sum() for mark in mark_s]
    energy_j = np.zeros((len(mark_s), len(PARTS)))
    energy_j[:, 0] = joules
    tasks = len(starts)
    zeros = np.zeros(len(mark_s))
    return TimeRecord(
        node=np.array(nodes if nodes is not None else [0] * tasks, dtype=np.int32),
        gpus=np.zeros(tasks, dtype=np.int32),
        joined_s=np.array(joined if joined is not None else starts, dtype=float),
        start_s=np.array(starts, dtype=float),
        end_s=np.array(ends, dtype=float),
        outcome=np.array(outcomes if outcomes is not None else [DONE] * tasks, dtype=np.int8),
        mark_s=mark_s,
        energy_j=energy_j,
        gpu_s=mark_s / horizon_s * gpu_s if horizon_s else zeros,
        power_w=zeros,
        allocated_gpus=zeros,
        queued=zeros.astype(np.int64),
        running=zeros.astype(np.int64),
        moment_s=times,
        moment_w=watts,
        horizon_s=horizon_s,
        patience_s=patience_s,
        busy_nodes=zeros.astype(np.int64),
        asleep_nodes=zeros.astype(np.int64),
        transition_nodes=zeros.astype(np.int64),
        wakes=0,
        asleep_node_s=0.0,
    )


def timed(arrivals: list[float], gpus: list[float], batch: list[bool] | None = None, **columns: object) -> TimedTasks:
    classes = [TaskClass(1000, 0, 0 if g == 0 else max(int(g), 1), round(1000 * min(g, 1))) for g in gpus]
    durations = columns.pop("durations", np.ones(len(arrivals)))
    return TimedTasks(
        Workload.of(classes),
        np.array(arrivals, dtype=float),
        np.array(durations, dtype=float),
        batch=np.array(batch if batch is not None else [True] * len(arrivals)),
        **columns,  # type: ignore[arg-type]
    )


def two_nodes() -> Datacenter:
    """8 A100-SXM4-80GB, 4 T4, and a node without GPU."""
    return Datacenter.of(
        ["a", "b", "c"], [96_000] * 3, [1000] * 3, [8, 4, 0], ["A100-SXM4-80GB", "T4", ""], ["", "", ""]
    )
