"""Scenarios: the id is of what decides the outcome, and what runs of a seed share changes no result."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.small import SMALL_SPEC, small_experiment, small_inputs, write_plugin, write_spec
from wattpack.engine.windows.batch import Batch
from wattpack.experiments.fill_up import run_fill_up, run_seed
from wattpack.experiments.options import Moving, Offered
from wattpack.experiments.plugins import import_file
from wattpack.experiments.recent import Recent
from wattpack.experiments.scenario import labels, new_scenario
from wattpack.experiments.spec import load_experiment
from wattpack.experiments.spec.axes import resolve
from wattpack.policies.expression import parse


def test_names_are_not_part_of_the_id_and_everything_else_is() -> None:
    scenario = new_scenario(small_inputs(), "small", "tasks", "fgd", 42)
    assert replace(scenario, trace="another", datacenter="name").id == scenario.id
    changes = [{"policy": "pwr"}, {"seed": 43}, {"profile": "linear"}, {"up_to": 1.0}, {"trace_digest": "0"},
               {"datacenter_digest": "0"}, {"policy_digest": "0"}, {"batch": Batch(4)},
               {"batch": Batch(4, milp_seconds=1.0)}, {"steady": Offered(0.5)}, {"steady": Offered(0.8)},
               {"steady": Offered(0.5, 400)}, {"steady": Offered(0.5), "batch": Batch(4)},
               {"steady": Offered(0.5), "batch": Batch(4, 30.0)}, {"steady": Offered(0.5), "moving": Moving(9, 9)},
               {"steady": Offered(0.5), "moving": Moving(9, 9, 1.0)}]  # fmt: skip
    ids = {replace(scenario, **change).id for change in changes}  # type: ignore[arg-type]
    assert len(ids | {scenario.id}) == len(changes) + 1


def test_the_ids_of_fill_ups_are_those_of_earlier_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Computed before scenarios had kinds: with the same code, finished runs are found again."""
    monkeypatch.setattr("wattpack.experiments.scenario.code_digest", lambda kind: "0123456789abcdef")
    plain = new_scenario(small_inputs(), "small", "tasks", "fgd", 42)
    windows = Batch(16, milp_seconds=10.0)
    held = new_scenario(small_inputs(), "small", "tasks", "pwr:0.1+fgd:0.9", 43, "linear", 0.9, windows)
    assert (plain.id, held.id) == ("cc94bb0f66c70b63", "f0d088c096ee7875")


def test_a_changed_file_is_a_new_scenario(tmp_path: Path) -> None:
    file = write_spec(tmp_path, SMALL_SPEC)
    before = {scenario.id for scenario in resolve(load_experiment(file))[1]}
    tasks = tmp_path / "tasks.csv"
    tasks.write_text(tasks.read_text() + "one-more,1000,0,0,0\n")
    after = {scenario.id for scenario in resolve(load_experiment(file))[1]}
    assert len(before) == len(after) == 6
    assert before.isdisjoint(after)


def test_a_changed_policy_of_the_users_own_is_a_new_scenario(tmp_path: Path) -> None:
    ids = []
    for text in ("", "\nCONSTANT = 3\n"):
        plugin = write_plugin(tmp_path)
        plugin.write_text(plugin.read_text() + text)
        import_file(plugin)
        ids.append(new_scenario(small_inputs(), "small", "tasks", "own", 42).id)
    assert ids[0] != ids[1]
    other = write_plugin(tmp_path / ".." / tmp_path.name)  # the same text again
    import_file(other)
    assert new_scenario(small_inputs(), "small", "tasks", "own", 42).id == ids[0]


def test_runs_of_a_seed_share_workload_and_order_and_give_what_they_give_alone() -> None:
    experiment = small_experiment(("fgd", "random", "pwr"), seeds=3)
    inputs, scenarios = resolve(experiment)
    for scenario in [*scenarios, *reversed(scenarios)]:
        shared = run_fill_up(scenario, inputs)
        trace, datacenter = inputs.traces["tasks"], inputs.datacenters["small"]
        alone = run_seed(datacenter, trace, parse(scenario.policy), scenario.seed)
        np.testing.assert_array_equal(shared.series, alone.series)
        assert [shared.node_name(i) for i in range(len(shared))] == [alone.node_name(i) for i in range(len(alone))]


def test_recent_keeps_the_latest_few() -> None:
    made: list[int] = []

    def make(key: int) -> int:
        made.append(key)
        return key * 10

    recent = Recent(2)
    assert [recent.get(key, lambda key=key: make(key)) for key in (1, 2, 1, 3, 1, 2)] == [10, 20, 10, 30, 10, 20]
    assert made == [1, 2, 3, 2]  # 3 pushed 2 out: 1 had been used since


def test_a_label_is_the_trace_and_what_else_there_are_several_of() -> None:
    one = resolve(small_experiment(("fgd",), seeds=1))[1]
    assert set(labels(one).values()) == {"tasks"}
    several = resolve(small_experiment(("fgd",), seeds=1, profiles=("paper", "linear"), up_to=(0.9, 1.3)))[1]
    assert list(labels(several).values()) == [
        "tasks (paper, up to 0.9)",
        "tasks (paper, up to 1.3)",
        "tasks (linear, up to 0.9)",
        "tasks (linear, up to 1.3)",
    ]
