"""Durations and classes of service of the 13 built-in traces: counts of the Alibaba GPU trace of 2023 (see NOTICE).

One table serves all traces: the published `gpuspec` files have the tasks of `default` with other models, the `gpushare`
files repeat tasks of `default`, and the `multigpu` files have no times; so a task of any of them takes the durations
and classes of service that `default` has for its class. `tools/make_durations.py` writes the table and says how a
duration is defined and rounded. Arrivals are not kept: `wattpack.datasets.generators` draws them. To run the times of
the sample as they are, give the published file, which is a task file with times.

Two corrections, both of the way in which the sample was taken:

- 897 of 8,152 tasks were never scheduled: they take the durations of the tasks of their class that were.
- The file lists each task that was there at some time in its last 34 days, among them 28 that came up to 115 days
  before. A task of duration d had a window of 34 days + d in which to arrive and be listed, so it has the weight
  34 days / (34 days + d). Unweighted, tasks of more than a week would hold 85 % of the GPU-hours, with it 69 %; the
  sample has 36 GPUs in use over the 34 days, and weighted arrivals lead to 30, unweighted ones to 63.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from wattpack.datasets import alibaba2023
from wattpack.datasets.node_table import table
from wattpack.datasets.timed_trace import TimedTrace, batch_of
from wattpack.errors import UserError
from wattpack.model.tasks import TaskClass
from wattpack.model.timed_tasks import TimedTasks

TABLE = "durations.csv"
COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "qos", "tasks", "durations")
WINDOW_S = 34 * 86_400.0  # the last days of the published file, from which on it lists all tasks of the sample

Amounts = tuple[int, int, int, int]  # a class without its models


class Row(NamedTuple):
    """Tasks of one class, class of service and duration."""

    service_class: str
    duration_s: int
    share: float  # of the tasks of the class


@cache
def timed_trace(name: str) -> TimedTrace:
    """What a generator needs of a built-in trace."""
    trace = alibaba2023.trace(name)
    rows: list[tuple[int, Row, float]] = []
    for k, (task, count) in enumerate(zip(trace.classes, trace.counts().tolist(), strict=True)):
        rows += [(k, row, count * row.share) for row in _rows_by_class()[amounts(task)]]
    service_class = tuple(row.service_class for _, row, _ in rows)
    duration_s = np.array([row.duration_s for _, row, _ in rows], dtype=np.float64)
    tasks = np.array([weight for *_, weight in rows], dtype=np.float64)
    return TimedTrace(
        name=name,
        classes=trace.classes,
        class_index=np.array([k for k, *_ in rows], dtype=np.int32),
        service_class=service_class,
        batch=batch_of(service_class),
        duration_s=duration_s,
        slack_s=np.zeros(len(rows)),
        weight=tasks * (WINDOW_S / (WINDOW_S + duration_s)),
    )


def own_times(name: str) -> TimedTasks:
    """Refused with the way to get them: the package holds counts of the published files, not their times."""
    alibaba2023.trace(name)  # an unknown name is said as such
    raise UserError(
        f"trace {name}: its own arrival times are not built in, expected a load to draw arrivals for, or the published "
        f"file openb_pod_list_{name}.csv of cluster-trace-gpu-v2023 as the trace"
    )


def amounts(task: TaskClass) -> Amounts:
    return task.cpu_milli, task.memory_mib, task.num_gpu, task.gpu_milli


@cache
def _rows_by_class() -> dict[Amounts, list[Row]]:
    """Rows of each class; tasks that never ran are spread over the rows of their class of service, else of the class.

    Shares of a class add up to 1.
    """
    tasks: dict[Amounts, dict[str, int]] = {}
    durations: dict[Amounts, dict[str, dict[int, int]]] = {}
    for row in table(TABLE):
        key = (int(row["cpu_milli"]), int(row["memory_mib"]), int(row["num_gpu"]), int(row["gpu_milli"]))
        tasks.setdefault(key, {})[row["qos"]] = int(row["tasks"])
        found = dict(_duration(text) for text in row["durations"].split())
        if found:
            durations.setdefault(key, {})[row["qos"]] = found
    rows: dict[Amounts, list[Row]] = {}
    for key, by_service in durations.items():
        known = sum(tasks[key][service] for service in by_service)
        rows[key] = [
            Row(service, seconds, tasks[key][service] / known * count / sum(counts.values()))
            for service, counts in by_service.items()
            for seconds, count in counts.items()
        ]
    return rows


def _duration(text: str) -> tuple[int, int]:
    """`50x3`: three tasks of 50 s; `167`: one."""
    seconds, _, count = text.partition("x")
    return int(seconds), int(count or "1")
