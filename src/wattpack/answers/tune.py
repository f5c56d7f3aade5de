"""The best policy for a datacenter and a trace: `wattpack.tune`, and the table that it and `wattpack tune` show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wattpack.answers.chosen import Plugins, folder_of, imported_plugins, named
from wattpack.answers.text import Shown, say
from wattpack.datasets import alibaba2023
from wattpack.datasets.edits import short_name
from wattpack.datasets.inflation import UP_TO
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.errors import UserError
from wattpack.experiments.bound.curves import bound_is_quick
from wattpack.experiments.bound.headroom import LITTLE, little_to_save_on
from wattpack.experiments.runner import Report
from wattpack.experiments.spec.chosen import (
    chosen_against,
    chosen_loads,
    chosen_number,
    chosen_policies,
    chosen_profile,
)
from wattpack.experiments.tune.measured import Measured
from wattpack.experiments.tune.search import GRAR_LOSS, LOADS_OF_INTEREST, Tuned, Wanted
from wattpack.experiments.tune.search import tune as run_tune
from wattpack.frames import new_frame
from wattpack.model.power import PowerProfile
from wattpack.policies.expression import canonical

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

HEADER = (
    *("policy", "seeds", "saving", "saving_error", "grar", "grar_error", "front", "recommended", "dropped_after"),
    *("fresh_seeds", "fresh_saving", "fresh_saving_error", "fresh_grar", "fresh_grar_error"),
    "against",
)


@dataclass(frozen=True, repr=False, kw_only=True)
class Tuning(Shown, Tuned):
    """The answer of `wattpack.tune`: `advice`, the `front`, everything `found`; `recommended` is an expression."""

    wanted: Wanted

    @property
    def recommended(self) -> str:
        return self.advice.best.policy

    def show(self, console: Console) -> None:
        show(self, self.wanted, console)

    def to_pandas(self) -> DataFrame:
        """The frame of `pareto.csv`: a row for each candidate, those with most seeds first."""
        rows = pareto_rows(self, self.wanted.compared_with[0])
        columns = dict(zip(HEADER, zip(*rows, strict=True), strict=True))
        texts = ("policy", "against")
        return new_frame({n: [c if n in texts else _number(c) for c in cells] for n, cells in columns.items()})

    def plot(self) -> Figure:
        """Savings and GRAR of all candidates with the front: a matplotlib figure."""
        return figure_of(self, self.wanted)


def tune(
    datacenter: str | Path = alibaba2023.NAME,
    trace: str | Path = "default",
    policy: str | Iterable[str] | None = None,
    seeds: int = 10,
    *,
    loads: Iterable[float] | None = None,
    steady: float | Iterable[float] = (),
    grar_loss: float = GRAR_LOSS,
    against: str | Iterable[str] | None = None,
    profile: PowerProfile | str | None = None,
    power: str | Path | None = None,
    out: str | Path | None = None,
    report: Report | None = None,
    on: str = "local",
    workers: int | None = None,
    plugin: Plugins = (),
) -> Tuning:
    """Try policies, their knobs and mixes of two; recommend the one that saves most and serves as much as `against`.

    `policy`: only these candidates. `seeds`: to choose with; as many fresh ones check the choice. `loads`: of the
    fill-up (default: 0.5, 0.8, 0.9, 1; none with `steady`). `steady`: offered loads, with tasks that come and go.
    `grar_loss`: GRAR that may be given away. With a folder `out` finished runs are kept there.
    """
    plugins = imported_plugins(plugin)
    watts = chosen_profile(profile, power)
    offered = chosen_loads(steady)
    filled = (() if offered else LOADS_OF_INTEREST) if loads is None else tuple(loads)
    if not all(isinstance(load, int | float) and 0 < load <= UP_TO for load in filled):
        raise UserError(f"loads: {filled}, expected loads above 0 and up to {UP_TO:g}")
    if not 0 <= chosen_number(grar_loss, "grar_loss") <= 1:
        raise UserError(f"grar_loss: {grar_loss:g}, expected 0 to 1")
    own, tasks = named(datacenter, "datacenter"), named(trace, "trace")
    count = int(chosen_number(seeds, "seeds", whole=True))
    wanted = Wanted(*(own, tasks, filled, offered, count, grar_loss, watts), against=chosen_against(against, [own]))
    candidates = None if policy is None else [canonical(one) for one in chosen_policies(policy)]

    @contextmanager
    def progress(title: str) -> Iterator[Report]:
        yield report or (lambda done, everything, what: None)

    with folder_of(out) as folder:
        found = run_tune(wanted, folder, progress, candidates, on, workers, plugins)
    return Tuning(**vars(found), wanted=wanted)


def _number(cell: object) -> float:
    return float("nan") if cell == "" else float(str(cell))


def pareto_rows(tuned: Tuned, against: str) -> list[list[object]]:
    """All candidates, those with most seeds first."""
    on_front = {one.policy for one in tuned.front}
    rows: list[list[object]] = []
    for one in tuned.found:
        fresh = tuned.checked.get(one.policy)
        rows.append(
            [one.policy, len(one.seeds), *_cells(one), int(one.policy in on_front)]
            + [int(one.policy == tuned.advice.best.policy), tuned.dropped_after.get(one.policy, "")]
            + ([len(fresh.seeds), *_cells(fresh)] if fresh is not None else [""] * 5)
            + [against]
        )
    return rows


def _cells(one: Measured) -> list[str]:
    values = (one.saving, one.saving_error, one.grar, one.grar_error)
    return ["" if not math.isfinite(value) else f"{value + 0.0:.6f}" for value in values]


def title_of(wanted: Wanted) -> str:
    """The datacenter, trace and loads, in a line."""
    where = [f"fill-up at {', '.join(f'{load:g}' for load in wanted.loads)}"] if wanted.loads else []
    where += [f"steady state at {', '.join(f'{load:g}' for load in wanted.steady)}"] if wanted.steady else []
    return f"{Path(wanted.trace).stem} on {short_name(wanted.datacenter)}, {' and '.join(where)}"


def figure_of(tuned: Tuned, wanted: Wanted) -> Figure:
    from wattpack.report.pareto import pareto_figure

    best, against = tuned.advice.best.policy, wanted.compared_with[0]
    return pareto_figure(tuned.found, tuned.front, best, title_of(wanted), against)


def show(tuned: Tuned, wanted: Wanted, console: Console) -> None:
    """The front and the advice."""
    advice, against = tuned.advice, wanted.compared_with
    say(console, f"{title_of(wanted)}: the front, on fresh seeds")
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
    console.print(table)
    say(
        console,
        "saving: watts per GPU served that a policy needs less, mean over the loads; GRAR: GPU served / GPU requested",
    )
    say(console, "±: half of the 95 % interval over the seeds (Student's t)")
    say(console, "")
    for line in (*advice_lines(tuned, wanted), *tuned.choices, *what_helps(tuned, wanted)):
        say(console, line)


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
