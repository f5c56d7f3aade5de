"""The results folder: `runs/ID.parquet`, one file a scenario and seed, and `experiment.json`. Reports read only this.

A run that is there is not run again; a changed scenario has another id; two folders merge by copying their `runs`.
DuckDB reads it directly:

    SELECT trace, policy, load, avg(eopc_w) FROM 'out/runs/*.parquet' GROUP BY ALL ORDER BY ALL
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from wattpack.errors import UserError
from wattpack.experiments.curves import COLUMNS, LOADS, Curves
from wattpack.experiments.scenario import Scenario
from wattpack.files import make_folder, write_whole

Readings = dict[str, "np.ndarray"]


class ResultsFolder:
    """A folder of finished runs."""

    def __init__(self, path: Path) -> None:
        import duckdb  # 60 ms: only when results are written or read

        self.path = path
        self.runs = make_folder(path / "runs")
        self._connection: Any = duckdb.connect(config={"threads": 1})
        for leftover in self.runs.glob(".*.tmp"):  # of a process that was killed
            leftover.unlink(missing_ok=True)

    def run_file(self, scenario: Scenario) -> Path:
        return self.runs / f"{scenario.id}.parquet"

    def missing(self, scenarios: Iterable[Scenario]) -> list[Scenario]:
        """The scenarios that have no finished run here."""
        there = {file.stem for file in self.runs.glob("*.parquet")}
        return [scenario for scenario in scenarios if scenario.id not in there]

    def write(self, scenario: Scenario, readings: Readings) -> None:
        """Store one finished run: what was read at LOADS, with the scenario in constant columns."""
        columns: dict[str, Any] = {"load": LOADS, **readings}
        said = {key: value for key, value in asdict(scenario).items() if not key.endswith("_digest")}
        constants = ", ".join(f"{_literal(value)} AS {key}" for key, value in said.items())
        self._connection.register("readings", columns)
        try:
            write_whole(
                self.run_file(scenario),
                lambda temporary: self._connection.execute(
                    f"COPY (SELECT {constants}, * FROM readings) TO {_literal(str(temporary))} (FORMAT parquet)"
                ),
            )
        finally:
            self._connection.unregister("readings")

    def read(self, scenarios: Iterable[Scenario]) -> dict[tuple[str, str], Curves]:
        """Curves by (trace, policy) of those of the scenarios that are finished, seeds ascending."""
        found: dict[tuple[str, str], list[tuple[int, Readings]]] = {}
        wanted = {scenario.id: scenario for scenario in scenarios}
        files = [file for file in sorted(self.runs.glob("*.parquet")) if file.stem in wanted]
        for file, readings in self._read_files(files):
            scenario = wanted[file.stem]
            found.setdefault((scenario.trace, scenario.policy), []).append((scenario.seed, readings))
        # in the order in which the scenarios were given: the first policy is the one the user named first
        order = dict.fromkeys((scenario.trace, scenario.policy) for scenario in wanted.values())
        results = {}
        for key in order:
            if key in found:
                runs = sorted(found[key], key=lambda run: run[0])
                values = {column: np.stack([readings[column] for _, readings in runs]) for column in COLUMNS}
                results[key] = Curves(key[0], key[1], tuple(seed for seed, _ in runs), values)
        return results

    def _read_files(self, files: list[Path]) -> Iterable[tuple[Path, Readings]]:
        if not files:
            return
        names = ", ".join(_literal(str(file)) for file in files)
        try:
            table = self._connection.execute(
                f"SELECT filename, {', '.join(COLUMNS)} FROM read_parquet([{names}], filename = true)"
            ).fetchnumpy()
        except Exception as fault:
            raise UserError(f"{self.runs}: not readable ({_first_line(fault)}); delete the file it names") from None
        points = len(LOADS)
        for start in range(0, len(table["filename"]), points):
            rows = slice(start, start + points)
            yield Path(table["filename"][start]), {column: table[column][rows] for column in COLUMNS}


def _literal(value: object) -> str:
    """A value as SQL; text is quoted, so that no file or policy name can be read as SQL."""
    return "'" + str(value).replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _first_line(fault: Exception) -> str:
    return str(fault).splitlines()[0]
