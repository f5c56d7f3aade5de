"""`wattpack.simulate` with batch windows: the same as the command line's, and refusals of what makes no sense."""

import re
from typing import Any

import numpy as np
import pytest

import wattpack as wp
from builders import make_datacenter, make_workload
from experiments.small import NODES, TASKS, small_experiment
from wattpack.experiments.axes import resolve
from wattpack.experiments.scenario import run_scenario


def small() -> tuple[wp.Datacenter, wp.Workload]:
    return make_datacenter(NODES), make_workload(TASKS * 3)


def test_windows_of_a_seed_are_those_of_compare() -> None:
    inputs, scenarios = resolve(small_experiment(("pwr",), seeds=1, batches=(3,), milp_seconds=(60.0,)))
    (scenario,) = scenarios
    ours = wp.simulate(
        inputs.datacenters["small"], inputs.traces["tasks"], "pwr", seed=scenario.seed, batch=3, batch_milp_seconds=60
    )
    np.testing.assert_array_equal(ours.series, run_scenario(scenario, inputs).series)


def test_with_times_a_run_says_how_long_each_task_was_held() -> None:
    datacenter, workload = small()
    run = wp.simulate(datacenter, workload, "fgd", batch=4, batch_seconds=5, arrival_s=np.arange(12) * 2.0)
    assert run.wait_s is not None
    assert run.wait_s.tolist() == [5, 3, 1] * 4  # three come within 5 s
    assert run.order is not None
    assert sorted(run.order.tolist()) == list(range(12))


def test_without_windows_the_run_is_the_usual_one() -> None:
    datacenter, workload = small()
    usual = wp.simulate(datacenter, workload, "fgd")
    assert usual.order is None
    np.testing.assert_array_equal(usual.series, wp.simulate(datacenter, workload, "fgd", batch=1).series)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"batch": 4, "batch_seconds": 5}, "expected the times of arrival too"),
        ({"batch": 4, "batch_seconds": 5, "arrival_s": [1, 2]}, "arrival_s of shape (2,), expected one time for each"),
        ({"batch": 4, "batch_seconds": 5, "arrival_s": range(12, 0, -1)}, "arrival_s is not ascending seconds"),
        ({"batch": 4, "batch_seconds": 5, "seed": 1}, "the tasks of a seed have none, expected one of them"),
        ({"batch": 4, "target": "learnt"}, "with windows of 4 tasks, expected one of them"),
        ({"batch_milp_seconds": 4}, "without windows, expected a batch of 2 tasks or more too"),
    ],
)
def test_what_makes_no_sense_is_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(wp.UserError, match=re.escape(said)):
        wp.simulate(*small(), "fgd", **words)
