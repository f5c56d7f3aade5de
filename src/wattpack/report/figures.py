"""The figures: one that sums up a comparison, and the ten of the paper in the paper's form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from wattpack.errors import UserError
from wattpack.experiments.curves import LOADS, Curves, Results, at
from wattpack.experiments.lineup import BASELINE, COMPETITORS, MIXES, PWR, pwr_share
from wattpack.report.figure_parts import (
    COLUMN,
    EOPC_LABEL,
    GRAR_LABEL,
    Line,
    column_lines,
    draw_lines,
    finish,
    fit_y,
    frame,
    legend_above,
    new_figure,
    plain,
    print_style,
    renamed,
    save,
    saving_label,
    saving_lines,
)
from wattpack.report.metrics import first_loss, mean, policies, spread
from wattpack.report.style import KNOWN, trace_label
from wattpack.report.units import power_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WHOLE = (0.0, 1.0)
SETTLED = (0.15, 1.0)  # where the height of a savings panel is taken from: a handful of tasks decides below
DEEPEST = -8.0  # percent: what saves less than this leaves the picture instead of flattening it


def compare_figure(results: Results, trace: str) -> Figure:
    """Savings (large), GRAR near saturation and EOPC of all policies on `trace`."""
    against = results.against[0]
    _need(results, trace, against)
    shown = policies(results, trace)
    with print_style():
        figure = new_figure(2 * COLUMN + 0.3, 4.1)
        grid = figure.add_gridspec(2, 2, width_ratios=[1.45, 1])
        axes = figure.add_subplot(grid[:, 0])
        # Who savings are against is the zero line here; its entry keeps the legend whole.
        baseline = column_lines(results, trace, [against], "eopc_w", 0.0)
        lines = saving_lines(results, trace, shown)
        draw_lines(axes, [*baseline, *lines], WHOLE, markers=8)
        fit_y(axes, [*baseline, *lines], SETTLED, DEEPEST)
        frame(axes, "Watts per GPU served, saved", saving_label(against))
        zoom = (first_loss(results, trace), 1.0)
        _grar_panel(figure.add_subplot(grid[0, 1]), results, trace, shown, zoom, "GRAR (GPU allocated / requested)")
        axes_eopc = figure.add_subplot(grid[1, 1])
        unit, unit_w = power_unit(float(np.nanmax(mean(results[trace, p], "eopc_w"), initial=0.0)) for p in shown)
        lines = column_lines(results, trace, shown, "eopc_w", 1 / unit_w)
        draw_lines(axes_eopc, lines, WHOLE)
        axes_eopc.set_ylim(bottom=0)
        frame(axes_eopc, "Power of the datacenter", f"EOPC ({unit})")
        legend_above(figure, axes, 4)
        about = f"{trace_label(trace)}, {_seeds(results[trace, against])}"
        figure.supxlabel(plain(about), fontsize=6.3, color="#555555")
        return finish(figure)


def paper_figures(results: Results, extra: Sequence[str] = ()) -> dict[str, Figure]:
    """fig1 to fig10 of the paper, with curves of `extra` policies. A figure whose traces are not there is left out."""
    drawn: dict[str, Callable[[], Figure]] = {
        "fig1": lambda: baseline_figure(results, "default"),
        "fig2": lambda: share_figure(results, "default"),
        "fig3": lambda: saving_figure(results, ["default"], extra),
        "fig4": lambda: saving_figure(results, ["gpushare100"], extra),
        "fig5": lambda: saving_figure(results, ["multigpu20", "multigpu50"], extra),
        "fig6": lambda: saving_figure(results, ["gpuspec10", "gpuspec33"], extra),
        "fig7": lambda: grar_figure(results, ["default"], (0.9, 1.0), extra),
        "fig8": lambda: grar_figure(results, ["gpushare40", "gpushare100"], (0.8, 1.0), extra),
        "fig9": lambda: grar_figure(results, ["multigpu20", "multigpu50"], (0.9, 1.0), extra),
        "fig10": lambda: grar_figure(results, ["gpuspec10", "gpuspec33"], WHOLE, extra),
    }
    figures = {}
    for name, draw in drawn.items():
        try:
            figures[name] = draw()
        except UserError:
            continue
    return figures


def baseline_figure(results: Results, trace: str) -> Figure:
    """The baseline's EOPC, CPU and GPU stacked, with the GPU's share dashed on the right axis (paper: figure 1).

    Base power, where there is any, is below them.
    """
    _need(results, trace)
    curves = results[trace, BASELINE]
    inside = slice(0, at(WHOLE[1]) + 1)
    loads, cpu, gpu = LOADS[inside], mean(curves, "cpu_w")[inside] / 1e6, mean(curves, "gpu_w")[inside] / 1e6
    total, band = mean(curves, "eopc_w")[inside] / 1e6, spread(curves, "eopc_w")[inside] / 1e6
    base = curves.base_w()[inside] / 1e6
    to_cpu = base + cpu
    step = _round_up(float(np.nanmax(total)) / 0.72 / 4)  # four steps on both axes; the dashed line stays above
    with print_style():
        figure = new_figure(COLUMN, 2.3)
        axes = figure.add_subplot()
        axes.fill_between(loads, to_cpu, total, facecolor="#5aa5d3", hatch="////", edgecolor="#ffffff80", label="GPU")
        axes.fill_between(loads, base, to_cpu, facecolor=KNOWN["bestfit"].colour, label="CPU")
        if np.nanmax(base) > 0:
            axes.fill_between(loads, 0, base, facecolor="#b0b0b0", label="base")
        axes.fill_between(loads, total - band, total + band, color="#000000", alpha=0.25)
        axes.plot(loads, total, color="#000000", linewidth=1.0)
        axes.set_xlim(WHOLE)
        axes.set_ylim(0, 4 * step)
        frame(axes, f"EOPC of FGD, {_the_trace(trace)}", EOPC_LABEL)
        axes.set_yticks([i * step for i in range(5)])
        right = axes.twinx()
        right.plot(loads, gpu / total * 100, color="#000000", linestyle=(0, (5, 2)), label="GPU share (right axis)")
        right.set_ylim(40, 80)
        right.set_yticks([40, 50, 60, 70, 80])
        right.set_ylabel("GPU share of EOPC (%)")
        right.spines["right"].set_visible(True)
        right.grid(visible=False)
        handles = [pair for part in (axes, right) for pair in zip(*part.get_legend_handles_labels(), strict=True)]
        figure.legend(*zip(*handles, strict=True), loc="outside upper center", ncols=3)
        return finish(figure)


def share_figure(results: Results, trace: str) -> Figure:
    """Savings and GRAR of PWR and its mixes with FGD, by PWR's share alpha (paper: figure 2)."""
    _need(results, trace)
    mixes = [policy for policy in policies(results, trace) if pwr_share(policy) is not None]
    shown = [*mixes, *([PWR] if (trace, PWR) in results else [])]
    if not shown:
        raise UserError(f"trace {trace!r}: neither PWR nor a mix of PWR and FGD in the results")
    names = [_alpha(policy) for policy in shown]
    with print_style():
        figure = new_figure(COLUMN, 4.2)
        top, bottom = figure.subplots(2, 1)
        lines = renamed(saving_lines(results, trace, shown, eopc=True), names)
        draw_lines(top, lines, WHOLE)
        fit_y(top, [*lines, _zero()], WHOLE)
        frame(top, f"(a) Power saving, {_the_trace(trace)}", saving_label(BASELINE, eopc=True))
        grar = column_lines(results, trace, [BASELINE, *shown], "grar")
        grar = renamed(grar, ["FGD (α = 0)", *names])
        draw_lines(bottom, grar, (0.85, 1.0))
        fit_y(bottom, grar, (0.85, 1.0))
        frame(bottom, f"(b) GRAR, {_the_trace(trace)}", GRAR_LABEL)
        legend_above(figure, bottom, 4)
        return finish(figure)


