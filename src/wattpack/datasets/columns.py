"""A datacenter or a trace from columns in memory: a dict of lists or a pandas frame, named as in the CSV files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from wattpack.datasets.csv_files import (
    NODE_COLUMNS,
    NODE_OPTIONAL,
    TASK_COLUMNS,
    TASK_OPTIONAL,
    Row,
    datacenter_of,
    workload_of,
)
from wattpack.datasets.timed_files import ARRIVAL, DELETION, DURATION, TIME_OPTIONAL, timed_tasks_of
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.tasks import Workload

MISSING = ("nan", "NaT", "<NA>")  # what pandas has in a cell without a value, as text


@runtime_checkable
class Columns(Protocol):
    """Values by the name of the column. A dict and a frame of pandas both are."""

    def keys(self) -> Any: ...
    def __getitem__(self, column: str, /) -> Any: ...


class ColumnRow(Row):
    """A row of columns in memory."""

    counted = "row"  # from 1


def datacenter_from(columns: Columns, name: str, profile: PowerProfile = PAPER) -> Datacenter:
    """As from a file of nodes: columns in any order, further ones ignored, the same faults."""
    found = datacenter_of(Path(name), _rows(columns, name, NODE_COLUMNS, NODE_OPTIONAL), profile)
    return replace(found, name=name)


def workload_from(columns: Columns, name: str, with_times: bool = False) -> Workload:
    """As from a file of tasks: columns in any order, further ones ignored, the same faults.

    with_times: keep the times too, if there are any.
    """
    found = replace(workload_of(Path(name), _rows(columns, name, TASK_COLUMNS, TASK_OPTIONAL)), name=name)
    there = set(columns.keys())
    if not with_times or len(found) == 0 or ARRIVAL not in there or there.isdisjoint((DURATION, DELETION)):
        return found
    try:
        optional = (*TASK_OPTIONAL, ARRIVAL, *TIME_OPTIONAL)
        tasks = timed_tasks_of(Path(name), _rows(columns, name, TASK_COLUMNS, optional))
    except UserError as fault:
        return replace(found, times=fault)  # where no time matters, they may be wrong
    return replace(found, times=tasks)


def _rows(columns: Columns, name: str, required: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[Row]:
    there = list(columns.keys())
    missing = [column for column in required if column not in there]
    if missing:
        raise UserError(f"{name}: no column {missing[0]!r}, expected {','.join(required)}")
    texts = {column: _texts(columns[column], name, column) for column in (*required, *optional) if column in there}
    count = len(texts[required[0]])
    for column, cells in texts.items():
        if len(cells) != count:
            raise UserError(f"{name}: column {column!r} has {len(cells)} rows, expected {count} as {required[0]!r} has")
    for number, row in enumerate(zip(*texts.values(), strict=True), 1):
        yield ColumnRow(Path(name), number, dict(zip(texts, row, strict=True)))


def _texts(values: Any, name: str, column: str) -> list[str]:
    """The cells as a CSV file would have them."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise UserError(f"{name}: column {column!r} is {values!r}, expected a list of values")
    return [_text(value) for value in values]


def _text(value: object) -> str:
    text = str(value).strip()
    is_missing = value is None or (not isinstance(value, str) and text in MISSING)
    return "" if is_missing else text
