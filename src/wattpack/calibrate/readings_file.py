"""Readings as a CSV file: kept for a person, and read back to fit again without measuring."""

from __future__ import annotations

import csv
import io
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from wattpack.calibrate.sweep import CONTEXT, IDLE, KINDS, Reading
from wattpack.errors import UserError
from wattpack.files import note_input

COLUMNS = (*Reading._fields, "gpu", "limit_w")
MOST_BYTES, MOST_W = 1_000_000, 1e6


class Readings(NamedTuple):
    """Of one GPU."""

    gpu: str  # as the driver calls the product
    limit_w: float
    readings: tuple[Reading, ...]

    def rows(self) -> list[tuple[object, ...]]:
        return [(*reading, self.gpu, self.limit_w) for reading in self.readings]

    def watts(self, kind: str) -> list[tuple[float, float]]:
        """(share, watts) of one kind."""
        return [(reading.share, reading.watts) for reading in self.readings if reading.kind == kind]


def read_readings(file: Path) -> Readings:
    try:
        with file.open("rb") as opened:
            note_input(file)
            data = opened.read(MOST_BYTES + 1)
    except OSError as fault:
        raise UserError(f"{file}: {fault.strerror or fault}, expected a file of --readings") from None
    if len(data) > MOST_BYTES:
        raise UserError(f"{file}: more than {MOST_BYTES:,} bytes, expected a file of --readings")
    try:
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig")), restkey="further", strict=True))
    except (UnicodeDecodeError, csv.Error) as fault:
        raise UserError(f"{file}: {fault}, expected a CSV file of --readings") from None
    readings, names, limits = [], set(), set()
    for line, row in enumerate(rows, 2):
        try:
            reading, limit_w = _reading(row)
        except (KeyError, TypeError, ValueError):
            raise UserError(
                f"{file}: line {line}: not a reading, expected {','.join(COLUMNS)} with shares from 0 to 1"
            ) from None
        readings.append(reading)
        names.add(row["gpu"])
        limits.add(limit_w)
    if len(names) != 1 or len(limits) != 1:
        raise UserError(f"{file}: readings of {len(names)} GPU models, expected those of one")
    found = Readings(names.pop(), limits.pop(), tuple(readings))
    missing = [kind for kind in (IDLE, CONTEXT) if not found.watts(kind)]
    if missing:
        raise UserError(f"{file}: no reading of kind {missing[0]}, expected one")
    return found


def _reading(row: dict[str, str]) -> tuple[Reading, float]:
    share, watts, limit_w = float(row["share"]), float(row["watts"]), float(row["limit_w"])
    good = row["kind"] in KINDS and 0 <= share <= 1 and 0 <= watts <= MOST_W and 0 < limit_w <= MOST_W
    if not good or not isfinite(share) or not row["gpu"].isprintable() or not 0 < len(row["gpu"]) <= 100:
        raise ValueError
    return Reading(row["kind"], share, watts, int(row["clock_mhz"]), int(row["temperature_c"]), row["load"]), limit_w
