"""What to run: experiment files and Python arguments, read and checked, as blocks of axes that give scenarios."""

from __future__ import annotations

from wattpack.experiments.spec.axes import DEFAULT_SEEDS, Block, Experiment, first_seeds, resolve
from wattpack.experiments.spec.reader import AXES, load_experiment

__all__ = ["AXES", "DEFAULT_SEEDS", "Block", "Experiment", "first_seeds", "load_experiment", "resolve"]
