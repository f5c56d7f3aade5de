"""Experiment files: what they say is what is run, and everything that is wrong with one is told at once."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from experiments.small import SMALL_SPEC, write_spec
from wattpack.datasets.alibaba2023 import TRACES
from wattpack.engine.windows.batch import Batch
from wattpack.errors import UserError
from wattpack.experiments.options import Moving
from wattpack.experiments.scenario import Scenario
from wattpack.experiments.spec import Experiment, load_experiment, resolve
from wattpack.paper.experiment import load_paper


def resolved(file: Path) -> list[tuple[object, ...]]:
    _, scenarios = resolve(load_experiment(file))
    return [(s.seed, s.datacenter, s.profile, s.up_to, s.trace, s.policy) for s in scenarios]


def problems(folder: Path, text: str, name: str = "experiment.toml") -> str:
    file = write_spec(folder, text, name)
    with pytest.raises(UserError) as caught:
        load_experiment(file)
    told = str(caught.value)
    assert told.startswith(f"{file}: ")
    assert "\n" not in told
    return told


def test_only_a_policy_is_needed(tmp_path: Path) -> None:
    file = write_spec(tmp_path, 'policy = "fgd"')
    assert resolved(file) == [(seed, "alibaba2023", "paper", 1.3, "default", "fgd") for seed in range(42, 52)]


def test_every_list_is_an_axis_and_seeds_are_outermost(tmp_path: Path) -> None:
    file = write_spec(
        tmp_path,
        """
        datacenter = ["nodes.csv", "alibaba2023"]
        trace = "tasks.csv"
        policy = ["fgd", "PWR:.1 + FGD:.9"]
        seeds = [7, 3]
        profile = ["paper", "concave"]
        up_to = [0.5, 1]
        """,
    )
    found = resolved(file)
    assert len(found) == 2 * 1 * 2 * 2 * 2 * 2 == len(set(found))
    assert found[0] == (7, "nodes.csv", "paper", 0.5, "tasks.csv", "fgd")
    assert found[1] == (7, "nodes.csv", "paper", 0.5, "tasks.csv", "pwr:0.1+fgd:0.9")
    assert [seed for seed, *_ in found] == [7] * 16 + [3] * 16


def test_blocks_share_what_stands_above_them_and_no_run_is_there_twice(tmp_path: Path) -> None:
    file = write_spec(
        tmp_path,
        """
        datacenter = "nodes.csv"
        trace = "tasks.csv"
        seeds = 2
        [[experiment]]
        policy = ["fgd", "pwr"]
        [[experiment]]
        policy = ["pwr", "random"]
        seeds = 3
        """,
    )
    assert [(seed, policy) for seed, *_, policy in resolved(file)] == [
        *((42, policy) for policy in ("fgd", "pwr", "random")),
        *((43, policy) for policy in ("fgd", "pwr", "random")),
        *((44, policy) for policy in ("pwr", "random")),
    ]


def test_json_says_the_same_as_toml(tmp_path: Path) -> None:
    toml = write_spec(tmp_path, SMALL_SPEC)
    said = {
        "datacenter": "nodes.csv",
        "trace": ["tasks.csv"],
        "policy": ["fgd", "pwr:0.1+fgd:0.9", "bestfit"],
        "seeds": 2,
    }
    assert resolved(toml) == resolved(write_spec(tmp_path, json.dumps(said), "experiment.json"))


def test_files_are_looked_for_beside_the_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside, elsewhere = tmp_path / "beside", tmp_path / "elsewhere"
    beside.mkdir()
    elsewhere.mkdir()
    write_spec(beside, SMALL_SPEC)
    monkeypatch.chdir(elsewhere)
    experiment = load_experiment("../beside/experiment.toml")
    assert list(experiment.inputs.traces) == ["tasks.csv"]  # by the name in the file: the same on every machine
    assert len(experiment.inputs.datacenters["nodes.csv"]) == 2


def test_all_problems_are_told_at_once_with_their_places(tmp_path: Path) -> None:
    told = problems(
        tmp_path,
        """
        name = 3
        polices = ["fgd"]
        datacenter = []
        trace = ["default", "defualt", "default", "none.csv"]
        policy = ["fgd", "fdg", "FGD", 3, "pwr:0+fgd:1"]
        seeds = [1, 1, -1, true, 0.5]
        profile = "cubic"
        up_to = [0.5, 2, "all"]
        batch = [1, 0, 2.5]
        batch_milp_seconds = -1
        batch_seconds = [0, "long"]
        steady = [0, 0.5, 11]
        defrag_every = -1
        defrag_moves = 0
        defrag_pause_seconds = nan
        """,
    )
    for expected in (
        "name: 3, expected a text",
        "polices: unknown key, expected name, against, experiment, datacenter, trace, policy, seeds, profile, power, ",
        "datacenter: an empty list",
        "trace[2]: ",
        "defualt': no trace of this name and no such file; known: default,",
        "trace[3]: 'default' again",
        "trace[4]: ",
        "policy[2]: policy expression 'fdg': unknown policy 'fdg'; known policies: fgd,",
        "policy[3]: 'FGD' is 'fgd' again",
        "policy[4]: 3, expected a policy expression",
        "policy[5]: policy expression 'pwr:0+fgd:1': weight '0'",
        "seeds[2]: 1 again",
        "seeds[3]: -1, expected 0 to",
        "seeds[4]: True, expected a seed",
        "seeds[5]: 0.5, expected a seed",
        "profile: unknown profile 'cubic', expected paper, linear, concave",
        "up_to[2]: 2, expected a load above 0 and at most 1.3",
        "up_to[3]: 'all', expected a load",
        "batch[2]: 0, expected 1 (no windows) to 256 tasks",
        "batch[3]: 2.5, expected a number of tasks",
        "batch_milp_seconds: -1, expected 0 (without the MILP) to 3600 seconds",
        "batch_seconds[1]: 0, expected above 0",
        "batch_seconds[2]: 'long', expected seconds",
        "steady[1]: 0, expected an offered load above 0 and at most 10",
        "steady[3]: 11, expected an offered load",
        "defrag_every: -1, expected 0 (no moves)",
        "defrag_moves: 0, expected 1 to",
        "defrag_pause_seconds: nan, expected 0 to",
    ):
        assert expected in told
    assert told.count("known policies:") == 1  # the list of names is told once


def test_a_place_in_a_block_says_which(tmp_path: Path) -> None:
    told = problems(
        tmp_path,
        """
        seeds = 0
        [[experiment]]
        policy = "fgd"
        [[experiment]]
        policy = ["fgd", "nope"]
        speed = 3
        """,
    )
    assert "seeds: 0, expected a count from 1 to 10000" in told
    assert "experiment[2].policy[2]: " in told
    assert "experiment[2].speed: unknown key" in told
    assert "experiment[1]" not in told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seeds = 2", "policy: missing"),
        ("policy = []", "policy: an empty list"),
        ("policy = 'fgd'\nseeds = true", "seeds: True, expected a count"),
        ("policy = 'fgd'\nseeds = 10001", "seeds: 10001, expected a count"),
        ("policy = 'fgd'\nup_to = nan", "up_to: nan, expected a load"),
        ("policy = 'fgd'\nup_to = 0", "up_to: 0, expected a load above 0"),
        ("policy = 'fgd'\ntrace = ''", "trace: '': no trace of this name"),
        ("policy = 'fgd'\ntrace = {a = 1}", "trace: {'a': 1}, expected a name"),
        ("policy = 'fgd'\nexperiment = 3", "experiment: expected one or more blocks"),
        ("policy = 'fgd'\nexperiment = []", "experiment: expected one or more blocks"),
        ("policy = 'fgd'\npolicy = 'pwr'", "expected TOML"),
        ("policy = ", "expected TOML"),
        ("policy = 'fgd'\nbatch_milp_seconds = 1", "batch_milp_seconds: without batch, expected that too"),
        ("policy = 'fgd'\nbatch = 4\nbatch_seconds = 1", "batch_seconds: a fill-up has no time, expected steady"),
        ("policy = 'fgd'\ndefrag_every = 9", "defrag_every: without steady, expected that too"),
        ("policy = 'fgd'\nsteady = 0.5\ndefrag_moves = 9", "defrag_moves: without defrag_every, expected that too"),
        ("policy = 'fgd'\nsteady = []", "steady: an empty list, expected an offered load"),
    ],
)
def test_a_fault_is_one_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in problems(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"policy": "fgd", "policy": "pwr"}', "key 'policy' appears twice"),
        ('["fgd"]', "a list, expected a table"),
        ('{"policy": ', "expected JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_fault_of_json_is_one_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in problems(tmp_path, text, "experiment.json")


def test_more_runs_than_anyone_means_are_refused_before_they_are_made(tmp_path: Path) -> None:
    weights = [f'"pwr:{weight / 1000}+fgd:1"' for weight in range(1, 102)]
    told = problems(tmp_path, f"policy = [{', '.join(weights)}]\nseeds = 10000")
    assert "1,010,000 runs, expected at most 1,000,000" in told


def test_a_broken_file_beside_the_experiment_is_told_with_its_line_and_once(tmp_path: Path) -> None:
    (tmp_path / "broken.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,G9\n")
    (tmp_path / "empty.csv").write_text("")
    told = problems(
        tmp_path, 'policy = "fgd"\n' + '[[experiment]]\ndatacenter = "broken.csv"\ntrace = "empty.csv"\n' * 2
    )
    assert "experiment[1].datacenter: " in told
    assert "broken.csv, line 2, column model: unknown GPU model 'G9'" in told
    assert told.count("broken.csv") == 1
    assert "experiment[1].trace: 'empty.csv' has no tasks" in told


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("none.toml", None, "cannot be read"),
        ("experiment.yaml", b"policy: fgd", "expected a file that ends in .toml or .json"),
        ("experiment.toml", b"policy = '\xff'", "not UTF-8 text"),
        ("large.toml", b"#" * 10_000_001, "expected an experiment of at most"),
    ],
)
def test_something_that_is_no_experiment(tmp_path: Path, name: str, content: bytes | None, expected: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=expected):
        load_experiment(tmp_path / name)


def test_the_paper_is_13_traces_with_10_policies_and_9_more_weights_on_default() -> None:
    inputs, scenarios = resolve(load_paper())
    assert tuple(inputs.traces) == TRACES
    assert len(scenarios) == (13 * 10 + 9) * 10
    weights = {s.policy for s in scenarios if s.trace == "default" and s.policy.startswith("pwr:")}
    assert weights == {f"pwr:{a}+fgd:{b}" for a, b in (
        ("0.01", "0.99"), ("0.02", "0.98"), ("0.05", "0.95"), ("0.1", "0.9"), ("0.2", "0.8"), ("0.3", "0.7"),
        ("0.4", "0.6"), ("0.5", "0.5"), ("0.6", "0.4"), ("0.7", "0.3"), ("0.8", "0.2"), ("0.9", "0.1"),
    )}  # fmt: skip
    assert {s.seed for s in resolve(load_paper().with_seeds(2))[1]} == {42, 43}
    assert (files("wattpack.paper") / "paper.toml").is_file()


def test_the_axes_that_a_folder_keeps_are_an_experiment_again(tmp_path: Path) -> None:
    file = write_spec(tmp_path, SMALL_SPEC)
    kept = {"experiment": [block.axes() for block in load_experiment(file).blocks]}
    assert resolved(write_spec(tmp_path, json.dumps(kept), "again.json")) == resolved(file)


def steady_states(experiment: Experiment) -> list[Scenario]:
    return [scenario for scenario in resolve(experiment)[1] if scenario.kind == "steady"]


STEADY_SPEC = """
datacenter = "nodes.csv"
trace = "tasks.csv"
policy = "fgd"
seeds = 1
up_to = [0.5, 1.0]
batch = [1, 4]
batch_seconds = [30, inf]
steady = [0.5, 0.8]
defrag_every = [0, 100]
defrag_moves = 10
defrag_pause_seconds = [0, 60]
"""


def test_steady_states_are_axes_too_and_each_is_there_once(tmp_path: Path) -> None:
    """Without windows there is no hold, without moves no pause, and a steady state does not end at a load."""
    experiment = load_experiment(write_spec(tmp_path, STEADY_SPEC))
    assert sum(scenario.kind == "fill-up" for scenario in resolve(experiment)[1]) == 4
    found = steady_states(experiment)
    # loads x (as it is, moving, moving with pauses) x (no windows, windows held for 30 s, windows)
    assert len(found) == 2 * 3 * 3 == len(set(found))
    held = [(s.batch, s.moving) for s in found if s.batch and s.batch.tasks == 4 and s.steady and s.steady.load == 0.8]
    assert held[:3] == [
        (Batch(4, 30.0), None),
        (Batch(4, 30.0), Moving(100, 10)),
        (Batch(4, 30.0), Moving(100, 10, 60.0)),
    ]
    assert {scenario.up_to for scenario in found} == {1.3}
    assert len(experiment.blocks[0]) == len(resolve(experiment)[1])
    assert steady_states(load_experiment(write_spec(tmp_path, SMALL_SPEC))) == []


def test_the_axes_of_a_steady_state_are_an_experiment_again(tmp_path: Path) -> None:
    experiment = load_experiment(write_spec(tmp_path, STEADY_SPEC))
    kept = {"experiment": [block.axes() for block in experiment.blocks]}
    again = load_experiment(write_spec(tmp_path, json.dumps(kept), "again.json"))
    assert steady_states(again) == steady_states(experiment)


def test_the_milp_is_an_axis_of_windows_only(tmp_path: Path) -> None:
    file = write_spec(tmp_path, SMALL_SPEC + "batch = [1, 4]\nbatch_milp_seconds = [0, 60]\n")
    labels = {scenario.label for scenario in resolve(load_experiment(file))[1] if scenario.policy == "fgd"}
    assert labels == {"fgd", "fgd batch 4", "fgd batch 4 milp 60 s"}


def test_windows_and_moves_may_stand_in_tables_of_their_own(tmp_path: Path) -> None:
    start, flat = STEADY_SPEC.split("batch = ")
    tables = "[batch]\ntasks = [1, 4]\nseconds = [30, inf]\n"
    tables += "[defrag]\nevery = [0, 100]\nmoves = 10\npause_seconds = [0, 60]\n"
    nested = load_experiment(write_spec(tmp_path, start + "steady = [0.5, 0.8]\n" + tables, "nested.toml"))
    assert "steady = [0.5, 0.8]" in flat
    assert resolve(nested)[1] == resolve(load_experiment(write_spec(tmp_path, STEADY_SPEC)))[1]


def test_a_problem_in_such_a_table_is_told_as_it_was_written(tmp_path: Path) -> None:
    told = problems(tmp_path, 'policy = "fgd"\nbatch_seconds = 9\n[batch]\ntasks = 0\nseconds = 9\nspeed = 3\n')
    assert "batch.tasks: 0, expected 1 (no windows) to 256 tasks" in told
    assert "batch.seconds: batch_seconds is there too, expected one of them" in told
    assert "batch.speed: unknown key, expected name" in told


def test_options_that_multiply_are_counted_before_they_are_made(tmp_path: Path) -> None:
    many = ", ".join(str(number + 1) for number in range(10_000))
    text = f'policy = "fgd"\nsteady = 0.5\ndefrag_every = [{many}]\ndefrag_moves = [{many}]\n'
    assert "defrag_every: 100,000,000 combinations of defrag_every, defrag_moves" in problems(tmp_path, text)
