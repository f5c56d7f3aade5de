"""Curves as text: braille dots for the lines, a letter on each, labelled axes and a legend; at most 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

# A braille character is 2 dots wide and 4 high; bit of each dot by [row][column].
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BLANK = 0x2800
MARGIN = 5  # columns left of the axis, for its numbers
STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)  # between the numbers beside the axis
TICKS = 5  # intervals of the load axis


@dataclass(frozen=True)
class Curve:
    """`values` over loads 0 to 1 in equal steps; NaN where there is none."""

    letter: str
    name: str
    values: NDArray[np.float64]
    colour: str


class Canvas:
    """A grid of `width` x `height` characters, axes and legend included in the width but not in the height."""

    def __init__(self, width: int, height: int, ascii_only: bool = False) -> None:
        self.columns, self.rows, self.ascii_only = max(20, width - MARGIN - 1), height, ascii_only
        self.bits = np.zeros((self.rows, self.columns), dtype=np.int64)
        self.owner = np.full((self.rows, self.columns), -1)  # the curve whose colour a cell has
        self.letters: dict[tuple[int, int], int] = {}

    def draw(self, curves: Sequence[Curve], title: str) -> Text:
        self.low, self.high = _limits(curves)
        # The first curve matters most: it is drawn last, over the others.
        for place in reversed(range(len(curves))):
            self._dots(place, curves[place].values)
        for place, curve in enumerate(curves):
            self._letters(place, len(curves), curve.values)
        text = Text(f"{'':{MARGIN}}{title}\n", no_wrap=True)
        for row in range(self.rows):
            text.append(self._number(row) + ("|" if self.ascii_only else "┤" if self._number(row).strip() else "│"))
            line = Text()
            for column in range(self.columns):
                line.append(*self._cell(row, column, curves))
            line.rstrip()
            text.append_text(line).append("\n")
        text.append(self._load_axis() + "\n")
        return text.append_text(_legend(curves, MARGIN + 1 + self.columns))

    def _row(self, value: float) -> float:
        """Height of a value in rows, fractional, from the top."""
        return (self.high - value) / (self.high - self.low) * (self.rows - 1) + 0.5

    def _dots(self, place: int, values: NDArray[np.float64]) -> None:
        xs = (np.arange(2 * self.columns) + 0.5) / (2 * self.columns) * (len(values) - 1)
        ys = np.interp(xs, np.arange(len(values)), values)
        before: int | None = None
        for x, y in enumerate(ys.tolist()):
            if not np.isfinite(y):
                before = None
                continue
            dot = int(self._row(y) * 4)
            # A steep curve stays connected: all dots from the last height to this one.
            for step in range(min(dot, dot if before is None else before), max(dot, before or dot) + 1):
                row, part = divmod(step, 4)
                if 0 <= row < self.rows:
                    self.bits[row, x // 2] |= DOTS[part][x % 2]
                    self.owner[row, x // 2] = place
            before = dot

    def _letters(self, place: int, count: int, values: NDArray[np.float64]) -> None:
        """The curve's letter about four times, moved on where another curve's letter stands."""
        gap = self.columns // 4
        for start in range(place * gap // max(1, count) + 1, self.columns, gap):
            for column in range(start, min(start + gap, self.columns)):
                y = np.interp((column + 0.5) / self.columns * (len(values) - 1), np.arange(len(values)), values)
                if not np.isfinite(y):
                    continue
                row = int(self._row(float(y)))
                if 0 <= row < self.rows and (row, column) not in self.letters:
                    self.letters[row, column] = place
                    break

    def _cell(self, row: int, column: int, curves: Sequence[Curve]) -> tuple[str, str]:
        if (row, column) in self.letters:
            curve = curves[self.letters[row, column]]
            return curve.letter, f"bold {curve.colour}"
        if self.owner[row, column] < 0:
            zero = row == int(self._row(0.0))
            return (("-" if self.ascii_only else "┄") if zero else " "), "dim"
        dots = "." if self.ascii_only else chr(BLANK + int(self.bits[row, column]))
        return dots, curves[self.owner[row, column]].colour

    def _number(self, row: int) -> str:
        """The number beside a row: where a multiple of the step falls into it."""
        step = next(s for s in STEPS if (self.high - self.low) / s <= self.rows / 2 or s == STEPS[-1])
        for tick in range(int(np.floor(self.low / step)), int(np.ceil(self.high / step)) + 1):
            if int(self._row(tick * step)) == row and 0 <= self._row(tick * step) < self.rows:
                return f"{tick * step:>{MARGIN - 1}.{1 if step < 1 else 0}f} "
        return " " * MARGIN

    def _load_axis(self) -> str:
        line, corner = ("-", "+") if self.ascii_only else ("─", "└")
        numbers = [" "] * (MARGIN + 1 + self.columns)
        for tick in range(TICKS + 1):
            label = f"{tick / TICKS:g}"
            start = MARGIN + 1 + round(tick / TICKS * (self.columns - 1))
            start = min(start, len(numbers) - len(label))
            numbers[start : start + len(label)] = label
        return " " * MARGIN + corner + line * self.columns + "\n" + "".join(numbers).rstrip()


def _limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """From the settled part of the curves (a handful of tasks decides below 0.1); 0 is always in the picture."""
    settled = [curve.values[len(curve.values) // 10 :] for curve in curves]
    values = np.concatenate([*settled, np.zeros(1)])
    values = values[np.isfinite(values)]
    low, high = max(float(values.min()), -10.0), float(values.max())
    return (low, high) if high - low > 0.5 else (low - 0.5, high + 0.5)


def _legend(curves: Sequence[Curve], width: int) -> Text:
    text, used = Text(" " * (MARGIN + 1)), MARGIN + 1
    for curve in curves:
        entry = f"{curve.letter} {curve.name}"[: width - MARGIN - 1]
        if used > MARGIN + 1 and used + len(entry) + 3 > width:
            text.append("\n" + " " * (MARGIN + 1))
            used = MARGIN + 1
        elif used > MARGIN + 1:
            text.append("   ")
            used += 3
        text.append(entry[0], style=f"bold {curve.colour}")
        text.append(entry[1:])
        used += len(entry)
    return text
