"""`wattpack tune`: the best policy for a datacenter and a trace, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from wattpack.cli.consoles import wide_console
from wattpack.cli.csv_output import write_csv
from wattpack.cli.options import note_power, profile_option
from wattpack.cli.outputs import EXPERIMENT, check_folder
from wattpack.cli.plugins import load_plugins
from wattpack.cli.progress import progress_bar
from wattpack.cli.provenance import note_never_fit
from wattpack.datasets import alibaba2023
from wattpack.datasets.edits import short_name, with_edits
from wattpack.datasets.inflation import UP_TO
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.errors import UserError
from wattpack.experiments.bound.curves import bound_is_quick
from wattpack.experiments.bound.headroom import LITTLE, little_to_save_on
from wattpack.experiments.options import parse_loads
from wattpack.experiments.spec.chosen import chosen_profile
from wattpack.experiments.tune.measured import Measured
from wattpack.experiments.tune.search import GRAR_LOSS, LOADS_OF_INTEREST, Tuned, Wanted, tune
from wattpack.jit import say_if_compiling
from wattpack.policies.expression import canonical
from wattpack.report.provenance import outcome_text

HEADER = (
    *("policy", "seeds", "saving", "saving_error", "grar", "grar_error", "front", "recommended", "dropped_after"),
    *("fresh_seeds", "fresh_saving", "fresh_saving_error", "fresh_grar", "fresh_grar_error"),
    "against",
)
WIDTH = 1000  # where the output is no terminal: nothing is cut


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
        Policy that savings and service are compared with, always tried too; default: fgd. May be given again: savings
        are against the first.
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
    write_pareto(out / "pareto.csv", tuned, wanted.compared_with[0])
    show(tuned, wanted, out, write_figure(tuned, wanted, out))
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


def write_pareto(path: Path, tuned: Tuned, against: str) -> None:
    """All candidates, those with most seeds first."""
    on_front = {one.policy for one in tuned.front}
    rows = []
    for one in tuned.found:
        fresh = tuned.checked.get(one.policy)
        rows.append(
            [one.policy, len(one.seeds), *_cells(one), int(one.policy in on_front)]
            + [int(one.policy == tuned.advice.best.policy), tuned.dropped_after.get(one.policy, "")]
            + ([len(fresh.seeds), *_cells(fresh)] if fresh is not None else [""] * 5)
            + [against]
        )
    write_csv(path, HEADER, rows)


def _cells(one: Measured) -> list[str]:
    values = (one.saving, one.saving_error, one.grar, one.grar_error)
    return ["" if not math.isfinite(value) else f"{value + 0.0:.6f}" for value in values]


def title_of(wanted: Wanted) -> str:
    """The datacenter, trace and loads, in a line."""
    where = [f"fill-up at {', '.join(f'{load:g}' for load in wanted.loads)}"] if wanted.loads else []
    where += [f"steady state at {', '.join(f'{load:g}' for load in wanted.steady)}"] if wanted.steady else []
    return f"{Path(wanted.trace).stem} on {short_name(wanted.datacenter)}, {' and '.join(where)}"


def write_figure(tuned: Tuned, wanted: Wanted, out: Path) -> list[Path]:
    from wattpack.report.figure_parts import save
    from wattpack.report.pareto import pareto_figure

    figure = pareto_figure(
        tuned.found, tuned.front, tuned.advice.best.policy, title_of(wanted), wanted.compared_with[0]
    )
    return save(figure, out / "figures", f"pareto-{Path(wanted.trace).stem}")


def show(tuned: Tuned, wanted: Wanted, out: Path, figures: list[Path]) -> None:
    """Print the front, the advice and the paths of the files."""
    from rich.table import Table
    from rich.text import Text

    advice, against = tuned.advice, wanted.compared_with
    print(f"{title_of(wanted)}: the front, on fresh seeds")
    table = Table(show_edge=False)
    table.add_column("policy", no_wrap=True)
    for column in (*(f"saving vs {other} %" for other in against), "GRAR", "seeds"):
        table.add_column(column, justify="right", no_wrap=True)
    shown = dict.fromkeys([advice.best.policy, *(one.policy for one in tuned.front), *against])
    rows = sorted((tuned.checked[policy] for policy in shown), key=lambda one: -one.saving)
    for one in rows:
        mark = " <-" if one.policy == advice.best.policy else ""
        savings = [_saving_text(one, place, against) for place in range(len(against))]
        grar = f"{one.grar:.4f}±{one.grar_error:.4f}"
        table.add_row(Text(one.policy + mark), *savings, grar, str(len(one.seeds)))
    wide_console(WIDTH).print(table)
    print(
        "saving: watts per GPU served that a policy needs less, mean over the loads; GRAR: GPU served / GPU requested"
    )
    print("±: half of the 95 % interval over the seeds (Student's t)")
    print()
    for line in (*advice_lines(tuned, wanted), *tuned.choices, *what_helps(tuned, wanted)):
        print(line)
    print(f"runs     {outcome_text(tuned.outcome)}")
    print(f"pareto   {out / 'pareto.csv'}")
    for path in figures:
        print(f"figure   {path}")


def _saving_text(one: Measured, place: int, against: Sequence[str]) -> str:
    """The interval is that of the saving against the first."""
    if one.policy == against[place] or not math.isfinite(one.saving):
        return "-"
    error = f"±{100 * one.saving_error:.2f}" if place == 0 else ""
    return f"{100 * (one.against[place] if one.against else one.saving) + 0.0:.2f}{error}"


def what_helps(tuned: Tuned, wanted: Wanted) -> list[str]:
    """Where the best candidate saves little: whether that is the fleet's fault, and what would help."""
    trace = load_trace(wanted.trace)
    if tuned.advice.best.saving > LITTLE or not bound_is_quick(trace):
        return []
    watts = chosen_profile(wanted.profile)
    line = little_to_save_on(load_datacenter(wanted.datacenter, power=watts), trace, wanted.trace, watts)
    return [line] if line else []


