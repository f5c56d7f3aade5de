"""Scenarios: the id is of what decides the outcome, and what runs of a seed share changes no result."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.small import SMALL_SPEC, small_experiment, small_inputs, write_plugin, write_spec
from wattpack.experiments.axes import resolve
from wattpack.experiments.plugins import import_file
from wattpack.experiments.scenario import Recent, labels, new_scenario, run_scenario, run_seed
from wattpack.experiments.spec import load_experiment
from wattpack.policies.expression import parse


def test_names_are_not_part_of_the_id_and_everything_else_is() -> None:
    scenario = new_scenario(small_inputs(), "small", "tasks", "fgd", 42)
    assert replace(scenario, trace="another", datacenter="name").id == scenario.id
    changes = [{"policy": "pwr"}, {"seed": 43}, {"profile": "linear"}, {"up_to": 1.0}, {"trace_digest": "0"},
               {"datacenter_digest": "0"}, {"policy_digest": "0"}, {"batch": 4},
               {"batch_milp_seconds": 1.0}]  # fmt: skip
    ids = {replace(scenario, **change).id for change in changes}  # type: ignore[arg-type]
    assert len(ids | {scenario.id}) == len(changes) + 1


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
        shared = run_scenario(scenario, inputs)
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
