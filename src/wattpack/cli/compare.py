"""`wattpack compare`: the main job."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from wattpack.cli.made import made_with, raise_if_failed
from wattpack.cli.plugins import load_plugins
from wattpack.cli.progress import progress_bar
from wattpack.datasets import alibaba2023
from wattpack.datasets.sources import load_datacenter
from wattpack.errors import UserError
from wattpack.experiments.bound.curves import bound_is_quick, with_bound
from wattpack.experiments.compare import DEFAULT_POLICIES, DEFAULT_SEEDS, Comparison, compare
from wattpack.experiments.steady import Moving
from wattpack.experiments.steady_table import SteadyRow, baselines_of, parse_loads, run_steady_table
from wattpack.experiments.summary import write_summary
from wattpack.jit import say_if_compiling


def compare_command(
    *,
    datacenter: str = alibaba2023.NAME,
    trace: list[str] | None = None,
    policy: list[str] | None = None,
    seeds: int = DEFAULT_SEEDS,
    steady: str | None = None,
    defrag_every: int | None = None,
    defrag_moves: int = 100,
    bound: Annotated[bool | None, Parameter(negative="--no-bound")] = None,
    batch: int = 1,
    out: Path = Path("wattpack-results"),
    on: str = "local",
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
    steady
        Offered loads like 0.5,0.8,0.9: compare also with departures, tasks coming and going at these loads.
    defrag_every
        With --steady: run each policy also with tasks moved after every so many arrivals, as `wattpack defrag` would.
    defrag_moves
        At most so many moves each time.
    bound
        The bound too: the least power that any policy could reach at the most service (5 to 11 s for a built-in trace).
        It is left out of itself for traces with very many classes; --bound insists, --no-bound leaves it out.
    batch
        Run each policy also with windows: so many tasks are held and placed together.
    out
        Folder for summary.csv, report.html, figures and the finished runs.
    on
        Where runs run: local, dask[=ADDRESS], ray[=ADDRESS].
    workers
        Runs at once; default: all cores.
    plugin
        Python file that registers policies of your own; may be given again.
    """
    load_plugins(plugin or [])
    loads = parse_loads(steady) if steady is not None else ()
    moving = parse_moving(defrag_every, defrag_moves, bool(loads))
    say_if_compiling()
    with progress_bar("comparing") as report:
        comparison = compare(
            datacenter,
            trace or ["default"],
            policy or DEFAULT_POLICIES,
            seeds,
            out,
            report,
            workers,
            on,
            plugin or [],
            batch,
        )
    if bound is not False:
        comparison = bounded(comparison, datacenter, out, bound is True)
    if comparison.results:
        gpus = float(load_datacenter(datacenter).gpus.sum())
        show(comparison, out, gpus, on)
    if loads and comparison.results:
        with progress_bar("steady state") as report:
            inputs = (comparison.scenarios, comparison.inputs, loads)
            rows = run_steady_table(*inputs, out, report, workers, moving=moving)
        show_steady(rows)
        print(f"steady   {out / 'steady.csv'}")
    for name in trace or []:
        if name not in {scenario.trace for scenario in comparison.scenarios}:
            print(f"{name}: no tasks, nothing to compare", file=sys.stderr)
    for name, texts in comparison.unplaceable.items():
        for text in texts:
            print(f"{name}: can never fit any node: {text}", file=sys.stderr)
    raise_if_failed(comparison.outcome)


def parse_moving(every: int | None, moves: int, with_steady: bool) -> Moving | None:
    if every is None:
        return None
    if not with_steady:
        raise UserError("--defrag-every moves tasks in a steady state, expected --steady LOADS too")
    if every < 1 or moves < 1:
        raise UserError(f"--defrag-every {every} --defrag-moves {moves}, expected 1 or more")
    return Moving(every, moves)


def bounded(comparison: Comparison, datacenter: str, out: Path, insists: bool) -> Comparison:
    """The comparison with the bound of each trace, where it can be had in seconds or the user insists."""
    inputs = comparison.inputs
    traces = {name: trace for name, trace in inputs.traces.items() if insists or bound_is_quick(trace)}
    results = with_bound(comparison.results, inputs.datacenters[datacenter], traces, folder=out)
    for name in inputs.traces.keys() - traces.keys():
        print(f"{name}: the bound is left out, it would take minutes (--bound insists)", file=sys.stderr)
    write_summary(out / "summary.csv", results)
    return replace(comparison, results=results)


def show(comparison: Comparison, out: Path, gpus: float, on: str) -> None:
    """Print the table, write figures and report, say where they are."""
    from rich.console import Console

    from wattpack.report.figures import compare_figure, save
    from wattpack.report.html import write_report
    from wattpack.report.terminal import print_comparison

    results = comparison.results
    print_comparison(results, Console(), gpus)
    figures = []
    for trace in dict.fromkeys(trace for trace, _ in results):
        figures += save(compare_figure(results, trace), out / "figures", f"compare-{Path(trace).stem}", kinds=("png",))
    made = made_with("wattpack compare", comparison.outcome, results, on)
    write_report(out / "report.html", results, made, gpus=gpus)
    print(f"summary  {out / 'summary.csv'}\nreport   {out / 'report.html'}")
    for path in figures:
        print(f"figure   {path}")


def show_steady(rows: list[SteadyRow]) -> None:
    """One table a trace: power, saving, GRAR and watts per GPU at each offered load."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console = Console(width=100)
    moving = next((row.moving for row in rows if row.moving is not None), None)
    told = f" (moving: at most {moving.moves} moves every {moving.every} arrivals)" if moving is not None else ""
    baselines = baselines_of(rows)
    for trace, load in baselines:
        table = Table(
            title=Text(f"{trace}: steady state at offered load {load:g}{told}"), show_edge=False, title_justify="left"
        )
        table.add_column("policy", no_wrap=moving is None)
        for column in ("MW", "saving %", "GRAR", "W per GPU", "frag. GPUs", *(["moves a task"] if moving else [])):
            table.add_column(column, justify="right", no_wrap=True)
        for row in rows:
            if (row.trace, row.load) == (trace, load):
                saving = 1 - row.mean("eopc_w") / baselines[trace, load].mean("eopc_w")
                table.add_row(
                    Text(row.title),
                    f"{row.mean('eopc_w') / 1e6:.3f}",
                    "-" if row is baselines[trace, load] else f"{100 * saving:.1f}",
                    f"{row.mean('grar'):.4f}±{row.spread('grar'):.4f}",
                    f"{row.mean('w_per_gpu'):.1f}±{row.spread('w_per_gpu'):.1f}",
                    f"{row.mean('fragmentation_gpus'):.0f}",
                    *([f"{row.moves_per_arrival:.3f}"] if moving else []),
                )
        console.print(table)