def saving_figure(results: Results, traces: Sequence[str], extra: Sequence[str] = ()) -> Figure:
    """Savings of the paper's mixes and competitors, one panel a trace (paper: figures 3 to 6)."""
    shown = [*extra, *MIXES, *COMPETITORS]
    with print_style():
        figure, panels = _stacked(results, traces)
        for axes, trace, number in panels:
            lines = saving_lines(results, trace, shown, eopc=True)
            axes.axhline(0, color="#000000", linewidth=0.7)
            draw_lines(axes, lines, WHOLE)
            fit_y(axes, [*lines, _zero()], SETTLED, DEEPEST)
            frame(axes, f"{number}Power saving, {_the_trace(trace)}", saving_label(BASELINE, eopc=True))
            axes.label_outer()
        legend_above(figure, panels[0][0], 3)
        return finish(figure)


def grar_figure(
    results: Results, traces: Sequence[str], zoom: tuple[float, float], extra: Sequence[str] = ()
) -> Figure:
    """GRAR of FGD, the paper's mixes and competitors, one panel a trace (paper: figures 7 to 10)."""
    with print_style():
        figure, panels = _stacked(results, traces)
        for axes, trace, number in panels:
            title = f"{number}GRAR, {_the_trace(trace)}"
            _grar_panel(axes, results, trace, [*extra, *MIXES, BASELINE, *COMPETITORS], zoom, title)
            axes.label_outer()
        legend_above(figure, panels[0][0], 3)
        return finish(figure)


