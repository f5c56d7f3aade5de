"""`wattpack.simulate`: power profiles, names and objects, batch windows; refusals of what makes no sense."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wattpack as wp
from builders import make_datacenter, make_workload
from experiments.small import NODES, TASKS, small_experiment, write_spec
from wattpack.engine.windows.batch import Batch
from wattpack.experiments.fill_up import run_fill_up
from wattpack.experiments.spec.axes import resolve


def small() -> tuple[wp.Datacenter, wp.Workload]:
    return make_datacenter(NODES), make_workload(TASKS * 3)


def test_windows_of_a_seed_are_those_of_compare() -> None:
    inputs, scenarios = resolve(small_experiment(("pwr",), seeds=1, batches=(Batch(3, milp_seconds=60.0),)))
    (scenario,) = scenarios
    ours = wp.simulate(
        inputs.datacenters["small"], inputs.traces["tasks"], "pwr", seed=scenario.seed, batch=3, batch_milp_seconds=60
    )
    np.testing.assert_array_equal(ours.series, run_fill_up(scenario, inputs).series)


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


@pytest.mark.parametrize("name", wp.PROFILES)
def test_a_power_profile_goes_by_its_name(name: str) -> None:
    by_name = wp.simulate(*small(), "pwr", profile=name)
    np.testing.assert_array_equal(by_name.series, wp.simulate(*small(), "pwr", profile=wp.PROFILES[name]).series)
    seeded = wp.simulate(*small(), "pwr", profile=name, seed=7)
    assert (name == "paper") == np.array_equal(seeded.series, wp.simulate(*small(), "pwr", seed=7).series)


def test_datacenter_and_workload_go_by_name_or_path_too(tmp_path: Path) -> None:
    write_spec(tmp_path, "")
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    by_path = wp.simulate(nodes, str(tasks), "fgd")
    np.testing.assert_array_equal(by_path.node, wp.simulate(wp.load_datacenter(nodes), tasks, "fgd").node)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"datacenter": None},
            "datacenter: None, expected a Datacenter (load_datacenter makes one of columns), a buil",
        ),
        ({"datacenter": "nowhere"}, "'nowhere': no datacenter of this name and no such file"),
        ({"workload": [1]}, "workload: of type list, expected a Workload"),
        ({"policy": None}, "policy: None, expected an expression such as 'fgd' or 'pwr:0.1+fgd:0.9'"),
        ({"policy": ["fgd"]}, "policy: ['fgd'], expected an expression"),
        ({"profile": "nuclear"}, "profile: 'nuclear', expected a PowerProfile or one of paper, linear, concave, meas"),
        ({"profile": 5}, "profile: 5, expected a PowerProfile or one of"),
        ({"seed": -1}, "seed: -1, expected a whole number from 0 to 4294967295"),
        ({"seed": "1"}, "seed: '1', expected a whole number"),
        ({"seed": True}, "seed: True, expected a whole number"),
        ({"seed": 1, "target": make_workload(TASKS)}, "the target of a seed is its trace, expected one of them"),
        ({"target": 5}, "target: of type int, expected a workload or 'learnt'"),
        ({"target": "guess"}, "target 'guess', expected a workload or 'learnt'"),
        ({"batch": 2.5}, "batch: 2.5, expected a whole number"),
        ({"batch": 2, "batch_milp_seconds": "1"}, "batch_milp_seconds: '1', expected a number"),
        ({"batch": 2, "batch_seconds": "1"}, "batch_seconds: '1', expected a number"),
        ({"arrival_s": "soon"}, "arrival_s: 'soon', expected seconds"),
    ],
)
def test_a_wrong_argument_is_one_sentence(words: dict[str, Any], said: str) -> None:
    datacenter, workload = small()
    with pytest.raises(wp.UserError, match=re.escape(said)) as fault:
        wp.simulate(**{"datacenter": datacenter, "workload": workload, "policy": "fgd", **words})
    assert "\n" not in str(fault.value)


def test_an_empty_target_is_not_taken_for_none() -> None:
    """A workload without tasks is false as a truth value; the target is nevertheless the one that was given."""
    datacenter, workload = small()
    run = wp.simulate(datacenter, workload, "fgd", target=wp.Workload.of([]))
    assert run.fragmentation_milli.tolist() == [0.0] * len(workload)


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


def test_without_a_seed_a_built_in_trace_runs_with_the_documented_one() -> None:
    """In the order of its table, tasks of a class after each other, FGD would serve 64 % instead of 95."""
    given = ("alibaba2023", "default", "fgd")
    run = wp.simulate(*given)
    np.testing.assert_array_equal(run.series, wp.simulate(*given, seed=42).series)
    assert run.grar[np.searchsorted(run.load, 1.0)] > 0.95


def test_with_a_target_a_built_in_trace_comes_once_in_the_order_of_the_documented_seed() -> None:
    datacenter, trace = wp.load_datacenter("alibaba2023"), wp.load_trace("default")
    run = wp.simulate(datacenter, trace, "fgd", target=trace)
    of_seed = wp.simulate(datacenter, trace, "fgd", seed=42)
    assert len(run) == len(trace)
    names = [run.node_name(i) for i in range(len(run))]
    assert names == [of_seed.node_name(i) for i in range(len(run))]


def test_tasks_of_a_built_in_trace_over_time_are_drawn_with_the_documented_seed() -> None:
    first, second = (
        wp.simulate("alibaba2023", "default", "fgd", load=0.05, days=0.05, queue="drop", seed=seed)
        for seed in (None, 42)
    )
    np.testing.assert_array_equal(first.tasks.arrival_s, second.tasks.arrival_s)
    np.testing.assert_array_equal(first.power_w, second.power_w)


def test_tasks_of_ones_own_come_in_their_order() -> None:
    datacenter, workload = small()
    run = wp.simulate(datacenter, workload, "fgd")
    assert run.workload.sequence.tolist() == workload.sequence.tolist()
    assert run.datacenter.names == datacenter.names
