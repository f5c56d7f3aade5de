"""Knobs of sleep that keep a wait: `wattpack.tune_sleep`, and the table that it and `wattpack tune --sleep` show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wattpack.answers.chosen import Plugins, folder_of, imported_plugins, named
from wattpack.answers.text import Shown, say
from wattpack.datasets import alibaba2023
from wattpack.errors import UserError
from wattpack.experiments.runner import Report
from wattpack.experiments.spec.chosen import chosen_number, chosen_policies, chosen_profile
from wattpack.experiments.timed_experiment import DEFAULT_POLICIES, timed_experiment
from wattpack.experiments.timed_fields import timed_of
from wattpack.experiments.timed_options import shown_sleep, shown_time
from wattpack.experiments.tune.sleep import AWAKE, Tried, TunedSleep
from wattpack.experiments.tune.sleep import tune_sleep as run_tune_sleep
from wattpack.frames import new_frame
from wattpack.model.durations import seconds_of
from wattpack.model.power import PowerProfile

if TYPE_CHECKING:
    from pandas import DataFrame

SEEDS = 2  # that choose, and as many that report
MEASURES = ("kwh", "wait_p99_s", "wait_mean_s", "mean_asleep_nodes", "wakes")
HEADER = ("policy", "sleep", "keeps", "seeds", "chose", *MEASURES)


@dataclass(frozen=True, repr=False, kw_only=True)
class SleepTuning(Shown, TunedSleep):
    """The answer of `wattpack.tune_sleep`: `best` (None: nothing keeps the wait), and everything `found`."""

    drawn: bool  # tasks are drawn: some seeds choose, others report

    def show(self, console: Console) -> None:
        show(self, self.drawn, console)

    def to_pandas(self) -> DataFrame:
        """The frame of `sleep.csv`: what was tried on the seeds that choose (chose: True), and on fresh ones."""
        lines = rows(self)
        columns = dict(zip(HEADER, zip(*lines, strict=True), strict=True))
        found = {n: [float(c or "nan") for c in columns[n]] if n in MEASURES else list(columns[n]) for n in HEADER}
        flags = {name: [cell == "yes" for cell in columns[name]] for name in ("keeps", "chose")}
        return new_frame(found | flags | {"seeds": [int(cell) for cell in columns["seeds"]]})


def tune_sleep(
    wait_p99_s: float | str,
    datacenter: str | Path = alibaba2023.NAME,
    trace: str | Path = "default",
    policy: str | Iterable[str] = DEFAULT_POLICIES,
    seeds: int | None = None,
    *,
    sleep: str = "on",
    load: float | None = None,
    days: float | None = None,
    against: str | Iterable[str] | None = None,
    profile: PowerProfile | str | None = None,
    power: str | Path | None = None,
    out: str | Path | None = None,
    report: Report | None = None,
    on: str = "local",
    workers: int | None = None,
    plugin: Plugins = (),
) -> SleepTuning:
    """Knobs of nodes that sleep, and the policy, with which 99 of 100 tasks wait at most `wait_p99_s`, at least energy.

    The wait is in seconds, or a text like `10m`. Knobs that are given (`sleep="wake=8m"`) stay as they are. With a
    folder `out` finished runs are kept there.
    """
    plugins = imported_plugins(plugin)
    limit_s = seconds_of(str(wait_p99_s), "wait_p99_s")
    timed = timed_of({"load": load, "days": days, "sleep": sleep})
    if not timed.sleep:
        raise UserError(f"sleep: {sleep!r}, expected knobs that stay as they are, or 'on'")
    own, tasks = named(datacenter, "datacenter"), named(trace, "trace")
    count, drawn = seeds_of(
        None if seeds is None else int(chosen_number(seeds, "seeds", whole=True)), timed.load, tasks
    )
    settings = ([own], [tasks], chosen_policies(policy), count, chosen_profile(profile, power))
    experiment = timed_experiment(timed, *settings, against=against)
    with folder_of(out) as folder:
        found = run_tune_sleep(experiment, sleep, limit_s, folder, report, on, workers, plugins)
    return SleepTuning(**vars(found), drawn=drawn)


def seeds_of(seeds: int | None, load: float, trace: str, option: str = "seeds") -> tuple[int, bool]:
    """Seeds in all, those that choose and as many that report, and whether tasks are drawn at all."""
    drawn = load > 0 or trace in alibaba2023.TRACES
    if seeds is not None and not drawn:
        word = "--load" if option.startswith("-") else "load"
        raise UserError(f"{option} {seeds} with tasks at their own times: nothing is drawn, expected {word} too")
    return 2 * (SEEDS if seeds is None else seeds) if drawn else 1, drawn


def rows(tuned: TunedSleep) -> list[list[str]]:
    """What was tried on the seeds that choose (chose: yes), and what was run on fresh ones (no)."""
    lines = []
    for chose, tried in (("yes", tuned.found), ("no", tuned.checked)):
        for one in tried:
            numbers = [one.wait_p99_s if name == "wait_p99_s" else one.mean(name) for name in MEASURES]
            cells = [one.policy, one.sleep or "off", "yes" if tuned.keeps(one) else "no", f"{len(one.seeds)}", chose]
            lines.append([*cells, *("" if number != number else f"{number:.10g}" for number in numbers)])
    return lines


def show(tuned: TunedSleep, drawn: bool, console: Console) -> None:
    table = Table(show_edge=False)
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
    say(console, "on fresh seeds: waits of the worst, means of the rest" if drawn else "on the tasks as they are")
    console.print(table)
    say(
        console,
        "saving: kWh per GPU-hour delivered that are needed less; keeps it: 99 of 100 tasks wait as asked or less",
    )
    for line in advice_lines(tuned, drawn):
        say(console, line)


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
