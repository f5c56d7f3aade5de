"""Task files with times: `creation_time` and `duration` or `deletion_time`, beside the columns of every task file.

Optional are `kind` (batch or service), `qos` (class of service), `slack_s` and `owner`. `timed_rows` gives what a
command writes, so that a file can be read again unchanged.

A `creation_time` of a billion or more in all rows is Unix time (seconds since 1970; a billion was in 2001): the clock
time of the first arrival is known then. No trace with another origin is 31 years long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wattpack.datasets.csv_files import TASK_COLUMNS, TASK_OPTIONAL, Row, read_rows, read_workload, workload_of
from wattpack.errors import UserError
from wattpack.model.tasks import Workload
from wattpack.model.timed_tasks import TimedTasks, is_batch

ARRIVAL, DURATION, DELETION = "creation_time", "duration", "deletion_time"
KINDS = ("batch", "service")
TIME_OPTIONAL = (DURATION, DELETION, "kind", "qos", "slack_s", "owner")
WRITTEN = (*TASK_COLUMNS, *TASK_OPTIONAL, ARRIVAL, DURATION, "kind", "qos", "slack_s", "owner")
UNIX_FROM_S = 1e9  # 2001-09-09
UNIX_TO_S = 253_402_300_799.0  # the end of the year 9999, which Python's dates end with
EXPECTED = f"{ARRIVAL} and {DURATION} or {DELETION} (seconds)"


def has_times(path: str | Path) -> bool:
    """Whether a CSV file of tasks says when they arrive and how long they run."""
    for row in read_rows(Path(path), (), ()):
        return _times_in(row)
    return False


def read_timed_tasks(path: str | Path) -> TimedTasks:
    """The tasks of a CSV file with their times; the order of the file is kept, arrivals need not ascend.

    `duration` counts where a row has both; a task with neither never leaves. Seconds may have any origin from 0 on;
    `start` of the tasks is known where it is that of Unix time.
    """
    file = Path(path)
    return timed_tasks_of(file, read_rows(file, TASK_COLUMNS, (*TASK_OPTIONAL, ARRIVAL, *TIME_OPTIONAL)))


def read_with_times(path: str | Path) -> Workload:
    """The tasks of a CSV file as a workload that keeps their times, if they have any."""
    file = Path(path)
    if not has_times(file):
        return read_workload(file)
    try:
        tasks = read_timed_tasks(file)
    except UserError as fault:
        return replace(read_workload(file), times=fault)  # where no time matters, they may be wrong
    return replace(tasks.workload, times=tasks)


def timed_tasks_of(file: Path, found: Iterable[Row]) -> TimedTasks:
    """The tasks of these rows; `file` is what faults name."""
    arrival_s: list[float] = []
    duration_s: list[float] = []
    slack_s: list[float] = []
    batch: list[bool] = []
    service_class: list[str] = []
    owner: list[str] = []

    def noting_times() -> Iterator[Row]:
        for row in found:
            if not arrival_s and not _times_in(row):
                raise UserError(f"{file}: no columns with times, expected {EXPECTED}")
            arrival_s.append(_seconds(row, ARRIVAL))
            duration_s.append(_duration_s(row, arrival_s[-1]))
            slack_s.append(_seconds(row, "slack_s") if row.text("slack_s") else 0.0)
            service_class.append(row.text("qos"))
            owner.append(row.text("owner"))
            batch.append(_is_batch(row))
            yield row

    workload = workload_of(file, noting_times())
    if len(workload) == 0:
        raise UserError(f"{file}: no tasks, expected a header ({','.join(TASK_COLUMNS)}, {EXPECTED}) and a line each")
    return TimedTasks(
        workload,
        np.array(arrival_s, dtype=np.float64),
        np.array(duration_s, dtype=np.float64),
        np.array(slack_s, dtype=np.float64),
        np.array(batch, dtype=bool),
        tuple(service_class),
        tuple(owner),
        _start(min(arrival_s)),
    )


def _start(first_s: float) -> datetime | None:
    return datetime.fromtimestamp(first_s, UTC) if UNIX_FROM_S <= first_s <= UNIX_TO_S else None


def timed_rows(tasks: TimedTasks) -> Iterator[tuple[object, ...]]:
    """Rows of a CSV file with the columns `WRITTEN`. Floats are written so that they are read back bit by bit.

    Tasks whose clock is known get it as Unix time.
    """
    workload, arrival_s = tasks.workload, tasks.arrival_s
    if tasks.start is not None and _start(tasks.first_s) != tasks.start:
        arrival_s = np.round(arrival_s - tasks.first_s + tasks.start.timestamp(), 6)  # more digits than it has
    columns = (workload.sequence, arrival_s, tasks.duration_s, tasks.batch, tasks.slack_s)
    for i, (k, arrival, duration, batch, slack) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        times = (_number(arrival), "" if math.isinf(duration) else _number(duration))
        kind, qos = KINDS[0 if batch else 1], tasks.service_class[i]
        own = (kind, qos, _number(slack) if slack else "", tasks.owner[i])
        yield (workload.task_name(i), *workload.classes[k], *times, *own)


def _times_in(row: Row) -> bool:
    return ARRIVAL in row.cells and (DURATION in row.cells or DELETION in row.cells)


def _duration_s(row: Row, arrival_s: float) -> float:
    if row.text(DURATION) != "":
        return _seconds(row, DURATION)
    if row.text(DELETION) == "":
        return math.inf
    left_s = _seconds(row, DELETION)
    if left_s < arrival_s:
        raise row.fault(DELETION, f"seconds from {ARRIVAL} on, {arrival_s:g}")
    return left_s - arrival_s


def _is_batch(row: Row) -> bool:
    kind = row.text("kind")
    if kind == "":
        return is_batch(row.text("qos"))
    if kind not in KINDS:
        raise row.fault("kind", f"empty, {KINDS[0]} or {KINDS[1]}")
    return kind == KINDS[0]


def _seconds(row: Row, column: str) -> float:
    text = row.text(column)
    try:
        found = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise row.fault(column, "seconds from 0 on")
    return found


def _number(seconds: float) -> object:
    """Whole seconds without `.0`."""
    return int(seconds) if seconds.is_integer() else seconds
