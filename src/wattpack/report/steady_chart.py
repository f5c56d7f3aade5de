"""A chart of steady states as SVG, drawn here and not by the page's script: savings over offered load.

Without the baseline there are no savings: then the chart shows the power.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import floor, isnan, log10, nan
from typing import NamedTuple

from wattpack.experiments.steady_table import SteadyRow
from wattpack.report.steady_rows import baseline_lookup, titles
from wattpack.report.style import label
from wattpack.report.units import power_unit

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 12, 40
TICKS = 5


class Point(NamedTuple):
    load: float
    value: float
    spread: float


class Series(NamedTuple):
    """One policy with its options: drawn in the policy's colour, dashed where tasks are moved."""

    title: str
    policy: str
    moving: bool
    points: list[Point]


def series_of(rows: Sequence[SteadyRow]) -> tuple[str, list[Series]]:
    """What the chart shows, with its unit, and the series by falling value; who savings are against has none."""
    baseline, title_of = baseline_lookup(rows), titles(rows)
    unit, unit_w = power_unit(row.mean("eopc_w") for row in rows)
    savings = [nan if base is None else row.saving(base) for row in rows for base in (baseline(row),)]
    with_saving = not any(map(isnan, savings)) and any(baseline(row) is not row for row in rows)
    found: dict[str, Series] = {}
    for row in rows:
        base = baseline(row)
        if with_saving and base is not None:
            if row is base:
                continue
            point = Point(row.load, 100 * row.saving(base), 100 * row.saving_spread(base))
        else:
            point = Point(row.load, row.mean("eopc_w") / unit_w, row.spread("eopc_w") / unit_w)
        found.setdefault(title_of(row), Series(title_of(row), row.policy, row.moving is not None, [])).points.append(
            point
        )
    ordered = sorted(found.values(), key=lambda series: -max(point.value for point in series.points))
    saving = f"saving vs. {label(rows[0].against[0])} (% of W per GPU served)"
    return saving if with_saving else f"EOPC ({unit})", ordered


def steady_chart(rows: Sequence[SteadyRow], colour: Callable[[str], str]) -> str:
    """A figure with its legend; `colour(policy)` is the class that colours a policy."""
    measure, series = series_of(rows)
    points = [point for one in series for point in one.points]
    low = min(0.0, *(point.value - point.spread for point in points))
    high = max(0.0, *(point.value + point.spread for point in points))
    ticks = round_ticks(low, high)
    loads = sorted({point.load for point in points})
    margin = max(0.05, 0.08 * (loads[-1] - loads[0]))
    first, last = loads[0] - margin, loads[-1] + margin

    def x(load: float) -> float:
        return round(LEFT + (load - first) / (last - first) * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (value - ticks[0]) / (ticks[-1] - ticks[0]) * (HEIGHT - TOP - BOTTOM), 1)

    parts = []
    for tick in ticks:
        kind = "zero" if tick == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick)}" y2="{y(tick)}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(tick) + 4}" text-anchor="end">{tick:g}</text>')
    for load in thinned(loads, x):
        parts.append(f'<text x="{x(load)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{load:g}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">offered load</text>')
    parts += [_drawn(one, colour(one.policy), x, y) for one in series]
    legend = "".join(_legend(one, colour(one.policy)) for one in series)
    caption, unit = measure.removesuffix(")").split(" (")
    return (
        f'<figure class="card"><figcaption>{html.escape(caption[0].upper() + caption[1:])} '
        f'<span class="unit">({html.escape(unit)})</span></figcaption>'
        f'<svg class="steady" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(measure)} over '
        f'offered load; the table has the numbers">{"".join(parts)}</svg><div class="legend">{legend}</div></figure>'
    )


def _drawn(one: Series, colour: str, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    dash = ' stroke-dasharray="5 4"' if one.moving else ""
    places = " ".join(f"{x(point.load)},{y(point.value)}" for point in one.points)
    parts = [f'<polyline class="line" points="{places}"{dash}/>']
    for point in one.points:
        top, bottom = y(point.value + point.spread), y(point.value - point.spread)
        parts.append(f'<line class="line" x1="{x(point.load)}" x2="{x(point.load)}" y1="{top}" y2="{bottom}"/>')
        parts.append(f'<circle class="dot" cx="{x(point.load)}" cy="{y(point.value)}" r="4"/>')
    return f'<g class="{colour}"><title>{html.escape(one.title)}</title>{"".join(parts)}</g>'


def _legend(one: Series, colour: str) -> str:
    dash = ' stroke-dasharray="5 4"' if one.moving else ""
    swatch = f'<svg class="swatch" width="22" height="8"><line x1="0" x2="22" y1="4" y2="4"{dash}/></svg>'
    return f'<span class="key {colour}">{swatch}{html.escape(one.title)}</span>'


def round_ticks(low: float, high: float) -> list[float]:
    """About TICKS round numbers from at most `low` to at least `high`."""
    span = max(high - low, 1e-9)
    power = 10.0 ** floor(log10(span / TICKS))
    step = next(nice * power for nice in (1, 2, 5, 10) if nice * power * TICKS >= span * 0.999)
    first = floor(low / step + 1e-9)
    ticks = [first * step]
    while ticks[-1] < high - 1e-9 * span or len(ticks) < 2:
        ticks.append((first + len(ticks)) * step)
    return [float(f"{tick:.10g}") for tick in ticks]


def thinned(loads: Sequence[float], x: Callable[[float], float], apart: float = 34) -> list[float]:
    """The loads whose labels do not touch."""
    kept = [loads[0]]
    for _, load in pairwise(loads):
        if x(load) - x(kept[-1]) >= apart:
            kept.append(load)
    return kept
