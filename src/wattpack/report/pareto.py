"""The figure of `wattpack tune`: saving against GRAR of all candidates, the front, and the one that is recommended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wattpack.experiments.tune.measured import Measured
from wattpack.report.figure_parts import COLUMN, finish, legend_above, new_figure, plain, print_style, saving_label
from wattpack.report.style import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAR = 5.0  # points of saving below the worst of the front: candidates below leave the picture
ASIDE = 0.01  # GRAR below all of the front: such candidates leave the picture too


def pareto_figure(found: Sequence[Measured], front: Sequence[Measured], best: str, title: str, against: str) -> Figure:
    """One point a candidate, with the 95 % interval of those on the front."""
    by_policy = {one.policy: one for one in found}
    base = by_policy[against]
    lowest = min(100 * min(one.saving for one in front), 0.0) - FAR
    shown = [one for one in found if 100 * one.saving >= lowest]
    left = min(min((one.grar for one in front), default=base.grar), base.grar)
    shown = [one for one in shown if one.grar >= left - ASIDE]
    with print_style():
        figure = new_figure(2 * COLUMN, 3.4)
        axes = figure.add_subplot()
        rest = [one for one in shown if one not in front]
        points = ([one.grar for one in rest], [100 * one.saving for one in rest])
        axes.scatter(*points, s=9, color="#9aa0a6", linewidths=0, label="candidates", zorder=2)
        ordered = sorted(front, key=lambda one: one.grar)
        steps = [one.grar for one in ordered], [100 * one.saving for one in ordered]
        axes.plot(*steps, color="#0072b2", linewidth=0.9, drawstyle="steps-pre", zorder=3)
        errors = [[value if value == value else 0.0 for value in column] for column in _errors(ordered)]
        axes.errorbar(
            *steps,
            xerr=errors[0],
            yerr=[100 * value for value in errors[1]],
            fmt="o",
            markersize=3.5,
            color="#0072b2",
            elinewidth=0.6,
            label="front, with 95 % intervals",
            zorder=4,
        )
        marked = ((best, "recommended", "*", "#d55e00", 75), (against, plain(label(against)), "D", "#444444", 18))
        for policy, name, marker, colour, size in marked:
            one = by_policy[policy]
            point = ([one.grar], [100 * one.saving])
            axes.scatter(*point, marker=marker, s=size, color=colour, linewidths=0, zorder=5, label=name)
        axes.margins(x=0.08, y=0.1)
        for one in _apart(ordered, best):
            text, place = plain(label(one.policy)), (one.grar, 100 * one.saving)
            axes.annotate(text, place, (4, 4), textcoords="offset points", fontsize=5.5)
        axes.set_title(plain(title))
        axes.set_xlabel("GRAR, mean over the loads")
        axes.set_ylabel(f"{saving_label(against)}, mean over the loads")
        legend_above(figure, axes, 4)
        return finish(figure)


def _errors(ordered: Sequence[Measured]) -> tuple[list[float], list[float]]:
    return [one.grar_error for one in ordered], [one.saving_error for one in ordered]


def _apart(ordered: Sequence[Measured], best: str) -> list[Measured]:
    """Those whose names do not cover each other, the recommended one always among them."""
    width = max(ordered[-1].grar - ordered[0].grar, 1e-9)
    height = max(ordered[0].saving - ordered[-1].saving, 1e-9)
    named: list[Measured] = []
    for one in sorted(ordered, key=lambda one: one.policy != best):
        if all(abs(one.grar - a.grar) > 0.2 * width or abs(one.saving - a.saving) > 0.05 * height for a in named):
            named.append(one)
    return named
