"""The part of the page on steady states: for each trace a chart of savings over offered load, and a table."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from wattpack.experiments.steady_table import SteadyRow
from wattpack.report.html_tables import Cell, breakable, number_cell, sortable_table
from wattpack.report.steady_chart import steady_chart
from wattpack.report.steady_rows import SAVING, baseline_lookup, by_trace, columns, moving_text, titles
from wattpack.report.style import label, trace_title

INTRODUCTION = (
    "Tasks arrive at random and leave again, such that the offered load is requested all the time; a task that fits "
    "nowhere is dropped. Numbers are means over the second half of a run, ± the standard deviation over the seeds. "
    "Saving: the share of watts per GPU served that is needed less than without moves at the same offered load under "
    "the policy that is named."
)

HEADS = {
    "W": "EOPC, W",
    "kW": "EOPC, kW",
    "MW": "EOPC, MW",
    "frag. GPUs": "Fragmented GPUs",
    "moves a task": "Moves a task",
    "wait s": "Mean wait, s",
    "most s": "Longest wait, s",
}


def steady_section(rows: Sequence[SteadyRow], colour: Callable[[str], str]) -> str:
    """`colour(policy)` is the class that colours a policy. Empty without rows."""
    if not rows:
        return ""
    moving = moving_text(rows)
    note = INTRODUCTION + (f" {moving[0].upper()}{moving[1:]}." if moving else "")
    parts = [f'<p class="note">{html.escape(note)}</p>']
    for trace, own in by_trace(rows).items():
        title = html.escape(trace_title(trace))
        parts.append(f"<h3>{title}</h3>{steady_chart(own, colour)}{_table(own, title)}")
    return f'<section id="steady"><h2>Steady state</h2>{"".join(parts)}</section>'


def _head(title: str) -> str:
    if title.startswith(SAVING):
        return f"Saving vs. {label(title.removeprefix(SAVING).removesuffix(' %'))}, %"
    return HEADS.get(title, title)


def _table(rows: Sequence[SteadyRow], title: str) -> str:
    shown, title_of = columns(rows, baseline_lookup(rows)), titles(rows)
    heads = ["Policy", "Offered load", *(_head(column.title) for column in shown)]
    body: list[list[Cell]] = []
    for row in rows:
        cells: list[Cell] = [(title_of(row), breakable(title_of(row))), number_cell(row.load, 2)]
        for column in shown:
            several = column.spread is not None and len(row.runs) > 1
            spread = column.spread(row) if several and column.spread is not None else None
            cells.append(number_cell(column.value(row), column.digits, spread))
        body.append(cells)
    return sortable_table(heads, body, f"{title}, steady state")
