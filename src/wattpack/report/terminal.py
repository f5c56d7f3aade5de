"""What a person sees after `compare`: one table a trace, and the savings over load as a small plot of text."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wattpack.experiments.curves import Results, at
from wattpack.experiments.lineup import BOUND
from wattpack.report.metrics import (
    BUSY_LOAD,
    FULL_LOAD,
    SAVING_LOADS,
    by_saving,
    mean,
    policies,
    saving,
    saving_spread,
    shown_against,
    traces,
    unbeaten_at,
    watts_per_gpu,
)
from wattpack.report.plot import Canvas, Curve
from wattpack.report.style import look

MAX_WIDTH = 80
PLOTTED_TRACES = 3
PLOTTED = 9  # curves in a plot: more than that is a tangle on 14 lines
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def print_comparison(results: Results, console: Console, gpus: float | None = None) -> None:
    """A table for each trace, and a plot where they are few. `gpus`: GPUs of the datacenter, for the watts per GPU."""
    found = traces(results)
    ascii_only = console.options.ascii_only
    for place, trace in enumerate(found):
        if place > 0:
            console.print()
        console.print(_title(results, trace, console.width, ascii_only))
        console.print(comparison_table(results, trace, gpus, console.width, ascii_only))
        for other in shown_against(results, trace)[1:]:
            console.print()
            console.print(_title(results, trace, console.width, ascii_only, other))
            console.print(savings_table(results, trace, other, console.width, ascii_only))
        if place == len(found) - 1:
            console.print(Text("\n".join(_notes(results, gpus, console.width, ascii_only)), style="dim"))
        if len(found) <= PLOTTED_TRACES and results.base(trace) is not None and len(policies(results, trace)) > 1:
            console.print()
            console.print(savings_plot(results, trace, min(MAX_WIDTH, console.width), ascii_only))


def comparison_table(
    results: Results, trace: str, gpus: float | None = None, width: int = MAX_WIDTH, ascii_only: bool = False
) -> Table:
    """Savings at a few loads, GRAR at full load and watts per GPU: policies by falling saving, baseline first."""
    shown, against = by_saving(results, trace), results.against[0]
    heads = [f"load\n{load:g}" for load in SAVING_LOADS]
    sign = _sign(width, ascii_only)
    columns = [_savings(results, trace, shown, load, sign, against) for load in SAVING_LOADS]
    heads.append(f"GRAR\n{FULL_LOAD:.1f}")
    columns.append(_marked([mean(results[trace, policy], "grar")[at(FULL_LOAD)] for policy in shown], shown, 3))
    if gpus:
        heads.append(f"W/GPU\n{BUSY_LOAD:g}")
        watts = [watts_per_gpu(results[trace, policy], gpus)[at(BUSY_LOAD)] for policy in shown]
        columns.append(_marked(unbeaten_at(watts, shown), shown, 0, least=True))
    return _table(shown, heads, columns, against, width, ascii_only)


def savings_table(
    results: Results, trace: str, against: str, width: int = MAX_WIDTH, ascii_only: bool = False
) -> Table:
    """The savings alone, against another policy than the first."""
    shown = by_saving(results, trace)
    heads = [f"load\n{load:g}" for load in SAVING_LOADS]
    columns = [_savings(results, trace, shown, load, _sign(width, ascii_only), against) for load in SAVING_LOADS]
    return _table(shown, heads, columns, against, width, ascii_only)


def _table(
    shown: Sequence[str],
    heads: Sequence[str],
    columns: Sequence[Sequence[Text]],
    against: str,
    width: int,
    ascii_only: bool,
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    widths = [max(5, *(cell.cell_len for cell in column)) for column in columns]
    # A long name of a policy is cut, never a number.
    room = max(14, width - sum(widths) - len(widths))
    table.add_column("policy", no_wrap=True, overflow="crop" if ascii_only else "ellipsis", max_width=room)
    for head, column_width in zip(heads, widths, strict=True):
        table.add_column(head, justify="right", no_wrap=True, min_width=column_width)
    for row, policy in enumerate(shown):
        name = Text(_printable(policy, ascii_only), style="" if policy == BOUND else look(policy).colour_dark)
        if policy == against:
            name = Text.assemble((_printable(policy, ascii_only), "bold"), (" (baseline)", "dim"))
        table.add_row(name, *[column[row] for column in columns])
    return table


def savings_plot(results: Results, trace: str, width: int = MAX_WIDTH, ascii_only: bool = False) -> Text:
    """Savings over load up to 1. Every curve carries its letter, so that the plot reads without colour too."""
    ranked = [policy for policy in by_saving(results, trace) if policy != results.against[0]]
    # The bound comes last in the ranking but is always plotted.
    policies = [policy for policy in ranked if policy != BOUND]
    room = PLOTTED - (BOUND in ranked)
    left_out = [_printable(policy, ascii_only) for policy in policies[room:]]
    ranked = policies[:room] + [policy for policy in ranked if policy == BOUND]
    curves = []
    for letter, policy in zip(LETTERS, ranked, strict=False):
        values = saving(results, trace, policy)[: at(FULL_LOAD) + 1] * 100
        curves.append(Curve(letter, _printable(policy, ascii_only), values, look(policy).colour_dark))
    canvas = Canvas(width, 14, ascii_only)
    plot = canvas.draw(curves, title="saving in % over load (requested GPU / GPU capacity)")
    if left_out:
        plot.append("\n" + fill(f"not plotted, they save less: {', '.join(left_out)}", width), style="dim")
    return plot


def _savings(results: Results, trace: str, shown: Sequence[str], load: float, sign: str, against: str) -> list[Text]:
    values = [saving(results, trace, policy, against)[at(load)] * 100 for policy in shown]
    cells = _marked(values, shown, 1, skip=against)
    for cell, policy, value in zip(cells, shown, values, strict=True):
        deviation = saving_spread(results, trace, policy, against)[at(load)] * 100
        if sign and policy not in (against, BOUND) and np.isfinite(value) and len(results[trace, policy].seeds) > 1:
            cell.append(f"{sign}{deviation:.1f}", style="dim not bold")
    return cells


def _marked(
    values: Sequence[float], shown: Sequence[str], digits: int, least: bool = False, skip: str | None = None
) -> list[Text]:
    """Numbers as text, the best policy's in bold; `-` where there is none and for the policy `skip`."""
    real = [v for v, policy in zip(values, shown, strict=True) if np.isfinite(v) and policy not in (BOUND, skip)]
    best = (min(real) if least else max(real)) if real else None
    cells = []
    for value, policy in zip(values, shown, strict=True):
        if policy == skip or not np.isfinite(value):
            cells.append(Text("-", style="dim"))
            continue
        text = f"{value:.{digits}f}"
        text = text.lstrip("-") if float(text) == 0 else text  # no "-0.0"
        wins = best is not None and policy != BOUND and text == f"{best:.{digits}f}"
        cells.append(Text(text, style="bold" if wins else "dim" if policy == BOUND else ""))
    return cells


