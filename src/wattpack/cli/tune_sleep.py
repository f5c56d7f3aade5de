"""`wattpack tune --sleep --wait-p99 TIME`: knobs of sleep and the policy that keep a wait with least energy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from wattpack.cli.consoles import wide_console
from wattpack.cli.csv_output import write_csv
from wattpack.cli.outputs import check_folder
from wattpack.cli.progress import progress_bar
from wattpack.cli.provenance import note_never_fit
from wattpack.cli.show_results import print_paths
from wattpack.datasets import alibaba2023
from wattpack.errors import UserError
from wattpack.experiments.plugins import Plugin
from wattpack.experiments.timed_experiment import DEFAULT_POLICIES, timed_experiment
from wattpack.experiments.timed_fields import timed_of
from wattpack.experiments.timed_options import shown_sleep, shown_time
from wattpack.experiments.tune.sleep import AWAKE, Tried, TunedSleep, tune_sleep
from wattpack.experiments.warm_up import MOMENTS
from wattpack.jit import say_if_compiling
from wattpack.model.durations import seconds_of
from wattpack.model.power import PowerProfile
from wattpack.report.provenance import outcome_text

WRITTEN = ("experiment.json", "time.csv", "sleep.csv")
SEEDS = 2  # that choose, and as many that report
MEASURES = ("kwh", "wait_p99_s", "wait_mean_s", "mean_asleep_nodes", "wakes")
HEADER = ("policy", "sleep", "keeps", "seeds", "chose", *MEASURES)


def tune_sleep_command(
    sleep: str,
    wait_p99: str | None,
    load: float | None,
    days: float | None,
    datacenter: str,
    trace: str,
    policies: Sequence[str] | None,
    seeds: int | None,
    against: Sequence[str] | None,
    profile: PowerProfile,
    out: Path,
    on: str,
    workers: int | None,
    plugins: Sequence[str | Path | Plugin],
    inputs: Sequence[Any],
) -> None:
    if wait_p99 is None:
        raise UserError("--sleep without --wait-p99, expected the longest wait that 99 of 100 tasks may see, like 10m")
    limit_s = seconds_of(wait_p99, "--wait-p99")
    timed = timed_of({"load": load, "days": days, "sleep": sleep})
    if not timed.sleep:
        raise UserError(f"--sleep {sleep!r}, expected knobs that stay as they are, or nothing")
    drawn = timed.load > 0 or trace in alibaba2023.TRACES
    if seeds is not None and not drawn:
        raise UserError(f"--seeds {seeds} with tasks at their own times: nothing is drawn, expected --load too")
    count = 2 * (SEEDS if seeds is None else seeds) if drawn else 1
    experiment = timed_experiment(
        timed, [datacenter], [trace], policies or DEFAULT_POLICIES, count, profile, against=against
    )
    check_folder(out, WRITTEN, inputs)
    say_if_compiling(MOMENTS)
    with progress_bar("tuning") as report:
        tuned = tune_sleep(experiment, sleep, limit_s, out, report, on, workers, plugins)
    write_csv(out / "sleep.csv", HEADER, rows(tuned))
    show(tuned, drawn)
    for line in tuned.choices:
        print(line)
    note_never_fit(experiment.inputs)
    print(f"runs     {outcome_text(tuned.outcome)}")
    print_paths(sleep=out / "sleep.csv", time=out / "time.csv")


def rows(tuned: TunedSleep) -> list[list[str]]:
    """What was tried on the seeds that choose (chose: yes), and what was run on fresh ones (no)."""
    lines = []
    for chose, tried in (("yes", tuned.found), ("no", tuned.checked)):
        for one in tried:
            numbers = [one.wait_p99_s if name == "wait_p99_s" else one.mean(name) for name in MEASURES]
            cells = [one.policy, one.sleep or "off", "yes" if tuned.keeps(one) else "no", f"{len(one.seeds)}", chose]
            lines.append([*cells, *("" if number != number else f"{number:.10g}" for number in numbers)])
    return lines


def show(tuned: TunedSleep, drawn: bool) -> None:
    console, table = wide_console(1000), Table(show_edge=False)
    for name in ("policy", "sleep"):
        table.add_column(name, no_wrap=True)
    for name in ("kWh", f"saving vs {tuned.against[0]} awake %", "wait p99 s", "keeps it", "asleep", "wakes"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in tuned.checked:
        saving = 100 * tuned.saving(one, tuned.against[0])
        change = "-" if one is tuned.awake or saving != saving else f"{saving + 0.0:.2f}"
        asleep = (
            ["", ""] if one.sleep == AWAKE else [f"{one.mean('mean_asleep_nodes'):,.1f}", f"{one.mean('wakes'):,.0f}"]
        )
        cells = [f"{one.mean('kwh'):,.0f}", change, f"{one.wait_p99_s:,.0f}", "yes" if tuned.keeps(one) else "no"]
        table.add_row(Text(f"{one.policy}{' <-' if one is tuned.best else ''}"), knobs(one), *cells, *asleep)
    print("on fresh seeds: waits of the worst, means of the rest" if drawn else "on the tasks as they are")
    console.print(table)
    print("saving: kWh per GPU-hour delivered that are needed less; keeps it: 99 of 100 tasks wait as asked or less")
    for line in advice_lines(tuned, drawn):
        print(line)


def knobs(one: Tried) -> str:
    return "off" if one.sleep == AWAKE else shown_sleep(one.sleep).removeprefix("sleep").strip() or "the defaults"


def advice_lines(tuned: TunedSleep, drawn: bool) -> list[str]:
    """The knobs to take, and how sure that is."""
    limit, tried = shown_time(tuned.limit_s), len(tuned.found)
    if tuned.best is None:
        least = min(tuned.found, key=lambda one: one.wait_p99_s)
        return [
            f"Nothing that was tried keeps the p99 of the wait at {limit} or below ({tried} tried); the least is "
            f"{least.wait_p99_s:,.0f} s with {least.policy}, sleep {knobs(least)}."
        ]
    best = tuned.best
    savings = [f"{100 * tuned.saving(best, other):.1f} % against {other}" for other in tuned.against]
    kept = "keeps" if tuned.keeps(best) else "does not keep"
    lines = [
        f"recommended: --policy {best.policy} --{shown_sleep(best.sleep)}",
        f"  saves {', '.join(savings)} with all nodes awake (kWh per GPU-hour), and {kept} the p99 of the wait at "
        f"{limit} ({best.wait_p99_s:,.0f} s; {tried} tried)",
    ]
    if not tuned.keeps(best):
        lines.append("  it did on the seeds that chose it: more --seeds would tell")
    if drawn:
        chose, fresh = tuned.found[0].seeds, best.seeds
        lines.append(f"  (chosen on {_range(chose)}, these numbers are of {_range(fresh)})")
    else:
        lines.append("  (the same tasks chose and report: nothing is drawn, so other tasks may tell otherwise)")
    return lines


def _range(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
