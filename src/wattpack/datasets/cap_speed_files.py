"""How fast GPUs are under a power cap, from a CSV file `cap,speed`: a table of the user's own (`model/caps.py`)."""

from __future__ import annotations

from pathlib import Path

from wattpack.datasets.csv_files import Row, read_rows
from wattpack.errors import UserError

COLUMNS = ("cap", "speed")

CapSpeeds = tuple[tuple[float, float], ...]  # (cap, speed), caps ascending


def load_cap_speeds(source: str | Path) -> CapSpeeds:
    """Both are shares, above 0 and at most 1; between two rows the speed is linear."""
    file = Path(source)
    if str(source) == "" or not file.exists():
        raise UserError(f"cap_speed {str(source)!r}: no such file, expected a CSV file with cap,speed")
    found: dict[float, float] = {}
    for row in read_rows(file, COLUMNS, ()):
        cap = _share(row, "cap")
        if cap in found:
            raise row.fault("cap", "each cap once")
        found[cap] = _share(row, "speed")
    if not found:
        raise UserError(f"{file}: no speeds, expected a header (cap,speed) and a line for each cap")
    return tuple(sorted(found.items()))


def _share(row: Row, column: str) -> float:
    text = row.text(column)
    try:
        share = float(text) if text.isascii() and "_" not in text else float("nan")
    except ValueError:
        share = float("nan")
    if not 0 < share <= 1:
        raise row.fault(column, "a share above 0 and at most 1")
    return share