def _grar_panel(
    axes: Axes, results: Results, trace: str, shown: Sequence[str], zoom: tuple[float, float], title: str
) -> None:
    lines = column_lines(results, trace, shown, "grar")
    draw_lines(axes, lines, zoom)
    fit_y(axes, [line for line in lines if line.look != KNOWN["random"]], zoom)
    frame(axes, title, GRAR_LABEL)


def _stacked(results: Results, traces: Sequence[str]) -> tuple[Figure, list[tuple[Axes, str, str]]]:
    """A column-wide figure with one panel a trace, one above the other, numbered (a), (b) if there are several."""
    for trace in traces:
        _need(results, trace)
    figure = new_figure(COLUMN, 0.8 + 1.75 * len(traces))
    rows = figure.subplots(len(traces), 1, squeeze=False, sharex=True)[:, 0]
    numbers = [f"({chr(ord('a') + place)}) " if len(traces) > 1 else "" for place in range(len(traces))]
    return figure, list(zip(rows, traces, numbers, strict=True))


def _the_trace(trace: str) -> str:
    return "Default trace" if trace == "default" else trace_label(trace)


def _round_up(step: float) -> float:
    """The next of 1, 2, 2.5, 5, 10 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(step)) if step > 0 else 1.0
    return float(next(nice * power for nice in (1, 2, 2.5, 5, 10) if nice * power >= step))


def _alpha(policy: str) -> str:
    share = pwr_share(policy)
    return "PWR (α = 1)" if share is None else f"α = {share:g}"


def _zero() -> Line:
    """Not drawn: keeps 0 within the height of a panel."""
    flat = np.zeros(len(LOADS))
    return Line("", flat, flat, KNOWN[BASELINE])


def _seeds(curves: Curves) -> str:
    count = len(curves.seeds)
    return "1 seed" if count == 1 else f"mean of {count} seeds, bands: standard deviation"


def _need(results: Results, trace: str, against: str = BASELINE) -> None:
    if (trace, against) not in results:
        raise UserError(f"trace {trace!r}: no results of {against!r}, which savings are against")


__all__ = ["compare_figure", "paper_figures", "save"]
