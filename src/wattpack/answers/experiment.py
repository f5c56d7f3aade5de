"""The runs of an experiment file: `wattpack.run_experiment`, and what it and `wattpack run` show of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from wattpack.answers.chosen import Plugins, folder_of, imported_plugins
from wattpack.answers.text import Shown, say
from wattpack.answers.timed_frame import timed_frame
from wattpack.comparison import curves_frame
from wattpack.experiments.curves import Results
from wattpack.experiments.plugins import Plugin
from wattpack.experiments.runner import Outcome, Report, summarise
from wattpack.experiments.runner import run_experiment as run_into
from wattpack.experiments.scenario import Inputs, Scenario, choice_lines
from wattpack.experiments.spec import load_experiment
from wattpack.experiments.spec.axes import Experiment
from wattpack.experiments.steady_table import SteadyRow, steady_rows
from wattpack.experiments.timed_table import Table, timed_table
from wattpack.frames import new_frame
from wattpack.report.provenance import outcome_text

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN_UP_TO = 5000  # runs; a larger sweep is for DuckDB: a table and a page of it would not be read


@dataclass(frozen=True, repr=False)
class ExperimentRun(Shown):
    """The answer of `wattpack.run_experiment`: curves of fill-ups, rows of steady states, rows of runs in time."""

    results: Results
    steady: tuple[SteadyRow, ...]
    in_time: Table
    outcome: Outcome
    scenarios: tuple[Scenario, ...]
    inputs: Inputs
    choices: tuple[str, ...]  # what `auto` chose and why

    def show(self, console: Console) -> None:
        from wattpack.report.steady_terminal import print_steady
        from wattpack.report.terminal import print_comparison
        from wattpack.report.time_terminal import print_time

        shown = with_savings(self.results)
        if shown:
            print_comparison(shown, console)
        if self.steady:
            print_steady(self.steady, console)
        if self.in_time:
            print_time(self.in_time, console)
        failed = [f"failed: {scenario}: {fault}" for scenario, fault in self.outcome.failed]
        say(console, *self.choices, *failed, outcome_text(self.outcome))

    def to_pandas(self) -> DataFrame:
        """The frame of `summary.csv`: a row for each trace, policy and hundredth of load of the fill-ups."""
        return curves_frame(self.results)

    def steady_to_pandas(self) -> DataFrame:
        """A row for each steady state."""
        names = list(SteadyRow.__dataclass_fields__)
        return new_frame({name: [getattr(row, name) for row in self.steady] for name in names})

    def timed_to_pandas(self) -> DataFrame:
        """The frame of `time.csv`: a row for each run in time."""
        return timed_frame(self.in_time)


def run_experiment(
    experiment: str | Path,
    *,
    out: str | Path | None = None,
    report: Report | None = None,
    on: str = "local",
    workers: int | None = None,
    plugin: Plugins = (),
) -> ExperimentRun:
    """Run every scenario of an experiment file (TOML or JSON, docs/guide/experiments.md).

    With a folder `out` the runs, `summary.csv` and its like are kept there, and the same call continues from them.
    """
    plugins = imported_plugins(plugin)
    loaded = load_experiment(Path(experiment))
    with folder_of(out) as folder:
        return run_loaded(loaded, folder, report, on, workers, plugins)[0]


def run_loaded(
    loaded: Experiment,
    out: Path,
    report: Report | None,
    on: str,
    workers: int | None,
    plugins: list[str | Path | Plugin],
) -> tuple[ExperimentRun, Path]:
    """Run into `out`, write `summary.csv` and its like; what was found, and the path of the first."""
    folder, scenarios, outcome = run_into(loaded, out, report, on, workers, plugins)
    summary = summarise(folder, scenarios)
    few = len(scenarios) <= SHOWN_UP_TO
    found = ExperimentRun(
        folder.read(scenarios) if few else Results(),
        tuple(steady_rows(folder.read_steady(scenarios), folder.against)),
        timed_table(folder.read_timed(scenarios), folder.against) if few else Table(),
        outcome,
        scenarios,
        loaded.inputs,
        tuple(choice_lines(scenarios, loaded.inputs)),
    )
    return found, summary


def with_savings(results: Results) -> Results:
    """The results of traces on which the policy was run that savings are against."""
    return results.with_curves({key: curves for key, curves in results.items() if results.base(key[0]) is not None})
