"""CSV files that commands write: a header and rows, whole or not there."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from wattpack.datasets.timed_files import WRITTEN, timed_rows
from wattpack.files import write_whole
from wattpack.model.timed_tasks import TimedTasks


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)

    write_whole(path, write)


def write_timed_tasks(path: Path, tasks: TimedTasks) -> None:
    """Tasks with their times, as a file that is read again unchanged."""
    write_csv(path, WRITTEN, timed_rows(tasks))