def _title(results: Results, trace: str, width: int, ascii_only: bool, against: str | None = None) -> Text:
    count = max(len(curves.seeds) for (name, _), curves in results.items() if name == trace)
    seeds = "1 seed" if count == 1 else f"mean of {count} seeds"
    other = _printable(against or results.against[0], ascii_only)
    return Text.assemble((_printable(trace, ascii_only), "bold"), f": saving against {other} in %, {seeds}")


def _notes(results: Results, gpus: float | None, width: int, ascii_only: bool) -> list[str]:
    """What stands in the tables, in words."""
    sign = _sign(width, ascii_only)
    several = any(len(curves.seeds) > 1 for curves in results.values())
    notes = [
        "saving: watts per GPU served that a policy needs less at the same load",
        "load: GPU requested / GPU of the datacenter. GRAR: GPU served / GPU requested.",
    ]
    if gpus:
        notes.append("W/GPU: watts of the datacenter per GPU served")
    if sign and several:
        notes.append(f"{sign}: standard deviation over the seeds")
    if any(policy == BOUND for _, policy in results):
        notes.append(f"{BOUND}: no policy, the least power of any placement that serves the most")
    return notes


def _sign(width: int, ascii_only: bool) -> str:
    """Between mean and deviation; empty on a narrow console, which has no room for the deviation."""
    return "" if width < MAX_WIDTH else "+-" if ascii_only else "±"


def _printable(name: str, ascii_only: bool) -> str:
    """A name that the console can write: files may be called anything."""
    encoding = "ascii" if ascii_only else "utf-8"
    return name.encode(encoding, "replace").decode(encoding)
