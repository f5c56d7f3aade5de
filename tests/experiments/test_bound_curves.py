"""The bound as a curve: between its points, in results, and kept in a folder."""

from pathlib import Path

import numpy as np
import pytest

from builders import make_datacenter, make_node, make_task, make_workload
from wattpack.datasets import alibaba2023
from wattpack.experiments.bound import curves as module
from wattpack.experiments.bound.curves import arrived_by, bound_curves, bound_is_quick, expected_counts, with_bound
from wattpack.experiments.curves import COLUMNS, LEAST, LOADS, Curves, Results, at, read_at_loads
from wattpack.experiments.fill_up import run_seed
from wattpack.optimise.bound.lp import ConfigurationLp
from wattpack.policies.expression import parse

DATACENTER = make_datacenter([make_node(gpus=2), make_node(gpus=4, model="T4"), make_node(gpus=8), make_node(gpus=0)])
TRACE = make_workload(
    [make_task(gpu=0.5, cpu=4), make_task(gpu=0.3, cpu=9), make_task(gpu=1, cpu=8), make_task(gpu=2), make_task(cpu=10)]
)


def results() -> Results:
    read = read_at_loads(run_seed(DATACENTER, TRACE, parse("fgd"), 1))
    curves = Curves("tasks", "fgd", (1,), {name: read[name][None, :] for name in COLUMNS})
    return Results({("tasks", "fgd"): curves})


def test_a_curve_follows_the_bound_at_loads_that_were_not_solved() -> None:
    curves, lp = bound_curves(DATACENTER, TRACE), ConfigurationLp(DATACENTER, TRACE.classes)
    for load in (0.065, 0.33, 0.555, 0.81, 0.945):
        bound = lp.solve(expected_counts(TRACE, DATACENTER.gpu_milli, load))
        assert curves.mean("eopc_w")[at(load)] == pytest.approx(bound.power_w, rel=0.005)
        assert curves.mean("grar")[at(load)] == pytest.approx(bound.grar, abs=0.005)


def test_a_curve_has_all_columns_and_is_nan_outside_the_loads_asked_for() -> None:
    curves = bound_curves(DATACENTER, TRACE, [0.2, 0.6, 0.4])
    assert set(curves.values) == set(COLUMNS)
    known = np.isfinite(curves.mean("eopc_w"))
    assert (LOADS[known][0], LOADS[known][-1], known.sum()) == (0.2, 0.6, at(0.6) - at(0.2) + 1)
    assert np.isnan(curves.mean("fragmentation_milli")).all()


def test_the_demand_at_a_load_is_what_has_arrived_in_the_run() -> None:
    run = run_seed(DATACENTER, TRACE, parse("fgd"), 5)
    arrived = arrived_by(TRACE, DATACENTER.gpu_milli, 0.8, 5)
    assert (arrived.sequence == run.workload.sequence[: len(arrived)]).all()
    assert run.load[len(arrived) - 1] <= 0.8 < run.load[len(arrived)]


def test_expected_counts_ask_for_the_load_and_keep_the_shares() -> None:
    counts = expected_counts(TRACE, DATACENTER.gpu_milli, 0.5)
    request = np.array([task.num_gpu * task.gpu_milli for task in TRACE.classes])
    assert counts @ request == pytest.approx(0.5 * DATACENTER.gpu_milli)
    assert np.ptp(counts / TRACE.counts()) == pytest.approx(0)


def test_results_get_a_bound_for_each_trace_they_have() -> None:
    extended = with_bound(results(), DATACENTER, {"tasks": TRACE, "other": TRACE}, [0.2, 1.0])
    assert list(extended) == [("tasks", "fgd"), ("tasks", "bound")]
    bound = extended["tasks", "bound"]
    assert (bound.trace, bound.policy, bound.seeds) == ("tasks", "bound", (-1,))
    assert bound.saving(extended["tasks", "fgd"])[at(0.2)] > 0


def test_the_bound_is_quick_for_the_traces_of_the_paper_and_not_for_hundreds_of_classes() -> None:
    assert all(bound_is_quick(alibaba2023.trace(name)) for name in alibaba2023.TRACES)
    assert not bound_is_quick(make_workload([make_task(cpu=cpu) for cpu in range(1, 600)]))
    assert not bound_is_quick(make_workload([make_task(gpu=milli / 1000) for milli in range(100, 200)]))


def test_a_bound_that_is_kept_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = with_bound(results(), DATACENTER, {"tasks": TRACE}, [0.2, 1.0], tmp_path)
    (file,) = tmp_path.glob("bound-*.json")
    monkeypatch.setattr(module, "_points", lambda *_: pytest.fail("computed again"))
    second = with_bound(results(), DATACENTER, {"tasks": TRACE}, [0.2, 1.0], tmp_path)
    for column in COLUMNS:
        np.testing.assert_array_equal(first["tasks", "bound"].values[column], second["tasks", "bound"].values[column])
    monkeypatch.undo()
    file.write_text('{"rows": [[0.2')  # not whole: made again
    third = with_bound(results(), DATACENTER, {"tasks": TRACE}, [0.2, 1.0], tmp_path)
    np.testing.assert_array_equal(first["tasks", "bound"].values["eopc_w"], third["tasks", "bound"].values["eopc_w"])


def test_another_demand_is_kept_under_another_name(tmp_path: Path) -> None:
    with_bound(results(), DATACENTER, {"tasks": TRACE}, [0.2], tmp_path)
    with_bound(results(), DATACENTER, {"tasks": TRACE}, [0.3], tmp_path)
    with_bound(results(), DATACENTER.repeated(2), {"tasks": TRACE}, [0.2], tmp_path)
    assert len(list(tmp_path.glob("bound-*.json"))) == 3


def test_the_bound_of_whole_nodes_is_at_least_as_high_and_kept_under_another_name(tmp_path: Path) -> None:
    plain = with_bound(results(), DATACENTER, {"tasks": TRACE}, [0.2, 1.0], tmp_path)["tasks", "fgd"]
    whole = with_bound(results(), DATACENTER, {"tasks": TRACE}, [0.2, 1.0], tmp_path, whole_nodes=True)["tasks", "fgd"]
    assert len(list(tmp_path.glob("bound-*.json"))) == 2
    for load in (0.2, 1.0):
        least_w, higher_w = plain.mean(LEAST)[at(load)], whole.mean(LEAST)[at(load)]
        assert least_w * (1 - 1e-6) <= higher_w <= whole.mean("eopc_w")[at(load)]
