"""How fast GPU models are beside each other: the built-in table `typical`, or a CSV file `model,speed`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.csv_files import read_rows
from wattpack.errors import UserError
from wattpack.model.gpu_names import model_of
from wattpack.model.nodes import Datacenter
from wattpack.model.speed import speed_of

TYPICAL = "typical"  # model/speed.py
COLUMNS = ("model", "speed")
MAX_SPEED = 1000.0  # in A100-SXM4-80GB; a table of another unit is off by a factor that the reference takes out

SpeedTable = dict[str, float]


def load_speeds(source: str | Path) -> SpeedTable:
    """Speeds by model. `typical` has no entries of its own: each model is looked up."""
    if str(source) == TYPICAL:
        return {}
    file = Path(source)
    if str(source) == "" or not file.exists():
        raise UserError(f"speed {str(source)!r}: no such file, expected {TYPICAL} or a CSV file with model,speed")
    found: SpeedTable = {}
    for row in read_rows(file, COLUMNS, ()):
        model, text = row.text("model"), row.text("speed")
        try:
            speed = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            speed = math.nan
        if not 0 < speed <= MAX_SPEED:
            raise row.fault("speed", f"a number above 0, up to {MAX_SPEED:g}")
        if model == "" or model in found:
            raise row.fault("model", "a GPU model, each once")
        found[model] = speed
    if not found:
        raise UserError(f"{file}: no speeds, expected a header (model,speed) and a line for each GPU model")
    return found


def speeds_by_model(table: SpeedTable, models: Sequence[str], name: str) -> NDArray[np.float64]:
    """Of a datacenter's models; 1 for nodes without GPU, which run tasks at any speed alike.

    A model without a speed is an error that names it and shows the lines of a file that would do.
    """
    found, unknown = np.ones(len(models)), []
    for place, model in enumerate(models):
        if model == "":
            continue
        if table:
            own = table.get(model) or table.get(model_of(model, list(table)) or "")
        else:
            known = speed_of(model)
            own = None if known is None else known.relative
        if own is None:
            unknown.append(model)
        else:
            found[place] = own
    if unknown:
        lines = "; ".join(f"{model},1.0" for model in unknown)
        raise UserError(
            f"speed {name!r}: no speed of {', '.join(unknown)}, expected a CSV file with the header model,speed and "
            f"lines like: {lines}"
        )
    return found


def mean_speed(datacenter: Datacenter, by_model: NDArray[np.float64]) -> float:
    """Over the datacenter's GPUs."""
    gpus = float(datacenter.gpus.sum())
    return float((by_model[datacenter.model] * datacenter.gpus).sum() / gpus) if gpus else 1.0
