"""Runs the scenarios that the results folder lacks, on an executor, and stores each result as it arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from wattpack.experiments.curves import Results
from wattpack.experiments.executors import check_executor, open_executor
from wattpack.experiments.executors.executor import stream
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.plugins import Plugin, read_plugins
from wattpack.experiments.provenance import machine, versions
from wattpack.experiments.scenario import FILL_UP, Inputs, Scenario, choice_lines, labels
from wattpack.experiments.spec.axes import Experiment, resolve
from wattpack.experiments.steady_table import SteadyRow, steady_rows, write_steady
from wattpack.experiments.summary import write_summary_parts
from wattpack.experiments.timed_result import TimedNumbers
from wattpack.experiments.timed_table import write_time
from wattpack.experiments.warm_up import warm_up

Report = Callable[[int, int, str], None]  # runs done, runs in all, what just ended

SYNC_EVERY_S = 10.0  # a power cut costs the runs of this time at most
READ_AT_ONCE = 512  # runs held while the summary is made: 27 kB each


@dataclass
class Outcome:
    """How many of the requested scenarios were run, were there already, or failed."""

    done: int = 0
    skipped: int = 0  # were in the folder already
    failed: list[tuple[Scenario, str]] = field(default_factory=list)
    seconds: float = 0.0


def run_experiment(
    experiment: Experiment,
    out: str | Path,
    report: Report | None = None,
    on: str = "local",
    workers: int | None = None,
    plugins: Sequence[str | Path | Plugin] = (),
) -> tuple[ResultsFolder, tuple[Scenario, ...], Outcome]:
    """Run an experiment into the folder `out`. `report(done, all, what)` is called after each run.

    `experiment.json` is written first, so that an interrupted folder is described too, and again with the outcome.
    """
    check_executor(on, workers)
    inputs, scenarios = resolve(experiment)
    folder = ResultsFolder(out)
    provenance = _provenance(experiment, on, workers)
    if chosen := choice_lines(scenarios, inputs):
        provenance["auto"] = chosen
    folder.write_experiment(provenance, scenarios)
    outcome = run_all(scenarios, inputs, folder, report or _no_report, on, workers, plugins)
    provenance["outcome"] = {
        "seconds": round(outcome.seconds, 3),
        "done": outcome.done,
        "skipped": outcome.skipped,
        "failed": [{"id": scenario.id, "fault": fault} for scenario, fault in outcome.failed],
    }
    folder.write_experiment(provenance, scenarios)
    return folder, scenarios, outcome


def run_all(
    scenarios: Sequence[Scenario],
    inputs: Inputs,
    folder: ResultsFolder,
    report: Report,
    on: str = "local",
    workers: int | None = None,
    plugins: Sequence[str | Path | Plugin] = (),
) -> Outcome:
    """Run the scenarios that the folder lacks. A failing run does not stop the rest; Ctrl-C keeps the finished runs.

    `on`: `local`, `dask[=ADDRESS]`, `ray[=ADDRESS]`, or `threads` and `processes` to say which of the two local ways.
    `plugins`: files that registered policies of the user's own, already imported here; workers import them too.
    """
    started = monotonic()
    shipped = read_plugins(plugins)
    missing = folder.missing(scenarios)
    outcome = Outcome(skipped=len(scenarios) - len(missing))
    report(outcome.skipped, len(scenarios), "")
    if missing:
        executor = open_executor(on, missing, inputs, workers, shipped, partial(_warm_up, missing))
        synced = started
        try:
            with closing(stream(executor, missing)) as results:
                for scenario, result in results:
                    if isinstance(result, Exception):
                        outcome.failed.append((scenario, _line(result)))
                    else:
                        folder.store(scenario, result)
                        outcome.done += 1
                    if monotonic() - synced > SYNC_EVERY_S:
                        folder.sync()
                        synced = monotonic()
                    finished = outcome.skipped + outcome.done + len(outcome.failed)
                    report(finished, len(scenarios), str(scenario))
        finally:
            folder.sync()
    outcome.seconds = monotonic() - started
    return outcome


def _warm_up(scenarios: Sequence[Scenario]) -> None:
    """Compile what these scenarios use, fill-ups and runs in time, before workers start: each would compile it."""
    for in_time in sorted({scenario.timed is not None for scenario in scenarios}):
        warm_up([scenario.policy for scenario in scenarios], in_time)


def summarise(folder: ResultsFolder, scenarios: Sequence[Scenario]) -> Path:
    """Write `summary.csv` of the finished runs, a few of them in memory at a time, and `steady.csv` and `time.csv` if
    there are steady states and runs in time. Returns the path of the first."""
    path = folder.path / "summary.csv"
    write_summary_parts(path, _summary_parts(folder, [s for s in scenarios if s.kind == FILL_UP]))
    summarise_steady(folder, scenarios)
    summarise_timed(folder, scenarios)
    return path


def summarise_steady(folder: ResultsFolder, scenarios: Sequence[Scenario]) -> list[SteadyRow]:
    """The rows of `steady.csv`, which is written if there are any."""
    rows = steady_rows(folder.read_steady(scenarios), folder.against)
    if rows:
        write_steady(folder.path / "steady.csv", rows)
    return rows


def summarise_timed(folder: ResultsFolder, scenarios: Sequence[Scenario]) -> dict[Scenario, TimedNumbers]:
    """The numbers of the finished runs in time; `time.csv` is written if there are any."""
    results = folder.read_timed(scenarios)
    if results:
        write_time(folder.path / "time.csv", results, folder.against)
    return results


def _summary_parts(folder: ResultsFolder, scenarios: Sequence[Scenario]) -> Iterator[tuple[Results, Sequence[str]]]:
    """The finished fill-ups, a few policies of a trace at a time with those that savings are against, and the policies
    to write."""
    label = labels(scenarios)
    by_policy: dict[str, dict[str, list[Scenario]]] = {}
    for scenario in scenarios:
        by_policy.setdefault(label[scenario], {}).setdefault(scenario.label, []).append(scenario)
    for policies in by_policy.values():
        others = [run for policy in folder.against for run in policies.get(policy, [])]
        meant: list[str] = []
        chosen: list[Scenario] = []
        for policy, runs in policies.items():
            meant.append(policy)
            chosen += runs
            if len(chosen) >= READ_AT_ONCE:
                yield folder.read(dict.fromkeys([*chosen, *others]), label), meant
                meant, chosen = [], []
        if meant:
            yield folder.read(dict.fromkeys([*chosen, *others]), label), meant


def _provenance(experiment: Experiment, on: str, workers: int | None) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "experiment": [block.axes() for block in experiment.blocks],
        "against": list(experiment.against),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "on": on,
        "workers": workers,
        "versions": versions(),
        "machine": machine(),
    }


def _line(fault: Exception) -> str:
    """An exception in one line; the type alone where it has no text."""
    return ": ".join([type(fault).__name__, *str(fault).splitlines()[:1]])


def _no_report(done: int, everything: int, what: str) -> None:
    """For callers that want no progress."""
