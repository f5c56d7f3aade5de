"""Parquet as OpenDC has it: `timestamp` and `carbon_intensity`, one zone, average."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.energy.readers.points import MAX_STAMP_S, Points
from wattpack.energy.signal import AVERAGE, MAX_STAMPS
from wattpack.errors import UserError

SHAPE = "OpenDC (Parquet)"
MAGIC = b"PAR1"
# Nothing is fetched from the network, and a file that claims to be huge takes no more memory than this.
CONFIG = {
    "threads": 1,
    "memory_limit": "1GB",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
# Microseconds since 1970 by the type of the column; OpenDC's older files have milliseconds as a number.
MICROSECONDS = {"BIGINT": "timestamp * 1000", "TIMESTAMP WITH TIME ZONE": "epoch_us(timestamp)"}


def read(points: Points) -> None:
    import duckdb  # 60 ms: only when Parquet is read

    file = points.file
    name = "'" + str(file).replace("'", "''") + "'"  # quoted, so that no file name can be read as SQL
    try:
        with duckdb.connect(config=CONFIG) as connection:
            described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet([{name}])").fetchall()
            types = {column[0]: str(column[1]) for column in described}
            _check_columns(points, types)
            rows = connection.execute(f"SELECT count(*) FROM read_parquet([{name}])").fetchall()[0][0]
            if rows > MAX_STAMPS:
                raise UserError(f"{file}: {rows:,} rows, expected at most {MAX_STAMPS:,}")
            time_us = MICROSECONDS.get(types["timestamp"], "epoch_us(timestamp)")
            query = (
                f"SELECT CAST({time_us} AS DOUBLE) t, CAST(carbon_intensity AS DOUBLE) c FROM read_parquet([{name}])"
            )
            found = connection.execute(query).fetchnumpy()
    except duckdb.Error as fault:
        said = str(fault).splitlines()[0][:100]
        raise UserError(f"{file}: cannot be read ({said}), expected Parquet") from None
    _add_all(points, *(np.ma.filled(found[column].astype(np.float64), np.nan) for column in ("t", "c")))
    points.source = f"{file.name} (OpenDC)"
    points.notes.append("taken as average intensities in g CO2e per kWh")
    if types["timestamp"] != "TIMESTAMP WITH TIME ZONE":
        points.notes.append("its time stamps are taken as UTC")


def _check_columns(points: Points, types: dict[str, str]) -> None:
    missing = [column for column in ("timestamp", "carbon_intensity") if column not in types]
    if missing:
        raise UserError(f"{points.file}: no column {missing[0]!r}, expected timestamp and carbon_intensity")
    if not types["timestamp"].startswith(("TIMESTAMP", "BIGINT")):
        raise UserError(f"{points.file}: column timestamp is {types['timestamp']}, expected time stamps")


def _add_all(points: Points, time_us: Any, value: Any) -> None:
    for number, (microseconds, intensity) in enumerate(zip(time_us.tolist(), value.tolist(), strict=True), 1):
        if not 0 <= microseconds < MAX_STAMP_S * 1e6:
            raise points.fault(number, "timestamp", microseconds, "a time stamp")
        points.add(number, microseconds / 1e6, points.amount(number, "carbon_intensity", intensity), kind=AVERAGE)
