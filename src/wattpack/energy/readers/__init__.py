"""Files of carbon intensities, prices and power budgets: the shape is recognised from the content."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from wattpack.datasets.csv_files import Row, rows_in
from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.energy.readers import (
    carbon_aware_json,
    electricity_maps_csv,
    electricity_maps_json,
    opendc_parquet,
    own_csv,
    time_csv,
    uk_json,
    watttime_json,
)
from wattpack.energy.readers.json_fields import decoded
from wattpack.energy.readers.limits import MAX_BYTES
from wattpack.energy.readers.points import Points
from wattpack.energy.signal import BUDGET, CARBON, PRICE, Signal
from wattpack.errors import UserError


class CsvShape(Protocol):
    """What a module for a CSV shape has."""

    def matches(self, header: list[str], quantity: str) -> bool: ...
    def shape(self, header: list[str], quantity: str) -> str: ...
    def needed(self, header: list[str], quantity: str) -> tuple[str, ...]: ...
    def read(self, rows: Iterable[Row], points: Points) -> None: ...


class JsonShape(Protocol):
    """What a module for a JSON shape has."""

    SHAPE: str

    def matches(self, document: Any) -> bool: ...
    def read(self, document: Any, points: Points) -> None: ...


CSV_SHAPES: tuple[CsvShape, ...] = (own_csv, electricity_maps_csv, time_csv)
JSON_SHAPES: tuple[JsonShape, ...] = (electricity_maps_json, watttime_json, uk_json, carbon_aware_json)
KNOWN = {
    CARBON: "OpenDC's Parquet, JSON of Electricity Maps, WattTime, UK Carbon Intensity or the Carbon Aware SDK, or CSV "
    "with timestamp,zone,g_per_kwh,kind,source",
    PRICE: "CSV with timestamp,zone,price_per_kwh,currency",
    BUDGET: "CSV with seconds,kw or timestamp,kw",
}


def read_signal(path: str | Path, quantity: str, zone: str = "") -> Signal:
    """The series of a file; `Signal.shape` says what was recognised, `Signal.notes` what was assumed."""
    file = Path(path)
    data = read_bytes_up_to(file, MAX_BYTES, f"a file of {quantity} over time")
    head = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    if data.startswith(opendc_parquet.MAGIC):
        return _read_parquet(file, quantity, zone)
    if head[:1] in (b"{", b"["):
        return _read_json(file, data, quantity, zone)
    return _read_csv(file, data, quantity, zone)


def _read_parquet(file: Path, quantity: str, zone: str) -> Signal:
    if quantity != CARBON:
        raise _unknown(file, quantity)
    points = Points(file, opendc_parquet.SHAPE, "row", quantity)
    opendc_parquet.read(points)
    return points.signal(zone)


def _read_json(file: Path, data: bytes, quantity: str, zone: str) -> Signal:
    document = decoded(data, file)
    for shape in JSON_SHAPES if quantity == CARBON else ():
        if shape.matches(document):
            points = Points(file, shape.SHAPE, "entry", quantity)
            shape.read(document, points)
            return points.signal(zone)
    raise _unknown(file, quantity)


def _read_csv(file: Path, data: bytes, quantity: str, zone: str) -> Signal:
    header = _header(data)
    for shape in CSV_SHAPES:
        if shape.matches(header, quantity):
            points = Points(file, shape.shape(header, quantity), "line", quantity)
            shape.read(rows_in(file, data, shape.needed(header, quantity), ()), points)
            return points.signal(zone)
    raise _unknown(file, quantity)


def _header(data: bytes) -> list[str]:
    """The first line that is not blank, as cells."""
    text = data[:65536].decode("utf-8-sig", errors="replace").lstrip()
    try:
        return [cell.strip() for cell in next(csv.reader(io.StringIO(text)), [])]
    except csv.Error:
        return []


def _unknown(file: Path, quantity: str) -> UserError:
    return UserError(f"{file}: not a known shape of {quantity} over time, expected {KNOWN[quantity]}")
