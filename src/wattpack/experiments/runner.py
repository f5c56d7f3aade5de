"""Runs the scenarios that are not in the results folder yet, wherever runs run, and stores each when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from wattpack.experiments.axes import Experiment, resolve
from wattpack.experiments.executors import check_place, open_place
from wattpack.experiments.executors.executor import stream
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.plugins import read_plugins
from wattpack.experiments.provenance import machine, versions
from wattpack.experiments.scenario import Inputs, Scenario, labels
from wattpack.experiments.summary import BASELINE, Results, write_summary_parts
from wattpack.experiments.warm_up import warm_up

Report = Callable[[int, int, str], None]  # runs done, runs in all, what just ended

SYNC_EVERY_S = 10.0  # a power cut costs the runs of so long
READ_AT_ONCE = 512  # runs held while the summary is made: 27 kB each


@dataclass
class Outcome:
    """What became of the scenarios that were asked for."""

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
    plugins: Sequence[str | Path] = (),
) -> tuple[ResultsFolder, tuple[Scenario, ...], Outcome]:
    """Run an experiment into the folder `out`. `report(done, all, what)` is called after each run.

    `experiment.json` is written first, so that a part of the runs is known for what it is, and again with the outcome.
    """
    check_place(on, workers)
    inputs, scenarios = resolve(experiment)
    folder = ResultsFolder(out)
    told = _told(experiment, on, workers)
    folder.write_experiment(told, scenarios)
    outcome = run_all(scenarios, inputs, folder, report or _no_report, on, workers, plugins)
    told["outcome"] = {
        "seconds": round(outcome.seconds, 3),
        "done": outcome.done,
        "skipped": outcome.skipped,
        "failed": [{"id": scenario.id, "fault": fault} for scenario, fault in outcome.failed],
    }
    folder.write_experiment(told, scenarios)
    return folder, scenarios, outcome


def run_all(
    scenarios: Sequence[Scenario],
    inputs: Inputs,
    folder: ResultsFolder,
    report: Report,
    on: str = "local",
    workers: int | None = None,
    plugins: Sequence[str | Path] = (),
) -> Outcome:
    """Run what is missing in the folder. A failing run is noted and does not sink the rest; Ctrl-C leaves the finished.

    `on`: `local`, `dask[=ADDRESS]`, `ray[=ADDRESS]`, or `threads` and `processes` to say which of the two local ways.
    `plugins`: files that registered policies of the user's own; workers elsewhere import them too.
    """
    started = monotonic()
    texts = read_plugins(plugins)
    missing = folder.missing(scenarios)
    outcome = Outcome(skipped=len(scenarios) - len(missing))
    report(outcome.skipped, len(scenarios), "")
    if missing:
        place = open_place(on, missing, inputs, workers, texts, warm_up)
        synced = started
        try:
            with closing(stream(place, missing)) as results:
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


def summarise(folder: ResultsFolder, scenarios: Sequence[Scenario]) -> Path:
    """Write `summary.csv` of the finished runs, holding few of them at a time."""
    path = folder.path / "summary.csv"
    write_summary_parts(path, _summary_parts(folder, scenarios))
    return path


def _summary_parts(folder: ResultsFolder, scenarios: Sequence[Scenario]) -> Iterator[tuple[Results, Sequence[str]]]:
    """The finished runs, a few policies of a trace at a time with their baseline, and which policies are meant."""
    label = labels(scenarios)
    by_policy: dict[str, dict[str, list[Scenario]]] = {}
    for scenario in scenarios:
        by_policy.setdefault(label[scenario], {}).setdefault(scenario.label, []).append(scenario)
    for policies in by_policy.values():
        baseline = policies.get(BASELINE, [])
        meant: list[str] = []
        chosen: list[Scenario] = []
        for policy, runs in policies.items():
            meant.append(policy)
            chosen += runs
            if len(chosen) >= READ_AT_ONCE:
                yield folder.read(dict.fromkeys([*chosen, *baseline]), label), meant
                meant, chosen = [], []
        if meant:
            yield folder.read(dict.fromkeys([*chosen, *baseline]), label), meant


def _told(experiment: Experiment, on: str, workers: int | None) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "experiment": [block.axes() for block in experiment.blocks],
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "on": on,
        "workers": workers,
        "versions": versions(),
        "machine": machine(),
    }


def _line(fault: Exception) -> str:
    """A fault in one line; the kind alone where it has no text."""
    return ": ".join([type(fault).__name__, *str(fault).splitlines()[:1]])


def _no_report(done: int, everything: int, what: str) -> None:
    """Nobody looks."""
