"""Run files of runs in time: a row for each mark, the numbers of the whole run in constant columns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattpack.errors import UserError
from wattpack.experiments.parquet import encode
from wattpack.experiments.timed_result import NODES_BY_STATE, SERIES, Series, TimedNumbers, numbers_of, series_of

if TYPE_CHECKING:
    from wattpack.experiments.scenario import Scenario
    from wattpack.experiments.timed import TimedOutcome

WHOLE = "run_"  # before the names of numbers of the whole run: some columns of the series have the same names
AT_ONCE = 64  # files read by one query
DESCRIBE = "DESCRIBE SELECT * FROM read_parquet(?)"


def encode_timed(scenario: Scenario, outcome: TimedOutcome) -> bytes:
    from wattpack.experiments.timed import clock_s

    numbers = numbers_of(outcome.account, clock_s(outcome.start))
    whole = {f"{WHOLE}{name}": value for name, value in numbers._asdict().items()}
    sleeps = scenario.timed is not None and scenario.timed.sleep != ""
    series = series_of(outcome.record, len(outcome.datacenter) if sleeps else None)
    return encode({**scenario.columns(), **whole}, series.columns())


def read_numbers(files: Iterable[Path]) -> dict[Path, TimedNumbers]:
    """The numbers in these run files; to the last bit what the runs gave. NaN for those that came in later versions."""
    import duckdb  # 60 ms: only when results are read

    wanted, found = list(files), dict[Path, TimedNumbers]()
    selected = f"any_value(COLUMNS('^{WHOLE}({'|'.join(TimedNumbers._fields)})$')) AS '\\1'"
    with duckdb.connect(config={"threads": 1}) as connection:
        for start in range(0, len(wanted), AT_ONCE):
            names = [str(file) for file in wanted[start : start + AT_ONCE]]
            table = "read_parquet($files, filename = true, union_by_name = true)"
            for row in _rows(connection, f"SELECT filename, {selected} FROM {table} GROUP BY filename", names):
                file = Path(row.pop("filename"))
                found[file] = _numbers(file, {name: value for name, value in row.items() if value is not None})
    return found


def _numbers(file: Path, values: dict[str, Any]) -> TimedNumbers:
    try:
        return TimedNumbers(**values)
    except TypeError as fault:
        raise UserError(f"{file}: not a run file ({fault}), expected to delete it and run again") from None


def read_series(file: Path) -> Series:
    """The series of one run."""
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        try:
            columns = {name for name, *_ in connection.execute(DESCRIBE, [str(file)]).fetchall()}
            wanted = ", ".join([*SERIES, *(name for name in NODES_BY_STATE if name in columns)])
            table = connection.execute(f"SELECT {wanted} FROM read_parquet(?)", [str(file)]).fetchnumpy()
        except duckdb.Error as fault:
            raise UserError(
                f"{file}: not a run file ({str(fault).splitlines()[0]}), expected to run it again"
            ) from None
    return Series(**table)


def _rows(connection: Any, query: str, names: list[str]) -> list[dict[str, Any]]:
    import duckdb

    try:
        rows = connection.execute(query, {"files": names}).fetchall()
    except duckdb.Error as fault:
        if len(names) > 1:  # one by one, to find the one that is broken
            return [row for name in names for row in _rows(connection, query, [name])]
        raise UserError(
            f"{names[0]}: not a run file ({str(fault).splitlines()[0]}), expected to delete it and run again"
        ) from None
    columns = [column[0] for column in connection.description]
    return [dict(zip(columns, row, strict=True)) for row in rows]
