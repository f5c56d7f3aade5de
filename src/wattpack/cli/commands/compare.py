"""`wattpack compare`: the main job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from wattpack.cli.options import note_power, profile_option
from wattpack.cli.outputs import EXPERIMENT, check_folder
from wattpack.cli.plugins import load_plugins
from wattpack.cli.progress import progress_bar
from wattpack.cli.provenance import provenance_of, raise_if_failed
from wattpack.cli.show_results import print_curves, print_paths, print_steady_states
from wattpack.cli.streams import note
from wattpack.comparison import Comparison, compare
from wattpack.datasets import alibaba2023
from wattpack.datasets.edits import with_edits
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.engine.windows.batch import new_batch
from wattpack.errors import UserError
from wattpack.experiments.bound.ahead import bounds_ahead
from wattpack.experiments.bound.curves import bound_is_quick, with_bound
from wattpack.experiments.bound.headroom import little_to_save
from wattpack.experiments.lineup import DEFAULT_POLICIES
from wattpack.experiments.needs import need_tasks
from wattpack.experiments.options import Moving, new_moving, parse_loads
from wattpack.experiments.spec.axes import DEFAULT_SEEDS
from wattpack.experiments.spec.chosen import chosen_against
from wattpack.experiments.summary import write_summary
from wattpack.jit import say_if_compiling
from wattpack.model.tasks import Workload
from wattpack.report.provenance import never_fit


def compare_command(
    *,
    datacenter: str = alibaba2023.NAME,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    replace: list[str] | None = None,
    trace: list[str] | None = None,
    policy: list[str] | None = None,
    against: list[str] | None = None,
    seeds: int = DEFAULT_SEEDS,
    steady: str | None = None,
    defrag_every: int | None = None,
    defrag_moves: int = 100,
    defrag_pause_seconds: float = 0.0,
    bound: Annotated[bool | None, Parameter(negative="--no-bound")] = None,
    batch: int = 1,
    batch_seconds: float | None = None,
    batch_milp_seconds: float = 0.0,
    profile: str | None = None,
    power: Path | None = None,
    out: Path = Path("wattpack-results"),
    on: str = "local",
    workers: int | None = None,
    plugin: list[Path] | None = None,
    no_check: bool = False,
) -> None:
    """Run policies on traces with several seeds; print and write savings and GRAR over load.

    Finished runs are kept in the folder: the same command goes on from them.

    Parameters
    ----------
    datacenter
        Built-in name or CSV file of nodes.
    add
        Nodes to add at the end, like 20xH100-8 or, with the vCPU and GiB of a node, 20xH100-8:128c:1024g; may be given
        again. In a cluster with pools they join that of the nodes like them; 20xH100-8@p3 names one.
    remove
        Nodes to leave out, first: a model like T4, or 10xT4-2; may be given again.
    replace
        Nodes that get other GPUs, as T4=L4 or 10xT4-2=L4, all else the same; may be given again.
    trace
        Built-in name (default, multigpu20 ... gpuspec33) or CSV file of tasks; may be given again.
    policy
        Policy expression, for example pwr:0.1+fgd:0.9, or auto; may be given again.
    against
        Policy that savings are against (watts per GPU served at the same load); always run too; default: fgd; on
        a cluster of your own kube, then fgd. May be given again: the first is the one in curves and sentences.
    seeds
        Runs of each policy, each with its own workload and node order.
    steady
        Offered loads like 0.5,0.8,0.9 (at most 1,000): compare also in a steady state, where tasks arrive and leave.
    defrag_every
        With --steady: arrivals after which tasks are moved, as `wattpack defrag` would; each policy also runs without.
    defrag_moves
        Moves each time, at most.
    defrag_pause_seconds
        Seconds that a moved task is paused, and leaves later; a task runs for an hour on average.
    bound
        The bound too: the least power that any policy could reach at the most service (5 to 11 s for a built-in trace).
        Skipped for traces with many classes; --bound forces it, --no-bound skips it always.
    batch
        Run each policy also with windows: this number of tasks is held and placed together.
    batch_seconds
        With --steady: seconds that the first task of a window waits at most.
    batch_milp_seconds
        Seconds that a small MILP may take to place each window; its placement is used where it is better. 60 is plenty.
    profile
        Power profile: paper (the default), linear, concave, measured.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profile (`wattpack power`).
    out
        Folder for summary.csv, report.html, figures and the finished runs.
    on
        Where runs run: local, dask[=ADDRESS], ray[=ADDRESS].
    workers
        Runs at once; default: all cores.
    plugin
        Python file that registers policies of your own; may be given again.
    no_check
        Run plugins without checking their policies first (about a second each).
    """
    datacenter = with_edits(datacenter, add, remove, replace)
    plugins = load_plugins(plugin or [], not no_check)
    loads = parse_loads(steady) if steady is not None else ()
    moving = parse_moving(defrag_every, defrag_moves, defrag_pause_seconds, bool(loads))
    new_batch(batch, batch_seconds, batch_milp_seconds)
    if batch_seconds is not None and not loads:
        raise UserError("--batch-seconds holds tasks that come in time, expected --steady LOADS too")
    watts = profile_option(profile, power)
    nodes = load_datacenter(datacenter, power=watts)
    traces = {name: load_trace(name) for name in trace or ["default"]}
    for name, tasks in traces.items():
        need_tasks(name, tasks)
    check_folder(out, EXPERIMENT, (datacenter, *(trace or []), *(plugin or []), power))
    note_power(profile, power)
    say_if_compiling()
    bounded_traces = {name: tasks for name, tasks in traces.items() if bound or bound_is_quick(tasks)}
    ahead = {} if bound is False else bounded_traces
    with bounds_ahead(nodes, ahead, out, watts), progress_bar("comparing") as report:
        comparison = compare(
            datacenter,
            trace or ["default"],
            policy or DEFAULT_POLICIES,
            seeds,
            out,
            report,
            workers,
            on,
            plugins,
            batch,
            batch_milp_seconds,
            steady=loads,
            batch_seconds=batch_seconds,
            moving=moving,
            profile=watts,
            against=against or chosen_against(None, [datacenter]),
        )
    if bound is not False:
        comparison = with_bounds(comparison, datacenter, out, bounded_traces)
    gpus = float(nodes.gpus.sum())
    figures = write_pictures(comparison, out, gpus) if comparison.results else []
    # All is written: a reader of standard output that goes away (`| head -1`) costs nothing.
    if comparison.results:
        print_curves(comparison.results, gpus)
        print_paths(summary=out / "summary.csv", report=out / "report.html", figure=figures)
    print_steady_states(comparison.steady, out)
    sentences = (little_to_save(comparison.results, name, nodes) for name in traces)
    for line in (*comparison.choices, *filter(None, sentences)):
        print(line)
    for name, tasks in traces.items():
        if not tasks.gpu_request_milli().any():
            note(f"{name}: no task asks for a GPU, so the load stays 0 and there is nothing to compare")
    for name, texts in comparison.unplaceable.items():
        note(f"{name}: {never_fit(texts)}")
    raise_if_failed(comparison.outcome)


def parse_moving(every: int | None, moves: int, pause_s: float, with_steady: bool) -> Moving | None:
    if every is None:
        if pause_s != 0:
            raise UserError(f"--defrag-pause-seconds {pause_s:g} without moves, expected --defrag-every ARRIVALS too")
        return None
    if not with_steady:
        raise UserError("--defrag-every moves tasks in a steady state, expected --steady LOADS too")
    return new_moving(every, moves, pause_s)


def with_bounds(comparison: Comparison, datacenter: str, out: Path, traces: dict[str, Workload]) -> Comparison:
    """The comparison with the bounds of `traces`; the others are named on stderr."""
    inputs = comparison.inputs
    watts = next(iter(inputs.profiles.values()))
    results = with_bound(comparison.results, inputs.datacenters[datacenter], traces, folder=out, profile=watts)
    for name in inputs.traces.keys() - traces.keys():
        note(f"{name}: the bound is skipped, it would take minutes (--bound forces it)")
    write_summary(out / "summary.csv", results)
    return replace(comparison, results=results)


def write_pictures(comparison: Comparison, out: Path, gpus: float) -> list[Path]:
    """`report.html` and the figures of each trace; the paths of the figures."""
    from wattpack.report.pictures import write_compare_figures, write_page, write_steady_figures

    results, steady = comparison.results, comparison.steady
    figures = [*write_compare_figures(out, results), *write_steady_figures(out, steady)]
    provenance = provenance_of("wattpack compare", comparison.outcome, results, comparison.on, comparison.choices)
    write_page(out, results, provenance, steady, gpus)
    return figures
