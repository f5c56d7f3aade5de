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
from wattpack.experiments.lineup import BASELINE, BOUND
from wattpack.report.metrics import (
    BUSY_LOAD,
    FULL_LOAD,
    SAVING_LOADS,
    at_equal_service,
    by_saving,
    mean,
    policies,
    saving,
    saving_spread,
    serve_alike,
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
        if (note := _note(results, trace)) is not None:
            console.print(Text(note, style="dim"))
        if len(found) <= PLOTTED_TRACES and (trace, BASELINE) in results and len(policies(results, trace)) > 1:
            console.print()
            console.print(savings_plot(results, trace, min(MAX_WIDTH, console.width), ascii_only))


def comparison_table(
    results: Results, trace: str, gpus: float | None = None, width: int = MAX_WIDTH, ascii_only: bool = False
) -> Table:
    """Savings at a few loads, GRAR at full load and watts per GPU: policies by falling saving, baseline first."""
    shown = by_saving(results, trace)
    sign = _sign(width, ascii_only)
    heads = [f"load\n{load:g}" for load in SAVING_LOADS]
    columns = [_savings(results, trace, shown, load, sign) for load in SAVING_LOADS]
    heads.append(f"GRAR\n{FULL_LOAD:.1f}")
    columns.append(_marked([mean(results[trace, policy], "grar")[at(FULL_LOAD)] for policy in shown], shown, 3))
    if gpus:
        heads.append(f"W/GPU\n{BUSY_LOAD:g}")
        watts = [watts_per_gpu(results[trace, policy], gpus)[at(BUSY_LOAD)] for policy in shown]
        columns.append(_marked(unbeaten_at(watts, shown), shown, 0, least=True))
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    widths = [max(5, *(cell.cell_len for cell in column)) for column in columns]
    # A long name of a policy is cut, never a number.
    room = max(14, width - sum(widths) - len(widths))
    table.add_column("policy", no_wrap=True, overflow="crop" if ascii_only else "ellipsis", max_width=room)
    for head, column_width in zip(heads, widths, strict=True):
        table.add_column(head, justify="right", no_wrap=True, min_width=column_width)
    for row, policy in enumerate(shown):
        name = Text(_printable(policy, ascii_only), style="" if policy == BOUND else look(policy).colour_dark)
        if policy == BASELINE:
            name = Text.assemble((policy, "bold"), (" (baseline)", "dim"))
        table.add_row(name, *[column[row] for column in columns])
    return table


def savings_plot(results: Results, trace: str, width: int = MAX_WIDTH, ascii_only: bool = False) -> Text:
    """Savings over load up to 1. Every curve carries its letter, so that the plot reads without colour too."""
    ranked = [policy for policy in by_saving(results, trace) if policy != BASELINE]
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


def _savings(results: Results, trace: str, shown: Sequence[str], load: float, sign: str) -> list[Text]:
    values = [saving(results, trace, policy)[at(load)] * 100 for policy in shown]
    cells = _marked(values, shown, 1, skip=BASELINE)
    for cell, policy, value in zip(cells, shown, values, strict=True):
        deviation = saving_spread(results, trace, policy)[at(load)] * 100
        if sign and policy not in (BASELINE, BOUND) and np.isfinite(value) and len(results[trace, policy].seeds) > 1:
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


def _title(results: Results, trace: str, width: int, ascii_only: bool) -> Text:
    count = max(len(curves.seeds) for (name, _), curves in results.items() if name == trace)
    sign = _sign(width, ascii_only)
    deviation = f"{sign} deviation " if sign else ""
    seeds = "1 seed" if count == 1 else f"mean {deviation}of {count} seeds"
    equal = ", equal service" if at_equal_service(results, trace) else ""
    return Text.assemble((_printable(trace, ascii_only), "bold"), f": saving against {BASELINE} in %{equal}, {seeds}")


def _note(results: Results, trace: str) -> str | None:
    """A note where policies do not serve the same amount."""
    if serve_alike(results, trace):
        return None
    if at_equal_service(results, trace):
        return (
            "Equal service: power is taken relative to the least possible for the GPU that\n"
            f"a policy serves; {BOUND}: the least power for what {BASELINE} serves."
        )
    return "Policies serve different amounts: one that refuses more draws less (GRAR)."


def _sign(width: int, ascii_only: bool) -> str:
    """Between mean and deviation; empty on a narrow console, which has no room for the deviation."""
    return "" if width < MAX_WIDTH else "+-" if ascii_only else "±"


def _printable(name: str, ascii_only: bool) -> str:
    """A name that the console can write: files may be called anything."""
    encoding = "ascii" if ascii_only else "utf-8"
    return name.encode(encoding, "replace").decode(encoding)