def advice_lines(tuned: Tuned, wanted: Wanted) -> list[str]:
    """The advice in words."""
    advice = tuned.advice
    best, base, against = advice.best, advice.base, wanted.compared_with
    if best.policy == base.policy:
        return [f"recommended: {base.policy}: nothing else saves power and serves as much"]
    most = max((tuned.checked[policy] for policy in against), key=lambda one: one.grar) if tuned.checked else base
    difference = best.grar - most.grar
    service = "at equal or better GRAR" if difference >= 0 else f"at a GRAR {-difference:.4f} below"
    more = "".join(
        f", {100 * value:.2f} % against {other}"
        for other, value in zip(against[1:], best.against[1:], strict=False)
        if other != best.policy
    )
    what = (
        f"{100 * best.saving:.2f} ± {100 * best.saving_error:.2f} % of the watts per GPU served against "
        f"{against[0]}{more}, {service} ({best.grar:.4f}, {most.policy}'s {most.grar:.4f})"
    )
    if best.saving > best.saving_error:
        lines = [f"recommended: {best.policy}", f"  saves {what}"]
    else:
        lines = [
            f"No policy saves measurably here ({len(best.seeds)} seeds). Keep the one you have.",
            f"  {best.policy} comes nearest: {what}",
            f"  more seeds may tell: --seeds {4 * wanted.seeds} takes four times as long",
        ]
    if difference < -wanted.grar_loss:  # it was admitted on the seeds that chose it
        lines.append("  that is less service than was asked for: more --seeds would tell")
    if advice.next is not None and advice.next.policy != base.policy:
        seeds, next_one = len(best.seeds), advice.next.policy
        lead = f"by {round(100 * advice.lead, 2) + 0.0:.2f} ± {100 * advice.lead_error:.2f} points"  # no "-0.00"
        if advice.is_clear:
            lines.append(f"  better than the next, {next_one}, in {advice.wins} of {seeds} seeds, {lead}")
        else:
            lines.append(
                f"  not told apart from the next, {next_one}: better in {advice.wins} of {seeds} seeds, {lead}"
            )
    lines.append(f"  (95 % intervals over {len(best.seeds)} seeds that had no part in the choice)")
    return lines
