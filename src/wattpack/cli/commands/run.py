"""`wattpack run`: the runs of an experiment file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from wattpack.answers.experiment import run_loaded, with_savings
from wattpack.cli.options import note_power
from wattpack.cli.outputs import EXPERIMENT, check_folder
from wattpack.cli.plugins import load_plugins
from wattpack.cli.progress import progress_bar
from wattpack.cli.provenance import note_never_fit, provenance_of, raise_if_failed, timed_provenance
from wattpack.cli.show_results import print_curves, print_paths, print_runs_in_time, print_steady_states
from wattpack.cli.streams import note
from wattpack.experiments.curves import Results
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.overtaken import overtaken_lines
from wattpack.experiments.runner import Outcome
from wattpack.experiments.spec import load_experiment
from wattpack.experiments.steady_table import SteadyRow
from wattpack.experiments.timed_experiment import notes_of
from wattpack.jit import say_if_compiling
from wattpack.report.provenance import outcome_text


def run_command(
    experiment: Path,
    *,
    out: Path = Path("wattpack-results"),
    on: str = "local",
    workers: int | None = None,
    plugin: list[Path] | None = None,
    no_check: bool = False,
) -> None:
    """Run every scenario of an experiment file; write summary.csv, report.html, experiment.json and one file a run.

    Finished runs are kept in the folder: the same command goes on from them.

    Parameters
    ----------
    experiment
        TOML or JSON file whose lists are axes: policy, trace, datacenter, seeds, profile, up_to, batch; with steady
        (offered loads) also a steady state, with batch_seconds, defrag_every and others; with [timed] runs in time.
    out
        Folder for the results.
    on
        Where runs run: local, dask (a cluster on this machine), dask=ADDRESS, ray, ray=ADDRESS.
    workers
        Runs at once; default: all cores. A cluster that is there has its own number.
    plugin
        Python file that registers policies of your own; may be given again. Workers import it too.
    no_check
        Run plugins without checking their policies first (about a second each).
    """
    plugins = load_plugins(plugin or [], not no_check)
    loaded = load_experiment(experiment)
    check_folder(out, EXPERIMENT, (experiment, *(plugin or []), *(file for file, _ in loaded.power_files)))
    for file, profile in loaded.power_files:
        note_power(profile, file)
    say_if_compiling()
    with progress_bar(loaded.name) as report:
        found, summary = run_loaded(loaded, out, report, on, workers, list(plugins))
    rows, table, scenarios, outcome = found.steady, found.in_time, found.scenarios, found.outcome
    print(outcome_text(outcome), file=sys.stderr)
    shown, choices = with_savings(found.results), list(found.choices)
    page, figures = write_pictures(shown, rows, outcome, out, on, choices)
    every = (row for group in table.values() for row in group)
    timed = {one: run for row in every for one, run in zip(row.scenarios, row.runs, strict=True)}
    overtaken = list(overtaken_lines(timed, loaded.inputs))
    time_page = None
    if table:
        from wattpack.report.time_page import write_time_page

        made = timed_provenance(outcome, scenarios, on, [*choices, *notes_of(loaded), *overtaken])
        name = "report.html" if page is None else "time.html"
        time_page = write_time_page(out, table, ResultsFolder(out), loaded.inputs, made, name)
    # All is written: a reader of standard output that goes away (`| head -1`) costs nothing.
    if page is not None:
        print_curves(shown)
        print_paths(report=page)
    print_paths(summary=summary, figure=figures)
    print_steady_states(rows, out)
    if time_page is not None:
        print_runs_in_time(table)
        print_paths(time=out / "time.csv", report=time_page)
    for line in choices:
        print(line)
    for line in overtaken:
        note(line)
    note_never_fit(loaded.inputs)
    raise_if_failed(outcome)


def write_pictures(
    shown: Results, rows: Sequence[SteadyRow], outcome: Outcome, out: Path, on: str, choices: Sequence[str]
) -> tuple[Path | None, list[Path]]:
    """`report.html`, where there are savings to show, and the figures of the steady states."""
    from wattpack.report.pictures import write_page, write_steady_figures

    figures = write_steady_figures(out, rows)
    if not shown:
        return None, figures
    return write_page(out, shown, provenance_of("wattpack run", outcome, shown, on, choices), rows), figures
