"""Where placement can save little, `compare` and `tune` say so, and what helps instead."""

from __future__ import annotations

import numpy as np
import pytest

from wattpack.experiments.bound.headroom import little_to_save, little_to_save_on, most_saving
from wattpack.experiments.curves import LOADS, Curves, Results
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER
from wattpack.model.tasks import TaskClass, Workload


def curves(policy: str, watts: float, served: float = 1.0) -> Curves:
    """Constant watts per GPU served; `served` of what is requested."""
    values = {"eopc_w": (watts * served * LOADS)[None, :], "grar": np.full((1, len(LOADS)), served)}
    return Curves("default", policy, (42,), values)


def fleet(*models: str) -> Datacenter:
    count = len(models)
    return Datacenter.of([f"n{i}" for i in range(count)], [64000] * count, [262144] * count, [4] * count, list(models))


def results(fgd: float, bound: float, served: float = 1.0):
    return Results({("default", "fgd"): curves("fgd", fgd), ("default", "bound"): curves("bound", bound, served)})


def test_the_most_that_placement_saves_is_per_gpu_served():
    assert most_saving(results(200, 180), "default") == pytest.approx(0.1)
    assert most_saving(results(200, 180, served=0.9), "default") == pytest.approx(0.1)


def test_where_placement_can_save_little_a_sentence_says_what_helps():
    told = little_to_save(results(200, 198), "default", fleet("T4", "T4"))
    assert told == (
        "default: no placement saves more than 1.0 % of FGD's watts per GPU served here (the bound, mean over loads "
        "0.2 to 0.9): all GPUs are of one model. What helps instead: nodes that sleep, power caps, moving work in time "
        "(`wattpack simulate --advise`)"
    )
    assert "one model" not in little_to_save(results(200, 198), "default", fleet("T4", "G3"))


def test_where_placement_can_save_more_or_there_is_no_bound_nothing_is_said():
    assert little_to_save(results(200, 180), "default", fleet("T4")) == ""
    assert little_to_save(Results({("default", "fgd"): curves("fgd", 200)}), "default", fleet("T4")) == ""


def test_one_model_with_plenty_of_vcpu_has_little_to_save():
    trace = Workload.from_counts([(TaskClass(8000, 8192, 1, 1000), 30), (TaskClass(16000, 8192, 2, 1000), 10)])
    told = little_to_save_on(fleet(*["A100"] * 60), trace, "made", PAPER)
    assert told.startswith("made: no placement saves more than ")
    assert np.all(["sleep" in told, "caps" in told, "time" in told])
