"""What a generator draws tasks from: the tasks of a trace with their durations and classes of service, no arrivals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.model.tasks import TaskClass
from wattpack.model.timed_tasks import TimedTasks, is_batch


@dataclass(frozen=True)
class TimedTrace:
    """Rows of (class, class of service, duration, owner), each with its weight: how often tasks like this arrive."""

    name: str
    classes: tuple[TaskClass, ...]
    class_index: NDArray[np.int32]  # of each row, into `classes`
    service_class: tuple[str, ...]  # of each row, "" where unknown
    batch: NDArray[np.bool_]
    duration_s: NDArray[np.float64]  # above 0, finite
    slack_s: NDArray[np.float64]
    weight: NDArray[np.float64]  # above 0; only ratios matter
    owner: tuple[str, ...] = ()  # of each row, "" where unknown; empty: all unknown

    def __len__(self) -> int:
        return len(self.class_index)

    def gpu_request_milli(self) -> NDArray[np.int64]:
        """Milli-GPU that a task of each row asks for."""
        by_class = np.array([task.num_gpu * task.gpu_milli for task in self.classes], dtype=np.int64)
        return by_class[self.class_index]

    def mean_gpu_s(self) -> float:
        """GPU-seconds of an arriving task on average; a task without GPU counts with 0."""
        each = self.weight * self.gpu_request_milli() / 1000 * self.duration_s
        return float(each.sum() / self.weight.sum())


def timed_trace_of(tasks: TimedTasks) -> TimedTrace:
    """The tasks of a file with times, one row each; arrivals are dropped, and so are tasks that run for no time.

    A task that never leaves has no duration to draw: it is refused.
    """
    name = tasks.workload.name
    endless = np.flatnonzero(~np.isfinite(tasks.duration_s))
    if len(endless):
        task = tasks.workload.task_name(int(endless[0]))
        raise UserError(f"{name}: task {task} has no duration or deletion_time, expected one to draw tasks from it")
    kept = np.flatnonzero(tasks.duration_s > 0)
    if len(kept) == 0:
        raise UserError(f"{name}: no task runs for any time, expected at least one to draw tasks from it")
    return TimedTrace(
        name=name,
        classes=tasks.workload.classes,
        class_index=tasks.workload.sequence[kept],
        service_class=tuple(tasks.service_class[i] for i in kept.tolist()),
        batch=tasks.batch[kept],
        duration_s=tasks.duration_s[kept],
        slack_s=tasks.slack_s[kept],
        weight=np.ones(len(kept)),
        owner=tuple(tasks.owner[i] for i in kept.tolist()),
    )


def batch_of(service_class: tuple[str, ...]) -> NDArray[np.bool_]:
    return np.array([is_batch(name) for name in service_class], dtype=bool)
