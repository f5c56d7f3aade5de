"""Run files: the result of one scenario as a Parquet file with a checksum, and how it is read again with DuckDB.

A fill-up has a row for each of LOADS, a steady state one row, a run in time a row for each mark
(`timed_run_files.py`). The scenario is in constant columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.moments.steady import Steady
from wattpack.errors import UserError
from wattpack.experiments.curves import BASE, COLUMNS, CPU_ONLY, LOADS, read_at_loads
from wattpack.experiments.fill_up import run_fill_up
from wattpack.experiments.parquet import encode, has_checksum, is_intact, is_whole
from wattpack.experiments.scenario import Inputs, Scenario
from wattpack.experiments.steady import run_steady_state

Readings = dict[str, NDArray[np.float64]]
Table = dict[str, NDArray[Any]]  # columns of one run file

AT_ONCE = 256  # files read by one query: the names of the files are repeated in every row meanwhile
DAMAGED, WITHOUT_CHECKSUM = "damaged", "of an earlier version, without a checksum"


def run_file(scenario: Scenario, inputs: Inputs) -> bytes:
    """Run a scenario of any kind; returns the file that is stored."""
    if scenario.timed is not None:  # 30 ms of imports that other kinds do without
        from wattpack.experiments.timed import run_timed_scenario
        from wattpack.experiments.timed_run_files import encode_timed

        return encode_timed(scenario, run_timed_scenario(scenario, inputs))
    if scenario.steady is not None:
        return encode_steady(scenario, run_steady_state(scenario, inputs))
    return encode_run(scenario, read_at_loads(run_fill_up(scenario, inputs), scenario.up_to))


def encode_run(scenario: Scenario, readings: Readings) -> bytes:
    """The run file of a fill-up: what was read at LOADS."""
    return encode(scenario.columns(), {"load": LOADS, **readings})


def encode_steady(scenario: Scenario, steady: Steady) -> bytes:
    """The run file of a steady state: the means over the measured time."""
    columns = scenario.columns()
    load = np.array([columns.pop("load")], dtype=np.float64)
    return encode({**columns, **steady._asdict()}, {"load": load})


def read_runs(files: Iterable[Path]) -> Iterator[tuple[Path, Readings]]:
    """The readings of the run files of fill-ups."""
    return _tables(files, COLUMNS, f"{CPU_ONLY}|{BASE}", len(LOADS))


def read_steady_states(files: Iterable[Path]) -> Iterator[tuple[Path, Steady]]:
    """The results in the run files of steady states; to the last bit what the runs gave."""
    for file, table in _tables(files, Steady._fields, "load", 1):
        yield file, Steady(**{name: table[name][0].item() for name in Steady._fields})


def fault_of(file: Path) -> str:
    """What is wrong with a run file; empty if it is what was written, to the byte."""
    try:
        data = file.read_bytes()
    except OSError:
        return DAMAGED
    if has_checksum(data):
        return "" if is_intact(data) else DAMAGED
    return WITHOUT_CHECKSUM if is_whole(data[:4], data[-4:]) else DAMAGED


def _tables(files: Iterable[Path], columns: Iterable[str], optional: str, rows: int) -> Iterator[tuple[Path, Table]]:
    """These columns of each file, and those (a pattern) that files of earlier versions lack. All have `rows` rows."""
    import duckdb  # 60 ms: only when results are read

    found = list(files)
    for file in found:
        if fault_of(file) == DAMAGED:
            raise UserError(f"{file}: damaged, not a run file as it was written, expected to run it again")
    selected = f"{', '.join(columns)}, COLUMNS('^(filename|{optional})$')"
    with duckdb.connect(config={"threads": 1}) as connection:
        for start in range(0, len(found), AT_ONCE):
            yield from _query(connection, found[start : start + AT_ONCE], selected, rows)


def _query(connection: Any, files: list[Path], selected: str, rows: int) -> Iterator[tuple[Path, Table]]:
    names = ", ".join(_literal(str(file)) for file in files)
    query = f"SELECT {selected} FROM read_parquet([{names}], filename = true)"
    try:
        table = connection.execute(query).fetchnumpy()
    except Exception as fault:
        if len(files) > 1:  # one by one, to find the one that is broken
            for file in files:
                yield from _query(connection, [file], selected, rows)
            return
        raise UserError(
            f"{files[0]}: not a run file ({_first_line(fault)}), expected to delete it and run again"
        ) from None
    file_names = table.pop("filename")
    for start in range(0, len(file_names), rows):
        part = slice(start, start + rows)
        yield Path(file_names[start]), {column: values[part].copy() for column, values in table.items()}


def _literal(text: str) -> str:
    """A text as SQL, quoted, so that no file name can be read as SQL."""
    return "'" + text.replace("'", "''") + "'"


def _first_line(fault: Exception) -> str:
    return str(fault).splitlines()[0]
