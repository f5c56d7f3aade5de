"""The results folder: one file for each finished run, `experiment.json`, `summary.csv`, `steady.csv`, `time.csv`.

Fill-ups are `runs/ID.parquet`, steady states `steady/ID.parquet`, runs in time `time/ID.parquet`. A run whose file is
there is not run again; a changed scenario has another id; two folders merge by copying these three. DuckDB reads them
directly (docs/guide/experiments.md has more):

    SELECT trace, policy, load, avg(eopc_w) FROM 'out/runs/*.parquet' GROUP BY ALL ORDER BY ALL
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wattpack.engine.moments.steady import Steady
from wattpack.errors import UserError
from wattpack.experiments.curves import BASE, COLUMNS, CPU_ONLY, Curves, Results
from wattpack.experiments.run_files import (
    DAMAGED,
    WITHOUT_CHECKSUM,
    Readings,
    encode_run,
    fault_of,
    read_runs,
    read_steady_states,
)
from wattpack.experiments.saving import DEFAULT_AGAINST
from wattpack.experiments.scenario import FILL_UP, STEADY, TIMED, Scenario, fill_up_of, labels, run_in_time_of
from wattpack.experiments.timed_result import Series, TimedNumbers
from wattpack.experiments.timed_run_files import read_numbers, read_series
from wattpack.files import make_folder, say, sync_all, write_text, write_whole

FOLDERS = {FILL_UP: "runs", STEADY: "steady", TIMED: "time"}  # where the run files of a kind are
NAMED = 3  # damaged files that are named; of more, the number


class ResultsFolder:
    """A folder of finished runs."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if any("\ud800" <= letter <= "\udfff" for letter in str(path)):  # how Python reads bytes that are no UTF-8
            raise UserError(f"{str(path)!r}: not UTF-8, expected a folder whose name DuckDB can read")
        make_folder(self.path)
        for folder in (self.path / name for name in FOLDERS.values()):
            if folder.is_dir():
                make_folder(folder)  # clears what killed commands left there
            for file in folder.glob("*.parquet/"):
                raise UserError(f"{file}: a folder, expected a run file or nothing of this name")
        self._stored: list[Path] = []  # not yet known to be on the disk
        self._ids: dict[Scenario, str] = {}  # as `experiment.json` has them, of runs in time that were read from it
        self._against: tuple[str, ...] | None = None  # not read yet

    def run_file(self, scenario: Scenario) -> Path:
        return self.path / FOLDERS[scenario.kind] / f"{self._ids.get(scenario) or scenario.id}.parquet"

    def missing(self, scenarios: Iterable[Scenario]) -> list[Scenario]:
        """The scenarios that have no finished run here; of those that are the same run by two names, the first.

        A damaged run file, or one from before there were checksums, does not count: a line says that it is run again.
        """
        wanted: dict[Path, Scenario] = {}
        for scenario in scenarios:
            wanted.setdefault(self.run_file(scenario), scenario)
        for folder in {file.parent for file in wanted}:
            make_folder(folder)
        there = self._files(wanted)
        faults = {file: fault_of(file) for file in wanted if file in there}
        for kind in (DAMAGED, WITHOUT_CHECKSUM):
            _say_run_again([file for file, fault in faults.items() if fault == kind], kind)
        found = [scenario for file, scenario in wanted.items() if faults.get(file, "missing")]
        self._say_earlier_steady_states(found)
        return found

    def _say_earlier_steady_states(self, missing: Iterable[Scenario]) -> None:
        """Earlier versions stored steady states as JSON under other ids. Said until the first new one is there."""
        folder = self.path / FOLDERS[STEADY]
        earlier = sum(1 for _ in folder.glob("*.json"))
        if earlier and any(scenario.kind == STEADY for scenario in missing) and not any(folder.glob("*.parquet")):
            say(f"{folder}: {earlier} steady states of an earlier version (JSON) are kept but not read, run again")

    def write(self, scenario: Scenario, readings: Readings) -> None:
        """Store one finished fill-up."""
        self.store(scenario, encode_run(scenario, readings))

    def store(self, scenario: Scenario, data: bytes) -> None:
        """Store the file of one finished run."""
        file = self.run_file(scenario)
        file.parent.mkdir(exist_ok=True)
        write_whole(file, lambda temporary: temporary.write_bytes(data), durable=False)
        self._stored.append(file)

    @property
    def against(self) -> tuple[str, ...]:
        """The policies that savings are against, as `experiment.json` says; FGD where it says nothing."""
        if self._against is None:
            given = self.experiment().get("against") if (self.path / "experiment.json").is_file() else None
            texts = isinstance(given, list) and bool(given) and all(isinstance(one, str) for one in given)
            self._against = tuple(given) if texts and given is not None else DEFAULT_AGAINST
        return self._against

    def sync(self) -> None:
        """Bring the files stored so far to the disk. Together: one by one it is 5 ms a run, which takes 13."""
        stored, self._stored = self._stored, []
        sync_all(stored)

    def read(self, scenarios: Iterable[Scenario], label: Mapping[Scenario, str] | None = None) -> Results:
        """Curves by (trace, policy) of the finished fill-ups among the scenarios, seeds ascending.

        Where datacenters, power profiles or loads are several, the trace's name tells them apart (`labels`); `label`
        gives the names where the scenarios are only a part of an experiment.
        """
        return self._read([(scenario.id, scenario) for scenario in scenarios if scenario.kind == FILL_UP], label)

    def read_stored(self) -> Results:
        """The same for the experiment that `experiment.json` describes, also one of an earlier version of wattpack."""
        return self._read(self.stored_fill_ups())

    def stored_fill_ups(self) -> list[tuple[str, Scenario]]:
        """The fill-ups that `experiment.json` lists, with their ids there: an earlier version had other ids."""
        return self._listed(fill_up_of)

    def stored_runs_in_time(self) -> list[Scenario]:
        """The runs in time that `experiment.json` lists; their files are found by the ids there."""
        self._ids = {scenario: id_ for id_, scenario in self._listed(run_in_time_of)}
        return list(self._ids)

    def _listed(self, read: Callable[[Mapping[str, Any]], Scenario | None]) -> list[tuple[str, Scenario]]:
        try:
            found = [(row["id"], read(row)) for row in self.experiment()["scenarios"]]
        except (KeyError, TypeError) as fault:
            raise UserError(f"{self.path / 'experiment.json'}: no {fault} in it, expected a results folder") from None
        return [(id_, scenario) for id_, scenario in found if scenario is not None]

    def read_steady(self, scenarios: Iterable[Scenario]) -> dict[Scenario, Steady]:
        """The finished steady states among the scenarios, in their order."""
        wanted = {scenario: self.run_file(scenario) for scenario in scenarios if scenario.kind == STEADY}
        there = self._files(wanted.values())
        found = dict(read_steady_states(dict.fromkeys(file for file in wanted.values() if file in there)))
        return {scenario: found[file] for scenario, file in wanted.items() if file in found}

    def read_timed(self, scenarios: Iterable[Scenario]) -> dict[Scenario, TimedNumbers]:
        """The numbers of the finished runs in time among the scenarios, in their order."""
        wanted = {scenario: self.run_file(scenario) for scenario in scenarios if scenario.kind == TIMED}
        there = self._files(wanted.values())
        files = dict.fromkeys(file for file in wanted.values() if file in there)
        for file in files:
            if fault_of(file) == DAMAGED:
                raise UserError(f"{file}: damaged, not a run file as it was written, expected to run it again")
        found = read_numbers(files)
        return {scenario: found[file] for scenario, file in wanted.items() if file in found}

    def read_series(self, scenario: Scenario) -> Series:
        """The series of a finished run in time."""
        return read_series(self.run_file(scenario))

    def _read(self, wanted: Sequence[tuple[str, Scenario]], label: Mapping[Scenario, str] | None = None) -> Results:
        label = labels(scenario for _, scenario in wanted) if label is None else label
        files = {id_: self.path / FOLDERS[FILL_UP] / f"{id_}.parquet" for id_, _ in wanted}
        there = self._files(files.values())
        runs = dict(read_runs(file for file in files.values() if file in there))
        # in the order in which the scenarios were given: the first policy is the one the user named first
        found: dict[tuple[str, str], dict[int, Readings]] = {}
        run_on: dict[tuple[str, str], tuple[str, str]] = {}
        for id_, scenario in wanted:
            if files[id_] in runs:
                found.setdefault((label[scenario], scenario.label), {})[scenario.seed] = runs[files[id_]]
                run_on[label[scenario], scenario.label] = scenario.datacenter, scenario.profile
        results = Results(against=self.against)
        for (trace, policy), by_seed in found.items():
            seeds = tuple(sorted(by_seed))
            known = [column for column in (*COLUMNS, CPU_ONLY, BASE) if all(column in by_seed[seed] for seed in seeds)]
            values = {column: np.stack([by_seed[seed][column] for seed in seeds]) for column in known}
            results[trace, policy] = Curves(trace, policy, seeds, values, *run_on[trace, policy])
        return results

    def _files(self, wanted: Iterable[Path]) -> set[Path]:
        """The run files that are there, of the folders of `wanted`: one listing is faster than a look at each."""
        return {file for folder in {file.parent for file in wanted} for file in folder.glob("*.parquet")}

    def write_experiment(self, provenance: Mapping[str, Any], scenarios: Iterable[Scenario]) -> None:
        """`experiment.json`: what was run, on what, and every scenario with its id."""
        self._against = tuple(provenance["against"]) if "against" in provenance else None
        texts = ",\n".join(f"  {json.dumps(scenario.row())}" for scenario in scenarios)
        head = json.dumps(dict(provenance), indent=1)
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


def _say_run_again(files: list[Path], fault: str) -> None:
    if files and fault == WITHOUT_CHECKSUM:
        say(f"{files[0].parent}: {len(files)} run files {fault}, run again")
    elif files:
        more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        say(f"{', '.join(map(str, files[:NAMED]))}{more}: {fault}, run again")
