"""Watts of a GPU by the share of it in use: as text for the terminal, and as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from wattpack.errors import UserError
from wattpack.files import write_whole
from wattpack.report.figure_parts import COLUMN, METADATA, finish, legend_above, new_figure, plain, print_style
from wattpack.report.plot import Canvas, Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = Mapping[str, NDArray[np.float64]]  # name -> watts at shares 0 to 1 in equal steps

COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#707070")
TERMINAL_COLOURS = ("red", "blue", "green", "magenta", "yellow", "cyan", "white", "bright_black")
KINDS = ("png", "pdf", "svg")
MOST_CURVES = len(COLOURS)
HEIGHT = 12  # lines of the plot


def curves_text(curves: Curves, title: str, width: int, ascii_only: bool = False) -> Text:
    """The curves as text, a letter on each."""
    letters = iter("ABCDEFGH")
    drawn = [
        Curve(next(letters), name, watts, TERMINAL_COLOURS[place])
        for place, (name, watts) in enumerate(list(curves.items())[:MOST_CURVES])
    ]
    return Canvas(min(width, 80), HEIGHT, ascii_only).draw(drawn, title)


def figure_kind(path: Path) -> str:
    """The kind of picture that the file's name asks for."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise UserError(f"--figure {path}: not a picture, expected a file that ends in .{', .'.join(KINDS)}")
    return kind


def power_figure(curves: Curves, title: str) -> Figure:
    with print_style():
        figure = new_figure(COLUMN, 2.5)
        axes = figure.add_subplot()
        for place, (name, watts) in enumerate(list(curves.items())[:MOST_CURVES]):
            share = np.linspace(0, 1, len(watts))
            above = 3 - place / MOST_CURVES  # the first curve, a power file's, hides those that are the same
            axes.plot(share[1:], watts[1:], color=COLOURS[place], label=plain(name), zorder=above)
            # Nothing on the GPU: not on the line.
            axes.plot([0], watts[:1], "o", markersize=3, color=COLOURS[place], zorder=above)
        axes.set_xlim(-0.02, 1)
        axes.set_ylim(bottom=0)
        axes.set_title(plain(title))
        axes.set_xlabel("share of the GPU in use (dot: nothing on it)")
        axes.set_ylabel("power (W)")
        legend_above(figure, axes, 4)
        return finish(figure)


def write_power_figure(path: Path, curves: Curves, title: str) -> None:
    kind = figure_kind(path)
    figure = power_figure(curves, title)
    metadata = METADATA.get(kind, {"Date": None, "Creator": "wattpack"})
    with print_style():
        write_whole(path, partial(figure.savefig, format=kind, metadata=metadata))
