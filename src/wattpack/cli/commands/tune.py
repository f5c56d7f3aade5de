"""`wattpack tune`: the best policy for a datacenter and a trace, and how sure that is."""

from __future__ import annotations

from pathlib import Path

from wattpack.answers.csv_output import write_csv
from wattpack.answers.tune import HEADER, figure_of, pareto_rows, show
from wattpack.cli.consoles import wide_console
from wattpack.cli.options import note_power, profile_option
from wattpack.cli.outputs import EXPERIMENT, check_folder
from wattpack.cli.plugins import load_plugins
from wattpack.cli.progress import progress_bar
from wattpack.cli.provenance import note_never_fit
from wattpack.cli.show_results import print_paths
from wattpack.datasets import alibaba2023
from wattpack.datasets.edits import with_edits
from wattpack.datasets.inflation import UP_TO
from wattpack.errors import UserError
from wattpack.experiments.options import parse_loads
from wattpack.experiments.tune.search import GRAR_LOSS, LOADS_OF_INTEREST, Tuned, Wanted, tune
from wattpack.jit import say_if_compiling
from wattpack.policies.expression import canonical
from wattpack.report.provenance import outcome_text


def tune_command(
    *,
    datacenter: str = alibaba2023.NAME,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    replace: list[str] | None = None,
    trace: str = "default",
    seeds: int | None = None,
    loads: str | None = None,
    steady: str | None = None,
    grar_loss: float | None = None,
    sleep: str | None = None,
    wait_p99: str | None = None,
    load: float | None = None,
    days: float | None = None,
    policy: list[str] | None = None,
    against: list[str] | None = None,
    profile: str | None = None,
    power: Path | None = None,
    out: Path = Path("wattpack-tune"),
    on: str = "local",
    workers: int | None = None,
    plugin: list[Path] | None = None,
    no_check: bool = False,
) -> None:
    """Try policies, their knobs and mixes of two; recommend the one that saves most and serves as much as --against.

    With --sleep and --wait-p99: knobs of nodes that sleep and the policy that keep the wait with least energy.

    All candidates run on few seeds, the better half on twice as many, and so on. The numbers of the recommended one
    were measured on fresh seeds. Finished runs are kept in the folder: the same command goes on from them.

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
        Built-in name or CSV file of tasks.
    seeds
        Seeds to choose with; as many fresh ones check the choice. Default: 10, or 2 with --sleep.
    loads
        Loads of interest while the datacenter fills up; default 0.5,0.8,0.9,1, or none with --steady.
    steady
        Offered loads like 0.8: tune for tasks that come and go. With --loads too, both count.
    grar_loss
        GRAR that may be given away, mean over the loads; default: 0.0005, which counts as equal.
    sleep
        Find the knobs idle and reserve of nodes that sleep, and the policy, for runs in time; knobs that are given
        (wake=8m) stay as they are. Needs --wait-p99.
    wait_p99
        With --sleep: the longest wait that 99 of 100 tasks may see, like 10m.
    load
        With --sleep: mean load of drawn tasks; default: 0.7 for built-in traces, tasks at their own times for files.
    days
        With --sleep: days of drawn tasks; default: 7.
    policy
        Try these expressions instead of all, auto among them if named; may be given again.
    against
        Policy that savings and service are compared with, always tried too; default: fgd; on a cluster of
        your own kube, then fgd. May be given again: savings are against the first.
    profile
        Power profile: paper (the default), linear, concave, measured.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profile (`wattpack power`).
    out
        Folder for pareto.csv, the figure and the finished runs.
    on
        Where runs run: local, dask[=ADDRESS], ray[=ADDRESS].
    workers
        Runs at once; default: all cores.
    plugin
        Python file that registers policies of your own: they are tried too; may be given again.
    no_check
        Run plugins without checking their policies first (about a second each).
    """
    datacenter = with_edits(datacenter, add, remove, replace)
    plugins = load_plugins(plugin or [], not no_check)
    watts = profile_option(profile, power)
    if sleep is not None:
        if (loads, steady, grar_loss) != (None, None, None):
            raise UserError("--sleep with --loads, --steady or --grar-loss, expected --load, --days and --wait-p99")
        from wattpack.cli.tune_sleep import tune_sleep_command

        drawn = (load, days, datacenter, trace, policy, seeds)
        inputs = (datacenter, trace, power, *(plugin or []))
        tune_sleep_command(sleep, wait_p99, *drawn, against, watts, out, on, workers, plugins, inputs)
        return
    if (wait_p99, load, days) != (None, None, None):
        raise UserError("--wait-p99, --load or --days without --sleep, expected that too")
    seeds = 10 if seeds is None else seeds
    grar_loss = GRAR_LOSS if grar_loss is None else grar_loss
    if not 0 <= grar_loss <= 1:
        raise UserError(f"--grar-loss {grar_loss:g}, expected 0 to 1")
    wanted = Wanted(
        datacenter,
        trace,
        _loads(loads, steady is not None),
        parse_loads(steady) if steady is not None else (),
        seeds,
        grar_loss,
        watts,
        against=against,
    )
    candidates = [canonical(text) for text in policy] if policy else None
    check_folder(out, (*EXPERIMENT, "pareto.csv"), (datacenter, trace, power, *(plugin or [])))
    note_power(profile, power)
    say_if_compiling()
    tuned = tune(wanted, out, progress_bar, candidates, on, workers, plugins)
    write_csv(out / "pareto.csv", HEADER, pareto_rows(tuned, wanted.compared_with[0]))
    figures = write_figure(tuned, wanted, out)
    show(tuned, wanted, wide_console())
    print(f"runs     {outcome_text(tuned.outcome)}")
    print_paths(pareto=out / "pareto.csv", figure=figures)
    note_never_fit(tuned.inputs)


def _loads(text: str | None, with_steady: bool) -> tuple[float, ...]:
    if text is None:
        return () if with_steady else LOADS_OF_INTEREST
    try:
        found = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        found = ()
    if not found or not all(0 < load <= UP_TO for load in found):
        raise UserError(f"--loads {text!r}, expected loads above 0 and up to {UP_TO:g} like 0.5,0.8,1")
    return found


def write_figure(tuned: Tuned, wanted: Wanted, out: Path) -> list[Path]:
    from wattpack.report.figure_parts import save

    return save(figure_of(tuned, wanted), out / "figures", f"pareto-{Path(wanted.trace).stem}")
