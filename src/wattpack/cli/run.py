"""`wattpack run`: any experiment that is written down."""

from __future__ import annotations

import sys
from pathlib import Path

from wattpack.cli.plugins import load_plugins
from wattpack.cli.progress import progress_bar
from wattpack.errors import RunError
from wattpack.experiments.runner import Outcome, run_experiment, summarise
from wattpack.experiments.spec import load_experiment
from wattpack.jit import say_if_compiling


def run_command(
    experiment: Path,
    *,
    out: Path = Path("wattpack-results"),
    on: str = "local",
    workers: int | None = None,
    plugin: list[Path] | None = None,
) -> None:
    """Run every scenario of an experiment file; write summary.csv, experiment.json and one file a run.

    Finished runs are kept in the folder: the same command goes on from them.

    Parameters
    ----------
    experiment
        TOML or JSON file whose lists are axes: policy, trace, datacenter, seeds, profile, up_to.
    out
        Folder for the results.
    on
        Where runs run: local, dask (a cluster on this machine), dask=ADDRESS, ray, ray=ADDRESS.
    workers
        Runs at once; default: all cores. A cluster that is there has its own number.
    plugin
        Python file that registers policies of your own; may be given again. Workers import it too.
    """
    plugins = plugin or []
    load_plugins(plugins)
    loaded = load_experiment(experiment)
    say_if_compiling()
    with progress_bar(loaded.name) as report:
        folder, scenarios, outcome = run_experiment(loaded, out, report, on, workers, plugins)
    summary = summarise(folder, scenarios)
    print(told(outcome), file=sys.stderr)
    print(summary)
    raise_if_failed(outcome)


def told(outcome: Outcome) -> str:
    """What became of the runs, in a line."""
    parts = [f"{outcome.done} runs done in {outcome.seconds:.1f} s"]
    if outcome.skipped:
        parts.append(f"{outcome.skipped} were there")
    if outcome.failed:
        parts.append(f"{len(outcome.failed)} failed")
    return ", ".join(parts)


def raise_if_failed(outcome: Outcome) -> None:
    """All failures on stderr, each with its scenario; then the exit code."""
    for scenario, fault in outcome.failed:
        print(f"failed: {scenario}: {fault}", file=sys.stderr)
    if outcome.failed:
        raise RunError(f"{len(outcome.failed)} runs failed; the same command tries them again")
