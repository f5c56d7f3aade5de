"""The results folder: `runs/ID.parquet`, one file a run, `experiment.json` and `summary.csv`. Reports read only this.

A run that is there is not run again; a changed scenario has another id; two folders merge by copying their `runs`.
DuckDB reads it directly (docs/guide/experiments.md has more):

    SELECT trace, policy, load, avg(eopc_w) FROM 'out/runs/*.parquet' GROUP BY ALL ORDER BY ALL
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.experiments.curves import COLUMNS, CPU_ONLY, LOADS, Curves
from wattpack.experiments.parquet import encode, has_checksum, is_intact, is_whole
from wattpack.experiments.scenario import Scenario, labels
from wattpack.files import make_folder, say, sync_all, write_text, write_whole

Readings = dict[str, NDArray[np.float64]]
Results = dict[tuple[str, str], Curves]

SAID = tuple(field.name for field in fields(Scenario) if not field.name.endswith("_digest"))  # constant columns
AT_ONCE = 256  # files read by one query: the names of the files are repeated in every row meanwhile
NAMED = 3  # damaged files that are named; of more, the number
DAMAGED, WITHOUT_CHECKSUM = "damaged", "of an earlier version, without a checksum"


def encode_run(scenario: Scenario, readings: Readings) -> bytes:
    """A run file: what was read at LOADS, with the scenario in constant columns."""
    return encode({name: getattr(scenario, name) for name in SAID}, {"load": LOADS, **readings})


class ResultsFolder:
    """A folder of finished runs."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if any("\ud800" <= letter <= "\udfff" for letter in str(path)):  # how Python reads bytes that are no UTF-8
            raise UserError(f"{str(path)!r}: not UTF-8, expected a folder whose name DuckDB can read")
        make_folder(self.path)
        self.runs = make_folder(self.path / "runs")
        for file in self.runs.glob("*.parquet/"):
            raise UserError(f"{file}: a folder, expected a run file or nothing of this name")
        self._stored: list[Path] = []  # not yet known to be on the disk

    def run_file(self, scenario: Scenario) -> Path:
        return self.runs / f"{scenario.id}.parquet"

    def missing(self, scenarios: Iterable[Scenario]) -> list[Scenario]:
        """The scenarios that have no finished run here; of those that are the same run by two names, the first.

        A run file that is damaged, or was written before there were checksums, is none: it is said and run again.
        """
        there = {file.stem: file for file in self.runs.glob("*.parquet")}
        wanted: dict[str, Scenario] = {}
        for scenario in scenarios:
            wanted.setdefault(scenario.id, scenario)
        faults = {there[id_]: _fault(there[id_]) for id_ in wanted if id_ in there}
        for kind in (DAMAGED, WITHOUT_CHECKSUM):
            _say_run_again([file for file, fault in faults.items() if fault == kind], kind)
        return [scenario for id_, scenario in wanted.items() if id_ not in there or faults[there[id_]]]

    def write(self, scenario: Scenario, readings: Readings) -> None:
        """Store one finished run."""
        self.store(scenario, encode_run(scenario, readings))

    def store(self, scenario: Scenario, data: bytes) -> None:
        """Store the file of one finished run."""
        file = self.run_file(scenario)
        write_whole(file, lambda temporary: temporary.write_bytes(data), durable=False)
        self._stored.append(file)

    def sync(self) -> None:
        """Have the files stored so far on the disk. Together: one by one it is 5 ms a run, which takes 13."""
        stored, self._stored = self._stored, []
        sync_all(stored)

    def read(self, scenarios: Iterable[Scenario], label: Mapping[Scenario, str] | None = None) -> Results:
        """Curves by (trace, policy) of those of the scenarios that are finished, seeds ascending.

        Where datacenters, power profiles or loads are several, the trace's name tells them apart (`labels`); `label`
        gives the names where the scenarios are only a part of an experiment.
        """
        return self._read([(scenario.id, scenario) for scenario in scenarios], label)

    def read_stored(self) -> Results:
        """The same for the experiment that `experiment.json` describes, also one of an earlier version of wattpack."""
        names = tuple(field.name for field in fields(Scenario))
        try:
            rows = self.experiment()["scenarios"]
            stored = [(row["id"], Scenario(**{name: row[name] for name in names if name in row})) for row in rows]
        except (KeyError, TypeError) as fault:
            raise UserError(f"{self.path / 'experiment.json'}: no {fault} in it, expected a results folder") from None
        return self._read(stored)

    def _read(self, wanted: list[tuple[str, Scenario]], label: Mapping[Scenario, str] | None = None) -> Results:
        label = labels(scenario for _, scenario in wanted) if label is None else label
        runs = dict(self._read_files(dict.fromkeys(id_ for id_, _ in wanted)))
        # in the order in which the scenarios were given: the first policy is the one the user named first
        found: dict[tuple[str, str], dict[int, Readings]] = {}
        said: dict[tuple[str, str], tuple[str, str]] = {}
        for id_, scenario in wanted:
            if id_ in runs:
                found.setdefault((label[scenario], scenario.label), {})[scenario.seed] = runs[id_]
                said[label[scenario], scenario.label] = scenario.datacenter, scenario.profile
        results = {}
        for (trace, policy), by_seed in found.items():
            seeds = tuple(sorted(by_seed))
            known = [column for column in (*COLUMNS, CPU_ONLY) if all(column in by_seed[seed] for seed in seeds)]
            values = {column: np.stack([by_seed[seed][column] for seed in seeds]) for column in known}
            results[trace, policy] = Curves(trace, policy, seeds, values, *said[trace, policy])
        return results

    def _read_files(self, ids: Iterable[str]) -> Iterator[tuple[str, Readings]]:
        import duckdb  # 60 ms: only when results are read

        there = {file.stem: file for file in self.runs.glob("*.parquet")}
        files = [there[id_] for id_ in ids if id_ in there]
        for file in files:
            if _fault(file) == DAMAGED:
                raise UserError(f"{file}: damaged, not a run file as it was written, expected to run it again")
        with duckdb.connect(config={"threads": 1}) as connection:
            for start in range(0, len(files), AT_ONCE):
                yield from _query(connection, files[start : start + AT_ONCE])

    def write_experiment(self, told: Mapping[str, Any], scenarios: Iterable[Scenario]) -> None:
        """`experiment.json`: what was run, on what, and every scenario with its id."""
        rows = [{"id": scenario.id, **asdict(scenario)} for scenario in scenarios]
        texts = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        head = json.dumps(dict(told), indent=1)
        write_text(self.path / "experiment.json", f'{head[:-2]},\n "scenarios": [\n{texts}\n ]\n}}\n')

    def experiment(self) -> dict[str, Any]:
        """What `experiment.json` holds."""
        file = self.path / "experiment.json"
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as fault:
            raise UserError(f"{file}: cannot be read ({fault}), expected a results folder") from None
        if not isinstance(found, dict):
            raise UserError(f"{file}: a {type(found).__name__}, expected a results folder")
        return found


