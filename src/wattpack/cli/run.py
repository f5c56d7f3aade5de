"""`wattpack run`: any experiment that is written down."""

from __future__ import annotations

import sys
from pathlib import Path

from wattpack.cli.outputs import EXPERIMENT, check_folder
from wattpack.cli.plugins import load_plugins
from wattpack.cli.progress import progress_bar
from wattpack.cli.provenance import made_with, raise_if_failed, told
from wattpack.cli.steady import show_steady
from wattpack.experiments.axes import resolve_steady
from wattpack.experiments.runner import Outcome, run_experiment, summarise
from wattpack.experiments.spec import load_experiment
from wattpack.experiments.steady_table import run_steady_jobs
from wattpack.experiments.summary import BASELINE, Results
from wattpack.jit import say_if_compiling

SHOWN_UP_TO = 5000  # runs; a larger sweep is for DuckDB: a table and a page of it would not be read


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
        (offered loads) also a steady state, run on this machine, with batch_seconds, defrag_every and others.
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
    plugins = plugin or []
    load_plugins(plugins, not no_check)
    loaded = load_experiment(experiment)
    check_folder(out, EXPERIMENT, (experiment, *plugins))
    say_if_compiling()
    with progress_bar(loaded.name) as report:
        folder, scenarios, outcome = run_experiment(loaded, out, report, on, workers, plugins)
    summary = summarise(folder, scenarios)
    print(told(outcome), file=sys.stderr)
    shown = against_baseline(folder.read(scenarios)) if len(scenarios) <= SHOWN_UP_TO else {}
    page = write_report_of(shown, outcome, out, on) if shown else None
    rows = []
    if steady := resolve_steady(loaded):
        with progress_bar(f"{loaded.name}, steady state") as report:
            rows = run_steady_jobs(steady, loaded.inputs, out, report, workers)
    # All is written: a reader of standard output that goes away (`| head -1`) costs nothing.
    if page is not None:
        show(shown, page)
    print(f"summary  {summary}")
    if rows:
        show_steady(rows)
        print(f"steady   {out / 'steady.csv'}")
    raise_if_failed(outcome)


def against_baseline(results: Results) -> Results:
    """Those of the traces on which the baseline was run: savings are told against it."""
    against = {trace for trace, policy in results if policy == BASELINE}
    return {key: curves for key, curves in results.items() if key[0] in against}


def write_report_of(shown: Results, outcome: Outcome, out: Path, on: str) -> Path:
    from wattpack.report.html import write_report

    return write_report(out / "report.html", shown, made_with("wattpack run", outcome, shown, on))


def show(shown: Results, page: Path) -> None:
    """The table, and where the report is."""
    from rich.console import Console

    from wattpack.report.terminal import print_comparison

    print_comparison(shown, Console())
    print(f"report   {page}")
