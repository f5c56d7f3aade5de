"""The parts of the page that stand without its script: summary, tiles and table a trace, claims, how it was made."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wattpack.experiments.curves import Results, at
from wattpack.experiments.lineup import BOUND, policy_lines
from wattpack.report.html_tables import Cell, breakable, number_cell, sortable_table
from wattpack.report.metrics import (
    BUSY_LOAD,
    FULL_LOAD,
    SAVING_LOADS,
    by_saving,
    mean,
    saving,
    saving_spread,
    serve_alike,
    shown_against,
    spread,
    unbeaten_at,
    watts_per_gpu,
)
from wattpack.report.narrative import MIDDLE, kept_above, leader, overall, sentences
from wattpack.report.style import label, trace_title

CLAIM_COLUMNS = ("id", "section", "statement", "paper", "measured", "verdict")
VERDICTS = {"holds": "holds", "holds within tolerance": "near", "differs": "differs"}

SPELLED_OUT = 3  # traces whose sentences stand open


def summary_section(results: Results, found: Sequence[str]) -> str:
    """Sentences for each trace; where there are many, one table that a glance takes in, and the sentences folded."""
    items = []
    for trace in found:
        said = sentences(results, trace)
        items.append(f"<li><strong>{html.escape(said[0])}</strong> {html.escape(' '.join(said[1:]))}</li>")
    text = f'<ul class="words">{"".join(items)}</ul>'
    if len(found) <= SPELLED_OUT:
        return text
    said_of_all = overall(results, found)
    first = f'<p class="first">{html.escape(said_of_all)}</p>' if said_of_all else ""
    note = (
        '<p class="note">Best compromise: of the policies that save nearly as much as the best one (nine tenths of its '
        "mean saving from load 0.15 to 0.8), the one that serves most at full load.</p>"
    )
    return f"{first}{_glance(results, found)}{note}<details><summary>Trace by trace, in words</summary>{text}</details>"


def _glance(results: Results, found: Sequence[str]) -> str:
    heads = ["Trace", "Policy", f"Saving at {MIDDLE:g}, %", "Keeps above, %", "until load", f"GRAR at {FULL_LOAD:.1f}"]
    rows: list[list[Cell]] = []
    for trace in found:
        policy = leader(results, trace)
        if policy is None:
            continue
        kept = kept_above(results, trace, policy)
        rows.append(
            [
                (trace, html.escape(trace_title(trace))),
                (policy, breakable(policy)),
                number_cell(float(saving(results, trace, policy)[at(MIDDLE)]) * 100, 1),
                number_cell(kept[0] if kept else np.nan, 0),
                number_cell(kept[1] if kept else np.nan, 2),
                number_cell(float(mean(results[trace, policy], "grar")[at(FULL_LOAD)]), 3),
                number_cell(float(mean(results[trace, results.against[0]], "grar")[at(FULL_LOAD)]), 3),
            ]
        )
    return sortable_table([*heads, f"{label(results.against[0])}'s GRAR"], rows, "all traces")


def trace_table(results: Results, trace: str, place: int, gpus: float | None) -> str:
    """Table of one trace. The script shows the chosen trace's; on paper and without script all are there."""
    title = html.escape(trace_title(trace))
    heads, rows = _readings(results, trace, gpus)
    table = f"{sortable_table(heads, rows, title)}{_service_note(results, trace)}"
    for other in shown_against(results, trace)[1:]:
        name = f"{title}, savings against {html.escape(label(other))}"
        table += f"<h4>{name}</h4>{sortable_table(*_savings_against(results, trace, other), name)}"
    return f'<section class="trace" data-trace="{place}"><h3>{title}</h3>{table}</section>'


def _service_note(results: Results, trace: str) -> str:
    """A note where policies do not serve the same amount."""
    if serve_alike(results, trace):
        return ""
    text = "Policies serve different amounts here: savings are in watts per GPU served; compare GRAR too."
    if (trace, BOUND) in results:
        text += " The bound serves the most; a dash stands where a policy goes beyond it because it serves less."
    return f'<p class="note">{html.escape(text)}</p>'


def trace_tiles(results: Results, trace: str, place: int) -> str:
    """Four numbers of one trace in large type."""
    return f'<div class="trace" data-trace="{place}">{_tiles(results, trace)}</div>'


def _tiles(results: Results, trace: str) -> str:
    first = leader(results, trace)
    if first is None:
        return ""
    name = html.escape(label(first))
    curves, base = results[trace, first], results[trace, results.against[0]]
    tiles = [(f"saved at load {MIDDLE:g}", _percent(saving(results, trace, first)[at(MIDDLE)]), name)]
    kept = kept_above(results, trace, first)
    if kept is not None:
        tiles.append((f"saved until load {kept[1]:.2f}", f"&gt; {kept[0]} %", "at every load from 0.15"))
    for text, column, load, scale, unit, digits in (
        (f"GRAR at load {FULL_LOAD:.1f}", "grar", FULL_LOAD, 1.0, "", 3),
        (f"EOPC at load {BUSY_LOAD:g}", "eopc_w", BUSY_LOAD, 1e-6, " MW", 2),
    ):
        own, other = (float(mean(c, column)[at(load)]) * scale for c in (curves, base))
        if np.isfinite(own) and np.isfinite(other):
            small = own < 0.1 and unit == " MW"  # a small datacenter reads better in kW
            own, other, unit = (own * 1000, other * 1000, " kW") if small else (own, other, unit)
            tiles.append((text, f"{own:.{digits}f}{unit}", f"{label(results.against[0])} {other:.{digits}f}{unit}"))
    return (
        '<dl class="tiles">'
        + "".join(
            f"<div><dt>{text}</dt><dd><b>{value}</b> <span>{note}</span></dd></div>" for text, value, note in tiles
        )
        + "</dl>"
    )


