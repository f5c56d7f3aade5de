"""The CSV files that Electricity Maps offers for download: hourly, a zone a file, life-cycle and direct intensities."""

from __future__ import annotations

from collections.abc import Iterable

from wattpack.datasets.csv_files import Row
from wattpack.energy.readers.points import Points
from wattpack.energy.signal import AVERAGE, CARBON

# Names of the columns have changed over the years, in case and words, so they are found by their parts.
TIME = "datetime (utc)"
INTENSITY = "carbon intensity"
LIFE_CYCLE = ("(life cycle)", "(lca)")
DIRECT = ("(direct)",)


def matches(header: list[str], quantity: str) -> bool:
    return quantity == CARBON and _column(header, TIME) != "" and _intensity(header)[0] != ""


def shape(header: list[str], quantity: str) -> str:
    return f"Electricity Maps (CSV, {_intensity(header)[1]})"


def needed(header: list[str], quantity: str) -> tuple[str, ...]:
    return (_column(header, TIME), _intensity(header)[0])


def read(rows: Iterable[Row], points: Points) -> None:
    points.source = "Electricity Maps"
    for row in rows:
        header = list(row.cells)
        time, (value, basis) = _column(header, TIME), _intensity(header)
        if not points.number and basis == "direct":
            points.notes.append("direct intensities: the file has no life-cycle ones")
        # The name of the column says UTC.
        time_s = points.stamp(row.line, f"column {time}", row.text(time) + "+00:00")
        amount = points.amount(row.line, f"column {value}", row.text(value))
        points.add(row.line, time_s, amount, row.text(_column(header, "zone id")), AVERAGE)


def _column(header: list[str], name: str) -> str:
    return next((column for column in header if column.lower() == name), "")


def _intensity(header: list[str]) -> tuple[str, str]:
    """The column of intensities and its basis; life-cycle where there is one, as for the built-in yearly means."""
    for endings, basis in ((LIFE_CYCLE, "life-cycle"), (DIRECT, "direct")):
        for column in header:
            if column.lower().startswith(INTENSITY) and column.lower().endswith(endings):
                return column, basis
    return "", ""
