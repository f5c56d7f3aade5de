"""The figure of steady states on a trace: savings and GRAR over offered load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wattpack.experiments.steady_table import SteadyRow
from wattpack.report.figure_parts import COLUMN, GRAR_LABEL, finish, legend_above, new_figure, plain, print_style
from wattpack.report.steady_chart import Point, Series, series_of
from wattpack.report.steady_rows import baseline_lookup, moving_text, titles
from wattpack.report.style import label, look, trace_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOVING_DASH = (4, 2)


def steady_figure(rows: Sequence[SteadyRow]) -> Figure:
    """Of the rows of one trace. Points are means over the seeds, bars their standard deviation."""
    measure, series = series_of(rows)
    seeds = max(len(row.seeds) for row in rows)
    about = f"{trace_label(rows[0].trace)}, " + ("1 seed" if seeds == 1 else f"mean of {seeds} seeds")
    moving = moving_text(rows)
    with print_style():
        figure = new_figure(2 * COLUMN + 0.3, 2.9)
        first, second = figure.subplots(1, 2)
        _draw(first, series, measure)
        _draw(second, grar_series(rows), GRAR_LABEL)
        legend_above(figure, second, 4)
        figure.supxlabel(plain(about + (f"; {moving}" if moving else "")), fontsize=6.3, color="#555555")
        return finish(figure)


def grar_series(rows: Sequence[SteadyRow]) -> list[Series]:
    """GRAR of every policy, the baseline first."""
    baseline, title_of = baseline_lookup(rows), titles(rows)
    found: dict[str, Series] = {}
    for row in sorted(rows, key=lambda row: baseline(row) is not row):
        point = Point(row.load, row.mean("grar"), row.spread("grar"))
        found.setdefault(title_of(row), Series(title_of(row), row.policy, row.moving is not None, [])).points.append(
            point
        )
    return list(found.values())


def _draw(axes: Axes, series: Sequence[Series], measure: str) -> None:
    for one in series:
        drawn = look(one.policy)
        drawn = replace(drawn, dash=MOVING_DASH) if one.moving else drawn
        points = sorted(one.points)
        axes.errorbar(
            [point.load for point in points],
            [point.value for point in points],
            yerr=[point.spread if point.spread == point.spread else 0.0 for point in points],
            label=plain(label(one.policy) + one.title.removeprefix(one.policy)),
            color=drawn.colour,
            linestyle=(0, drawn.dash) if drawn.dash else "-",
            marker=drawn.marker or "o",
            markersize=3.6,
            markerfacecolor="white" if one.moving else drawn.colour,
            elinewidth=0.6,
        )
    axes.set_xlabel("offered load (requested GPU / GPU capacity)")
    axes.set_ylabel(measure)
    axes.margins(x=0.08, y=0.08)
