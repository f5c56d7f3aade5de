"""Building blocks of figures: curves with bands on a pair of axes, the frame, the legend, and saving to files.

No pyplot: a figure is made, saved and forgotten, nothing is kept in a global list. matplotlib is imported when a figure
is drawn, because importing it costs more than everything else here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.curves import LOADS, Results, at
from wattpack.files import make_folder, write_whole
from wattpack.report.metrics import eopc_saving, eopc_saving_spread, eopc_w, mean, saving, saving_spread, spread
from wattpack.report.style import Look, label, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

COLUMN = 3.5  # inches: one column of an IEEE page
FINE = 241  # points of a drawn curve: finer than LOADS in a zoom, so that markers can be staggered
LONGEST_NAME = 48  # letters of a name in a legend: a column holds them
LOAD_LABEL = "requested GPU / GPU capacity"
GRAR_LABEL = "GRAR"
EOPC_LABEL = "EOPC (MW)"

# Sizes for print at column width: 7 pt is the least that IEEE accepts for text in figures after scaling.
PRINT = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters on every machine
    "font.size": 7.0,
    "axes.titlesize": 7.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 7.0,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "#444444",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 6.3,
    "legend.frameon": False,
    "lines.linewidth": 1.1,
    "lines.dash_capstyle": "butt",
    "patch.linewidth": 0.0,
    "pdf.fonttype": 42,  # fonts embedded as TrueType, as IEEE's checker wants
    "figure.dpi": 100,
    "savefig.dpi": 300,
}


@dataclass(frozen=True)
class Line:
    """One curve over LOADS: what a panel draws. `spread` 0 or NaN leaves the band out."""

    name: str
    values: Array
    spread: Array
    look: Look


@contextmanager
def print_style() -> Iterator[None]:
    """matplotlib's settings for the time of drawing or saving, none of the user's own."""
    import matplotlib as mpl

    with mpl.rc_context({**mpl.rcParamsDefault, **PRINT, "backend": "agg"}), warnings.catch_warnings():
        # A trace may be named in letters that the font lacks: boxes in the picture, no noise in the terminal.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


def plain(text: str) -> str:
    """Escapes dollar signs: matplotlib reads text between two of them as a formula."""
    return text.replace("$", r"\$")


def new_figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)
    FigureCanvasAgg(figure)
    return figure


def saving_label(against: str, eopc: bool = False) -> str:
    """Of an axis; `eopc`: the paper's saving, of EOPC whatever is served."""
    of = "EOPC" if eopc else "W per GPU served"
    return plain(f"saving vs. {label(against)} (% of {of})")


def saving_lines(results: Results, trace: str, policies: Iterable[str], eopc: bool = False) -> list[Line]:
    """Savings in percent of those of `policies` that the results hold; who they are against (0) is left out.

    eopc: the paper's, against FGD.
    """
    value, deviation = (eopc_saving, eopc_saving_spread) if eopc else (saving, saving_spread)
    chosen = [policy for policy in policies if (trace, policy) in results and policy != results.against[0]]
    return [
        Line(
            plain(label(policy)),
            value(results, trace, policy) * 100,
            deviation(results, trace, policy) * 100,
            look(policy),
        )
        for policy in chosen
    ]


def column_lines(results: Results, trace: str, policies: Iterable[str], column: str, scale: float = 1.0) -> list[Line]:
    """Any column of the curves times `scale`."""
    return [
        Line(
            plain(label(policy)),
            (eopc_w(results, trace, policy) if column == "eopc_w" else mean(results[trace, policy], column)) * scale,
            spread(results[trace, policy], column) * scale,
            look(policy),
        )
        for policy in policies
        if (trace, policy) in results
    ]


def renamed(lines: list[Line], names: Sequence[str]) -> list[Line]:
    return [replace(line, name=name) for line, name in zip(lines, names, strict=True)]


def draw_lines(axes: Axes, lines: Sequence[Line], x: tuple[float, float], markers: int = 6) -> None:
    """Bands first, so that no band covers another policy's curve; about `markers` markers a curve, staggered."""
    loads = np.linspace(*x, FINE)
    for line in lines:
        low, high = line.values - line.spread, line.values + line.spread
        if np.nanmax(line.spread, initial=0.0) > 0:
            axes.fill_between(
                loads,
                np.interp(loads, LOADS, low),
                np.interp(loads, LOADS, high),
                color=line.look.colour,
                alpha=0.13 if len(lines) <= 8 else 0.08,  # many bands on top of each other turn to mud
                linewidth=0,
            )
    step = FINE // markers
    for place, line in enumerate(lines):
        axes.plot(
            loads,
            np.interp(loads, LOADS, line.values),
            label=line.name,
            color=line.look.colour,
            linewidth=1.1 * line.look.width,
            linestyle=(0, line.look.dash) if line.look.dash else "-",
            marker=line.look.marker or None,
            # Curves often coincide: each has its markers where the others have none.
            markevery=(step * (2 * place + 1) // (2 * len(lines)), step),
            markersize=4.6 if line.look.marker == "*" else 3.3,
            markeredgecolor="white",
            markeredgewidth=0.35,
        )
    axes.set_xlim(x)


def fit_y(axes: Axes, lines: Sequence[Line], x: tuple[float, float], floor: float | None = None) -> None:
    """Height of the panel from the curves within `x`; a curve that dives below `floor` leaves the picture."""
    values = np.concatenate([line.values[at(x[0]) : at(x[1]) + 1] for line in lines]) if lines else np.zeros(0)
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return
    low, high = float(values.min()), float(values.max())
    if floor is not None:
        low = max(low, floor)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    axes.set_ylim(low - room, high + room)


def frame(axes: Axes, title: str, y_label: str) -> None:
    """Title, labels and round ticks."""
    from matplotlib.ticker import MaxNLocator

    axes.set_title(plain(title))
    axes.set_xlabel(LOAD_LABEL)
    axes.set_ylabel(y_label)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))


def finish(figure: Figure) -> Figure:
    """Lay the panels out once: otherwise every file that is saved does it again, a third of its time."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def legend_above(figure: Figure, axes: Axes, columns: int) -> None:
    """One legend for all panels, outside of them: no curve is hidden. In fewer columns where the names are long."""
    handles, names = axes.get_legend_handles_labels()
    room = figure.get_figwidth() * figure.dpi
    for count in range(min(columns, len(names)), 0, -1):
        legend = figure.legend(
            handles,
            [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in names],
            loc="outside upper center",
            ncols=count,
            handlelength=2.7,
            columnspacing=1.0,
            handletextpad=0.5,
            labelspacing=0.35,
            borderaxespad=0.2,
        )
        if count == 1 or legend.get_window_extent().width <= room:
            return
        legend.remove()


# Neither dates nor versions: a picture changes when its data do, and only then.
METADATA: dict[str, dict[str, str | None]] = {
    "pdf": {"Creator": "wattpack", "Producer": None, "CreationDate": None},
    "png": {"Software": None},
}


def save(figure: Figure, folder: str | Path, name: str, kinds: Sequence[str] = ("pdf", "png")) -> list[Path]:
    """Write `name`.pdf and `name`.png, each under a temporary name first; the same figure gives the same bytes.

    A PDF takes twice as long as a PNG (fonts are cut to size): `kinds=("png",)` is faster.
    """
    paths = [make_folder(Path(folder)) / f"{name}.{kind}" for kind in kinds]
    for path, kind in zip(paths, kinds, strict=True):
        with print_style():
            write_whole(path, partial(figure.savefig, format=kind, metadata=METADATA[kind]))
    return paths
