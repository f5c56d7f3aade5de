"""Runs in time as a frame: the columns of `time.csv`."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

from wattpack.experiments.timed_table import HEADER, Table, baseline_of, cells, kwh_saving
from wattpack.frames import new_frame

if TYPE_CHECKING:
    from pandas import DataFrame

TEXTS = (
    *("datacenter", "trace", "policy", "currency", "profile", "queue", "arrivals", "carbon", "price", "budget"),
    *("speed", "slack", "sleep", "cap", "consolidate", "until", "against"),
)


def timed_frame(table: Table) -> DataFrame:
    """A row for each run; numbers that do not apply are NaN. `saving` is that of the row's own seed."""
    rows: list[list[str | float]] = []
    for group in table.values():
        base = baseline_of(group)
        others = {} if base is None else dict(zip(base.seeds, base.runs, strict=True))
        for row in group:
            for seed, scenario, run in zip(row.seeds, row.scenarios, row.runs, strict=True):
                saving = kwh_saving(run, others[seed]) if seed in others else nan
                rows.append([*cells(scenario, run), saving, row.against[0] if seed in others else ""])
    columns: list[list[str | float]] = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in HEADER]
    return new_frame({name: _typed(name, column) for name, column in zip(HEADER, columns, strict=True)})


def _typed(name: str, column: list[str | float]) -> list[str | float]:
    if name in TEXTS:
        return column
    return [int(cell) if name == "seed" else float(cell) if cell != "" else nan for cell in column]
