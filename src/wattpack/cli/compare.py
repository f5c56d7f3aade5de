"""`wattpack compare`: the main job."""

from __future__ import annotations

import sys
from pathlib import Path

from wattpack.cli.plugins import load_plugins
from wattpack.cli.progress import progress_bar
from wattpack.datasets import alibaba2023
from wattpack.errors import RunError
from wattpack.experiments.compare import DEFAULT_POLICIES, DEFAULT_SEEDS, Comparison, compare
from wattpack.jit import say_if_compiling


def compare_command(
    *,
    datacenter: str = alibaba2023.NAME,
    trace: list[str] | None = None,
    policy: list[str] | None = None,
    seeds: int = DEFAULT_SEEDS,
    out: Path = Path("wattpack-results"),
    workers: int | None = None,
    plugin: list[Path] | None = None,
) -> None:
    """Run policies on traces with several seeds; print and write savings against FGD and GRAR over load.

    Finished runs are kept in the folder: the same command goes on from them.

    Parameters
    ----------
    datacenter
        Built-in name or CSV file of nodes.
    trace
        Built-in name (default, multigpu20 ... gpuspec33) or CSV file of tasks; may be given again.
    policy
        Policy expression, for example pwr:0.1+fgd:0.9; may be given again. FGD is always run: it is the baseline.
    seeds
        Runs of each policy, each with its own workload and node order.
    out
        Folder for summary.csv, report.html, figures and the finished runs.
    workers
        Runs at once; default: all cores.
    plugin
        Python file that registers policies of your own; may be given again.
    """
    load_plugins(plugin or [])
    say_if_compiling()
    with progress_bar("comparing") as report:
        comparison = compare(datacenter, trace or ["default"], policy or DEFAULT_POLICIES, seeds, out, report, workers)
    show(comparison, out)
    for name, texts in comparison.unplaceable.items():
        for text in texts:
            print(f"{name}: can never fit any node: {text}", file=sys.stderr)
    if comparison.outcome.failed:
        scenario, fault = comparison.outcome.failed[0]
        raise RunError(
            f"{len(comparison.outcome.failed)} runs failed, the first: {scenario.trace}, {scenario.policy}, "
            f"seed {scenario.seed}: {fault}"
        )


def show(comparison: Comparison, out: Path) -> None:
    print(out / "summary.csv")
