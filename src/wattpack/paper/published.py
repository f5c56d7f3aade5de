"""Our curves against results that others have published: allocation and fragmentation by load, several seeds a policy.

The files are those of the FGD authors' runs: `allocation_percent.csv` and `fragmentation_percent.csv`, one row per
trace, policy and seed, with a column for each load in percent of the datacenter's GPUs; both in percent of these.

Two sets of seeds never have equal means. They agree if their difference is within 3 standard errors (of a difference of
two means, the variance pooled over both sets: they are draws of the same experiment) and a tenth of a point for the
reading of the loads. The authors' machine was busy, and their scheduler then sometimes overfills a GPU; their means are
hardly touched by it. Differences outside of it are reported as they are.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.experiments.curves import Curves, Results, at
from wattpack.files import note_input, write_text
from wattpack.model.power import GPU_MILLI

Array = NDArray[np.float64]
Key = tuple[str, str]  # trace, policy

MEASURES = ("allocation_percent", "fragmentation_percent")
SHOWN_LOADS = (50, 80, 90, 95, 100, 110, 120, 130)  # percent
ALL_LOADS = range(5, 131)  # below, a handful of tasks decide
STANDARD_ERRORS = 3.0
READING_POINTS = 0.1

AGREES, DISAGREES = "within the seeds' spread", "outside the seeds' spread"


@dataclass(frozen=True)
class Difference:
    """One row of `published.csv`; amounts in points of percent of the datacenter's GPUs."""

    trace: str
    policy: str
    measure: str
    loads: str  # one load in percent, or `5-130`: the largest difference on all of these
    load_percent: int
    ours: float
    published: float
    difference: float
    ours_std: float
    published_std: float
    allowed: float
    verdict: str


COLUMNS = tuple(field.name for field in fields(Difference))


def read_published(folder: Path) -> dict[str, dict[Key, Array]]:
    """By measure and (trace, policy): float64[seeds, loads] at 0, 1, ..., 130 percent."""
    return {measure: _read_file(folder / f"{measure}.csv") for measure in MEASURES}


def _read_file(file: Path) -> dict[Key, Array]:
    try:
        with file.open(newline="", encoding="utf-8-sig") as text:
            note_input(file)
            rows = list(csv.DictReader(text))
    except OSError as fault:
        raise UserError(f"{file}: cannot be read ({fault.strerror}), expected published results") from None
    except UnicodeDecodeError:
        raise UserError(f"{file}: not UTF-8 text, expected published results") from None
    columns = ["trace", "policy", *map(str, range(ALL_LOADS.stop))]
    missing = [column for column in columns if not rows or rows[0].get(column) is None]
    if missing:
        raise UserError(f"{file}: no column {missing[0]!r} or no rows, expected trace, policy, seed, 0, 1, ..., 130")
    found: dict[Key, list[list[float]]] = {}
    for line, row in enumerate(rows, 2):
        values = []
        for column in columns[2:]:
            value = _number(row[column])
            if value is None:
                raise UserError(f"{file}, line {line}, column {column}: {row[column]!r}, expected a number")
            values.append(value)
        found.setdefault((row["trace"].lower(), row["policy"].lower()), []).append(values)
    for (trace, policy), runs in found.items():
        if len(runs) < 2:
            raise UserError(f"{file}: {trace}, {policy} has one seed, expected at least two to know their spread")
    return {key: np.array(runs) for key, runs in found.items()}


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def compare_published(
    results: Results, published: dict[str, dict[Key, Array]], datacenter_gpus: int
) -> list[Difference]:
    """The differences on every (trace, policy) that both have: at the shown loads, and the largest on all."""
    rows = []
    for measure, by_key in published.items():
        for key, theirs in by_key.items():
            if key in results:
                ours = _at_percents(results[key], measure, datacenter_gpus)
                rows += _differences(key, measure, ours, theirs)
    return rows


def _at_percents(curves: Curves, measure: str, datacenter_gpus: int) -> Array:
    """float64[seeds, 131], in percent of the datacenter's GPUs."""
    places = [at(percent / 100) for percent in range(ALL_LOADS.stop)]
    if measure == "allocation_percent":
        return curves.values["allocated"][:, places] * 100
    return curves.values["fragmentation_milli"][:, places] * 100 / (datacenter_gpus * GPU_MILLI)


def _differences(key: Key, measure: str, ours: Array, theirs: Array) -> list[Difference]:
    difference = ours.mean(axis=0) - theirs.mean(axis=0)
    allowed = STANDARD_ERRORS * standard_error(ours, theirs) + READING_POINTS
    over = np.abs(difference) - allowed

    def row(loads: str, load: int) -> Difference:
        return Difference(
            *key,
            measure,
            loads,
            load,
            float(ours[:, load].mean()),
            float(theirs[:, load].mean()),
            float(difference[load]),
            _deviation(ours[:, load]),
            _deviation(theirs[:, load]),
            float(allowed[load]),
            AGREES if over[load] <= 0 else DISAGREES,
        )

    inside = np.array(ALL_LOADS)
    # The largest difference; if there is one that is too large, the one that is so by most.
    worst = inside[np.argmax(over[inside] if (over[inside] > 0).any() else np.abs(difference[inside]))]
    whole = f"{ALL_LOADS.start}-{ALL_LOADS.stop - 1}"
    return [row(str(load), load) for load in SHOWN_LOADS] + [row(whole, int(worst))]


def standard_error(ours: Array, theirs: Array) -> Array:
    """Of the difference of the means over the seeds, at each load. One of the two may have one seed only."""
    n, m = len(ours), len(theirs)
    squares = ((ours - ours.mean(axis=0)) ** 2).sum(axis=0) + ((theirs - theirs.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(squares / (n + m - 2) * (1 / n + 1 / m)))


def _deviation(values: Array) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def whole_range(differences: Sequence[Difference]) -> list[Difference]:
    """Only the rows that speak of all loads: one per trace, policy and measure."""
    return [row for row in differences if "-" in row.loads]


def write_published(path: Path, differences: Sequence[Difference]) -> None:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for difference in differences:
        values = [getattr(difference, column) for column in COLUMNS]
        writer.writerow([f"{value:.4f}" if isinstance(value, float) else value for value in values])
    write_text(path, file.getvalue())
