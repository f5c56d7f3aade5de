"""The figure of runs in time on one trace: power, GPUs in use, tasks that wait and nodes asleep, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wattpack.experiments.timed_result import J_PER_KWH, Series
from wattpack.experiments.timed_table import TimedRow, baseline_of
from wattpack.report.figure_parts import COLUMN, finish, legend_above, new_figure, plain, print_style
from wattpack.report.style import label, look, trace_label
from wattpack.report.time_payload import Array, Buckets, difference_unit
from wattpack.report.time_rows import row_title
from wattpack.report.units import power_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HOUR_S, DAY_S = 3600, 86400
POINTS = 400  # of a curve, each a mean: a week in points of 25 minutes
PANEL = 1.35  # inches high


def time_figure(rows: Sequence[TimedRow], series: Sequence[Series], about: str) -> Figure:
    """`series`: of the first seed of each row."""
    horizon_s = float(series[0].time_s[-1])
    points = min(POINTS, max(1, len(series[0]) - 1))
    buckets = Buckets(horizon_s / points, points)
    panels = panels_of(rows, series, buckets)
    days = horizon_s >= 2 * DAY_S
    middle = np.linspace(0.5, points - 0.5, points) * (buckets.step_s / (DAY_S if days else HOUR_S))
    with print_style():
        figure = new_figure(2 * COLUMN + 0.3, PANEL * len(panels) + 0.6)
        all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (title, curves) in zip(all_axes, panels, strict=True):
            draw(axes, rows, middle, curves)
            axes.set_title(title)
        all_axes[-1].set_xlabel(f"{'days' if days else 'hours'} from the first arrival; {plain(about)}")
        legend_above(figure, all_axes[0], 4)
        return finish(figure)


def panels_of(
    rows: Sequence[TimedRow], series: Sequence[Series], buckets: Buckets
) -> list[tuple[str, list[Array | None]]]:
    """The title of each panel and its curves, one a row; None: the row has none there."""
    watts = [buckets.mean_of(one.time_s, one.kwh * J_PER_KWH) for one in series]
    unit, unit_w = power_unit(float(own.max(initial=0.0)) for own in watts)
    found: list[tuple[str, list[Array | None]]] = [(f"IT power, {unit}", [own / unit_w for own in watts])]
    baseline = baseline_of(rows)
    if baseline is not None and len(rows) > 1:
        base = watts[rows.index(baseline)]
        unit, unit_w = difference_unit(max(float(np.abs(base - own).max(initial=0.0)) for own in watts))
        below = [None if row is baseline else (base - own) / unit_w for row, own in zip(rows, watts, strict=True)]
        found.append((f"IT power below that of {plain(label(baseline.policy))}, {unit}", below))
    found.append(("GPUs in use", [buckets.mean_held(one.time_s, one.allocated_gpus) for one in series]))
    if any(one.queued.any() for one in series):
        found.append(("Tasks that wait", [buckets.mean_held(one.time_s, one.queued) for one in series]))
    if any(one.sleeps for one in series):
        asleep = [
            None if own is None else buckets.mean_held(one.time_s, own) for one in series for own in (one.asleep_nodes,)
        ]
        found.append(("Nodes asleep", asleep))
    return found


def draw(axes: Axes, rows: Sequence[TimedRow], at: Array, curves: Sequence[Array | None]) -> None:
    for place, (row, values) in enumerate(zip(rows, curves, strict=True)):
        drawn = look(row.policy)
        if values is None:
            continue
        axes.plot(
            at,
            values,
            label=plain(row_title(row, rows)),
            color=drawn.colour,
            linewidth=0.9 * drawn.width,
            linestyle=(0, drawn.dash) if drawn.dash else "-",
            zorder=2 + place / 100,
        )
    axes.set_xlim(0, at[-1] + at[0])


def about_of(rows: Sequence[TimedRow], options: str) -> str:
    """What the figure is of, in a line."""
    return f"{trace_label(rows[0].scenarios[0].trace)}, {options}, seed {rows[0].seeds[0]}"