def _readings(results: Results, trace: str, gpus: float | None) -> tuple[list[str], list[list[Cell]]]:
    heads = ["Policy", *[f"Saving at {load:g}, %" for load in SAVING_LOADS], f"GRAR at {FULL_LOAD:.1f}"]
    heads.append(f"EOPC at {BUSY_LOAD:g}, kW")
    if gpus:
        heads.append(f"W per GPU at {BUSY_LOAD:g}")
    rows: list[list[Cell]] = []
    shown, against = by_saving(results, trace), results.against[0]
    power = unbeaten_at([float(mean(results[trace, p], "eopc_w")[at(BUSY_LOAD)]) / 1000 for p in shown], shown)
    watts = [float(watts_per_gpu(results[trace, p], gpus)[at(BUSY_LOAD)]) for p in shown] if gpus else []
    watts = unbeaten_at(watts, shown) if gpus else []
    for place, policy in enumerate(shown):
        curves = results[trace, policy]
        several = len(curves.seeds) > 1 and policy != BOUND
        mark = ' <span class="mark">baseline</span>' if policy == against else ""
        row: list[Cell] = [(policy, f"{breakable(policy)}{mark}")]
        for load in SAVING_LOADS:
            value = float(saving(results, trace, policy)[at(load)]) * 100
            deviation = float(saving_spread(results, trace, policy)[at(load)]) * 100
            row.append(number_cell(value, 1, deviation if several and policy != against else None))
        grar = float(mean(curves, "grar")[at(FULL_LOAD)])
        row.append(number_cell(grar, 3, float(spread(curves, "grar")[at(FULL_LOAD)]) if several else None))
        row.append(number_cell(power[place], 1))
        if gpus:
            row.append(number_cell(watts[place], 1))
        rows.append(row)
    return heads, rows


def _savings_against(results: Results, trace: str, other: str) -> tuple[list[str], list[list[Cell]]]:
    """The savings alone, against another policy than the first."""
    rows: list[list[Cell]] = []
    for policy in by_saving(results, trace):
        values, deviations = (read(results, trace, policy, other) * 100 for read in (saving, saving_spread))
        several = len(results[trace, policy].seeds) > 1 and policy not in (BOUND, other)
        cells = [
            number_cell(float(values[at(load)]), 1, float(deviations[at(load)]) if several else None)
            for load in SAVING_LOADS
        ]
        rows.append([(policy, breakable(policy)), *cells])
    return ["Policy", *[f"Saving at {load:g}, %" for load in SAVING_LOADS]], rows


def policies_section(policies: Sequence[str]) -> str:
    """A line on each policy of the page: what it prefers."""
    lines = "".join(
        f"<dt>{html.escape(label(name))}</dt><dd>{html.escape(line)}</dd>" for name, line in policy_lines(policies)
    )
    return f'<dl class="terms">{lines}</dl>' if lines else ""


def claims_section(claims: Sequence[Mapping[str, Any]]) -> str:
    given = [str(claim.get("verdict", "")) for claim in claims]
    verbs = {verdict: verdict.replace("holds", "hold").replace("differs", "differ") for verdict in VERDICTS}
    said = ", ".join(f"{given.count(verdict)} {verb}" for verdict, verb in verbs.items() if verdict in given)
    rows = []
    for claim in claims:
        field = {key: html.escape(str(claim.get(key, "") or "")) for key in (*CLAIM_COLUMNS, "why")}
        kind = VERDICTS.get(str(claim.get("verdict", "")), "other")
        why = f'<p class="why">{field["why"]}</p>' if field["why"] else ""
        rows.append(
            f'<tr><th scope="row">{field["id"]}</th><td data-label="Section">{field["section"]}</td>'
            f'<td data-label="Statement">{field["statement"]}</td><td data-label="Paper">{field["paper"]}</td>'
            f'<td data-label="Measured">{field["measured"]}{why}</td>'
            f'<td data-label="Verdict"><span class="verdict {kind}">{field["verdict"]}</span></td></tr>'
        )
    heads = "".join(f'<th scope="col">{name.capitalize() if name != "id" else ""}</th>' for name in CLAIM_COLUMNS)
    return (
        '<section id="claims"><h2>The paper\'s statements</h2>'
        f'<p class="note">{len(claims)} statements: {html.escape(said)}. Savings here and in figures/fig1 to '
        "fig10 are the paper's: 1 − EOPC / EOPC of FGD at the same load, whatever the two serve.</p>"
        f'<table class="claims"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></section>'
    )


def provenance_section(provenance: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<dt>{html.escape(str(key))}</dt><dd>{html.escape(_plain(value))}</dd>" for key, value in provenance.items()
    )
    return f'<dl class="made">{rows}</dl>'


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(_plain(item) for item in value)
    return str(value)


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.1f} %" if np.isfinite(fraction) else "–"
