"""The runs of the paper: `paper.toml` beside this file."""

from __future__ import annotations

from importlib.resources import as_file, files

from wattpack.experiments.spec import load_experiment
from wattpack.experiments.spec.axes import Experiment


def load_paper() -> Experiment:
    """The experiments of the paper."""
    with as_file(files("wattpack.paper") / "paper.toml") as path:
        return load_experiment(path)
