"""A file of a public format as tasks with times; refused lines are counted and named, and the import goes on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wattpack.datasets.formats.format import Assumed, BadLine, Format, Job, NotATask
from wattpack.datasets.inflation import MAX_TASKS
from wattpack.errors import UserError
from wattpack.model.tasks import TaskClass, Workload
from wattpack.model.timed_tasks import TimedTasks

NAMED = 5  # refused lines that are kept with their reasons
FACTORS = ("vcpu_per_gpu", "memory_gib_per_gpu", "gpus_per_node")


@dataclass
class Imported:
    """The tasks of a file in order of arrival, and what became of its lines."""

    tasks: TimedTasks
    jobs: int
    not_tasks: dict[str, int]  # reason -> lines
    refused: int
    first_refused: list[tuple[int, str]]  # number of the line, reason


@dataclass
class _Reading:
    """What is known of a file while it is read."""

    jobs: int = 0
    workers: int = 0
    not_tasks: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    first_refused: list[tuple[int, str]] = field(default_factory=list)

    def jobs_of(self, kind: Format, path: Path, assumed: Assumed, gpu_only: bool) -> Iterator[Job]:
        for place, record in kind.records(path):
            try:
                if isinstance(record, BadLine):
                    raise record
                found = kind.job(record, assumed)
                if gpu_only and not any(task.num_gpu for task, _ in found.workers):
                    raise NotATask("without GPU")
            except NotATask as reason:
                self.not_tasks[str(reason)] += 1
                continue
            except BadLine as reason:
                self.refused += 1
                if len(self.first_refused) < NAMED:
                    self.first_refused.append((place, str(reason)))
                continue
            self.jobs += 1
            self.workers += sum(count for _, count in found.workers)
            if self.workers > MAX_TASKS:
                raise UserError(
                    f"{path}, {kind.counted} {place}: {self.workers:,} tasks so far, expected at most {MAX_TASKS:,}"
                )
            yield found


def import_trace(
    kind: Format, path: str | Path, assumed: Assumed | None = None, strict: bool = False, gpu_only: bool = False
) -> Imported:
    """The tasks of a file. `strict`: any refused line is an error. No task at all is one in any case.

    `gpu_only`: jobs without GPU are no tasks.
    """
    file, assumed = Path(path), assumed or Assumed()
    check_assumed(assumed)
    reading = _Reading()
    jobs = list(reading.jobs_of(kind, file, assumed, gpu_only))
    if reading.refused and (strict or not jobs):
        place, reason = reading.first_refused[0]
        raise UserError(
            f"{file}, {kind.counted} {place}: {reason} ({reading.refused:,} of "
            f"{reading.refused + len(jobs) + sum(reading.not_tasks.values()):,} {kind.counted}s refused)"
        )
    if not jobs:
        why = "; ".join(f"{count:,} {reason}" for reason, count in reading.not_tasks.items()) or "it has no lines"
        raise UserError(f"{file}: no task ({why}), expected at least one")
    tasks = _tasks_of(jobs, file.stem)
    return Imported(tasks, reading.jobs, dict(reading.not_tasks), reading.refused, reading.first_refused)


def check_assumed(assumed: Assumed) -> None:
    for name in FACTORS:
        value = getattr(assumed, name)
        if not 0 < value <= 10_000:
            raise UserError(f"{name} {value:g}, expected above 0 and at most 10,000")
    if not 0 <= assumed.processors_per_gpu <= 10_000:
        raise UserError(f"processors_per_gpu {assumed.processors_per_gpu}, expected from 0 to 10,000")


def _tasks_of(jobs: list[Job], name: str) -> TimedTasks:
    """Tasks in order of arrival, those of one instant in the order of the file; the first arrives at 0."""
    jobs.sort(key=lambda job: job.arrival_s)  # stable
    first_s = jobs[0].arrival_s
    count = np.array([sum(workers for _, workers in job.workers) for job in jobs])
    by_task = np.repeat(np.arange(len(jobs)), count)
    each: list[TaskClass] = []
    names: list[str] = []
    for job, workers in zip(jobs, count.tolist(), strict=True):
        each += [task for task, number in job.workers for _ in range(number)]
        names += [job.name] if workers == 1 else [f"{job.name}-{worker}" for worker in range(workers)]
    # milliseconds: stamps of 1970 have no more, and short numbers make short files
    arrival_s = np.round(np.array([job.arrival_s - first_s for job in jobs]), 3)
    duration_s = np.array([job.duration_s if math.isinf(job.duration_s) else round(job.duration_s, 3) for job in jobs])
    return TimedTasks(
        Workload.of(each, names, name),
        arrival_s[by_task],
        duration_s[by_task],
        batch=np.array([job.batch for job in jobs], dtype=bool)[by_task],
        service_class=tuple(jobs[i].service_class for i in by_task.tolist()),
        owner=tuple(jobs[i].owner for i in by_task.tolist()),
        start=datetime.fromtimestamp(first_s, UTC) if all(job.on_clock for job in jobs) else None,
    )