def _query(connection: Any, files: list[Path]) -> Iterator[tuple[str, Readings]]:
    names = ", ".join(_literal(str(file)) for file in files)
    columns = f"{', '.join(COLUMNS)}, COLUMNS('^(filename|{CPU_ONLY})$')"  # the last one may not be there
    query = f"SELECT {columns} FROM read_parquet([{names}], filename = true)"
    try:
        table = connection.execute(query).fetchnumpy()
    except Exception as fault:
        if len(files) > 1:  # one by one, to find the one that is broken
            for file in files:
                yield from _query(connection, [file])
            return
        raise UserError(
            f"{files[0]}: not a run file ({_first_line(fault)}), expected to delete it and run again"
        ) from None
    points = len(LOADS)
    for start in range(0, len(table["filename"]), points):
        rows = slice(start, start + points)
        yield (
            Path(table["filename"][start]).stem,
            {column: table[column][rows].copy() for column in (*COLUMNS, CPU_ONLY) if column in table},
        )


def _fault(file: Path) -> str:
    """What is wrong with a run file that is there; empty if it is what was written, to the byte."""
    try:
        data = file.read_bytes()
    except OSError:
        return DAMAGED
    if has_checksum(data):
        return "" if is_intact(data) else DAMAGED
    return WITHOUT_CHECKSUM if is_whole(data[:4], data[-4:]) else DAMAGED


def _say_run_again(files: list[Path], fault: str) -> None:
    if files and fault == WITHOUT_CHECKSUM:
        say(f"{files[0].parent}: {len(files)} run files {fault}, run again")
    elif files:
        more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        say(f"{', '.join(map(str, files[:NAMED]))}{more}: {fault}, run again")


def _literal(text: str) -> str:
    """A text as SQL, quoted, so that no file name can be read as SQL."""
    return "'" + text.replace("'", "''") + "'"


def _first_line(fault: Exception) -> str:
    return str(fault).splitlines()[0]
