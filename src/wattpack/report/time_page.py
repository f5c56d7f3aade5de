"""The report of runs in time: one page that opens offline, with charts over time, tables, and what is assumed."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from wattpack.experiments.advise import Advice
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.scenario import Inputs
from wattpack.experiments.timed_table import Group, Table, TimedRow, baseline_of, group_titles
from wattpack.files import make_folder, write_whole
from wattpack.report.advice import advice_section
from wattpack.report.html import asset, colours, content_policy, fill, inlined, options
from wattpack.report.html_tables import Cell, breakable, number_cell, sortable_table
from wattpack.report.payload import json_in_script
from wattpack.report.sections import policies_section, provenance_section
from wattpack.report.time_payload import STATES, time_payload
from wattpack.report.time_rows import Column, columns, row_title
from wattpack.report.time_words import limits, sentences

SCRIPTS = ("parts.js", "time_chart.js", "time.js", "time_report.js")
TERMS = {
    "IT kWh": "energy of all nodes, idle ones included, exact between events.",
    "Facility kWh": "IT energy times the PUE: with cooling and losses.",
    "p99 kW": "the power that is not exceeded for 99 % of the time.",
    "Saving": "the share of kWh per GPU-hour delivered that is needed less than under the policy named, under the same "
    "tasks; ± the standard deviation over the seeds.",
    "CO2e": "facility energy times the carbon intensity of its time; embodied: the share of making the machines.",
    "Delivered": "GPU-hours of tasks inside the time of the run.",
    "Wait": "from joining the queue until the start; of tasks that started, still wait or gave up.",
    "Slowdown": "bounded: (wait + run) / max(run, 10 s), at least 1.",
    "Asleep": "nodes asleep, mean over time; wakes: how often a node asleep was woken; transitions: energy of nodes "
    "that wake or shut down.",
    "Work": "GPU-hours of batch tasks times the speed of their GPU: A100-hours.",
}


def write_time_page(
    out: Path,
    table: Table,
    folder: ResultsFolder,
    inputs: Inputs,
    provenance: Mapping[str, Any],
    name: str = "report.html",
    advice: Advice | None = None,
) -> Path:
    file = out / name
    content = time_page(table, folder, inputs, provenance, advice).encode(errors="replace")
    make_folder(file.parent)
    write_whole(file, lambda temporary: temporary.write_bytes(content))
    return file


def time_page(
    table: Table,
    folder: ResultsFolder,
    inputs: Inputs,
    provenance: Mapping[str, Any],
    advice: Advice | None = None,
) -> str:
    """The page's text."""
    titles = group_titles(list(table))
    policies = list(dict.fromkeys(row.policy for rows in table.values() for row in rows))
    style = asset("page.css") + asset("time.css") + colours(policies)
    script = inlined(SCRIPTS)
    assumed = dict.fromkeys(line for group in table for line in limits(group, group.options.load > 0))
    return fill(
        asset("time.html"),
        {
            "policy": html.escape(content_policy(style, script)),
            "style": style,
            "script": script,
            "data": json_in_script(time_payload(table, folder, inputs)),
            "subtitle": html.escape(_subtitle(table, policies)),
            "summary": time_summary(table),
            "curves": fill(
                asset("time_curves.html"),
                {"trace_options": options(titles.values()), "states": states_legend(table)},
            ),
            "tables": time_tables(table),
            "advice": "" if advice is None else advice_section(advice),
            "limits": f'<ul class="limits">{"".join(f"<li>{html.escape(line)}</li>" for line in assumed)}</ul>',
            "made": provenance_section(provenance),
            "policies": policies_section(policies),
            "terms": "".join(
                f"<dt>{html.escape(term)}</dt><dd>{html.escape(text)}</dd>" for term, text in TERMS.items()
            ),
        },
    )


def _subtitle(table: Table, policies: Sequence[str]) -> str:
    datacenters = list(dict.fromkeys(row.datacenter for rows in table.values() for row in rows))
    traces = list(dict.fromkeys(group.trace for group in table))
    many = f"{len(policies)} policies" if len(policies) > 1 else policies[0]
    return f"{many}, tasks of {', '.join(traces)}, on {', '.join(datacenters)}"


def time_tables(table: Table) -> str:
    """A table for each group; the charts show that of the group they draw."""
    titles = group_titles(list(table))
    return "\n".join(_table(group, rows, titles[group], place) for place, (group, rows) in enumerate(table.items()))


def time_summary(table: Table) -> str:
    """The findings in sentences."""
    items = []
    for group, rows in table.items():
        first, *rest = sentences(group, rows)
        items.append(f"<li><strong>{html.escape(first)}</strong> {html.escape(' '.join(rest))}</li>")
    return f'<ul class="words">{"".join(items)}</ul>'


def states_legend(table: Table) -> str:
    """The colours of the nodes' states, where a run sleeps."""
    if not any(group.options.sleep for group in table):
        return ""
    box = (
        '<svg class="swatch n{}" width="12" height="12" aria-hidden="true"><rect width="12" height="12" rx="2"/></svg>'
    )
    keys = "".join(f'<span class="key">{box.format(place)}{name}</span>' for place, name in enumerate(STATES))
    return f'<div class="legend" id="states">{keys}</div>'


def _table(group: Group, rows: Sequence[TimedRow], title: str, place: int) -> str:
    shown = columns(group, rows)
    heads = ["Policy", *(_head(column) for column in shown)]
    baseline = baseline_of(rows)
    cells: list[list[Cell]] = []
    for row in rows:
        name = row_title(row, rows)
        mark = ' <span class="mark">baseline</span>' if row is baseline and len(rows) > 1 else ""
        cells.append([(name, f"{breakable(name)}{mark}"), *(_cell(column, row) for column in shown)])
    escaped = html.escape(title)
    body = sortable_table(heads, cells, escaped)
    return f'<section class="trace" data-trace="{place}"><h3>{escaped}</h3>{body}</section>'


def _head(column: Column) -> str:
    return f"{column.head[0].upper()}{column.head[1:]}, {column.unit}"


def _cell(column: Column, row: TimedRow) -> Cell:
    spread = column.spread(row) if column.spread is not None and len(row.runs) > 1 else float("nan")
    value = column.value(row)
    key, text = number_cell(value, column.digits, None if isnan(spread) else spread)
    return key, text if isnan(value) else _with_commas(text)


def _with_commas(text: str) -> str:
    """Thousands separated in the number at the start of a cell."""
    number, space, rest = text.partition(" ")
    whole, dot, part = number.partition(".")
    digits = whole.lstrip("−")
    return f"{whole[: len(whole) - len(digits)]}{int(digits):,}{dot}{part}{space}{rest}" if digits.isdigit() else text
