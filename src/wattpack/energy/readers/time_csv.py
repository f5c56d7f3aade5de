"""CSV files with `Time,Carbon Intensity`, as published with studies of carbon-aware computing: average, one zone."""

from __future__ import annotations

from collections.abc import Iterable

from wattpack.datasets.csv_files import Row
from wattpack.energy.readers.points import Points
from wattpack.energy.signal import AVERAGE, CARBON

TIME, VALUE = "Time", "Carbon Intensity"


def matches(header: list[str], quantity: str) -> bool:
    return quantity == CARBON and TIME in header and VALUE in header


def shape(header: list[str], quantity: str) -> str:
    return "Time, Carbon Intensity (CSV)"


def needed(header: list[str], quantity: str) -> tuple[str, ...]:
    return (TIME, VALUE)


def read(rows: Iterable[Row], points: Points) -> None:
    points.notes.append("taken as average intensities in g CO2e per kWh")
    for row in rows:
        time_s = points.stamp(row.line, f"column {TIME}", row.text(TIME))
        amount = points.amount(row.line, f"column {VALUE}", row.text(VALUE))
        points.add(row.line, time_s, amount, kind=AVERAGE)
