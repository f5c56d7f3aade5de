"""Steady states are scenarios like others: stored, found again, run again where a file is damaged, on any executor."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from experiments.small import run_files, small_experiment, write_plugin
from wattpack.engine.moments.steady import Steady
from wattpack.engine.windows.batch import Batch
from wattpack.errors import UserError
from wattpack.experiments.bound.curves import baseline_in
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.options import Moving, Offered, parse_loads
from wattpack.experiments.plugins import import_file
from wattpack.experiments.runner import Outcome, run_experiment, summarise
from wattpack.experiments.scenario import Scenario
from wattpack.experiments.spec.axes import Experiment, resolve
from wattpack.experiments.steady import run_steady_state
from wattpack.experiments.steady_table import SteadyRow, steady_rows


def steady_experiment(*policies: str, **axes: tuple[object, ...]) -> Experiment:
    return small_experiment(policies or ("fgd",), **{"steady": (Offered(0.5, 20),), **axes})  # type: ignore[arg-type]


def run(out: Path, on: str = "threads") -> tuple[dict[Scenario, Steady], Outcome]:
    folder, scenarios, outcome = run_experiment(steady_experiment(), out, on=on, workers=2)
    return folder.read_steady(scenarios), outcome


def test_what_is_read_is_what_the_runs_gave_to_the_last_bit(tmp_path: Path) -> None:
    experiment = steady_experiment("fgd", "pwr", movings=(None, Moving(5, 3, 30.0)))
    folder, scenarios, outcome = run_experiment(experiment, tmp_path)
    assert outcome.done == len(scenarios) == 2 * 2 + 2 * 2 * 2
    found = folder.read_steady(scenarios)
    assert list(found) == [scenario for scenario in scenarios if scenario.kind == "steady"]
    for scenario, steady in found.items():
        assert steady == run_steady_state(scenario, experiment.inputs)
        assert type(steady.arrivals) is int


def test_finished_steady_states_are_not_run_again(tmp_path: Path) -> None:
    first, outcome = run(tmp_path)
    assert (outcome.done, outcome.skipped) == (4, 0)  # two seeds, filled up and in steady state
    again, outcome = run(tmp_path)
    assert (outcome.done, outcome.skipped) == (0, 4)
    assert again == first


def test_processes_give_the_same_bytes_as_threads(tmp_path: Path) -> None:
    run(tmp_path / "threads")
    run(tmp_path / "processes", "processes")
    assert run_files(tmp_path / "threads", "steady") == run_files(tmp_path / "processes", "steady") != {}


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "not Parquet"])
def test_a_damaged_steady_state_is_said_and_run_again(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected, _ = run(tmp_path)
    files = run_files(tmp_path, "steady")
    file = tmp_path / "steady" / next(iter(files))
    data = file.read_bytes()
    middle = len(data) // 2
    file.write_bytes(
        {
            "empty": b"",
            "cut": data[:middle],
            "changed": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "not Parquet": b"[1, 2]",
        }[damage]
    )
    found, outcome = run(tmp_path)
    assert (found, outcome.done) == (expected, 1)
    assert capsys.readouterr().err == f"wattpack: {file}: damaged, run again\n"
    assert run_files(tmp_path, "steady") == files
    run(tmp_path)
    assert capsys.readouterr().err == ""


def test_steady_states_of_an_earlier_version_are_kept_and_run_again_which_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "steady"
    folder.mkdir()
    for name in ("a.json", "b.json"):
        (folder / name).write_text('{"eopc_w": 1.0}')
    _, outcome = run(tmp_path)
    assert outcome.done == 4
    said = capsys.readouterr().err
    assert (
        said == f"wattpack: {folder}: 2 steady states of an earlier version (JSON) are kept but not read, run again\n"
    )
    assert (folder / "a.json").read_text() == '{"eopc_w": 1.0}'
    run(tmp_path)
    assert capsys.readouterr().err == ""


def test_a_folder_with_steady_states_tells_only_its_fill_ups_as_curves(tmp_path: Path) -> None:
    folder, scenarios, _ = run_experiment(steady_experiment(up_to=(0.9,)), tmp_path)
    assert folder.read(scenarios).keys() == ResultsFolder(tmp_path).read_stored().keys() == {("tasks", "fgd")}
    rows = folder.experiment()["scenarios"]
    assert [row.get("kind") for row in rows] == [None, None, "steady", "steady"]
    assert rows[-1]["batch_seconds"] is None  # JSON has no infinity


def test_the_baseline_of_a_folder_with_steady_states_is_that_of_its_fill_ups(tmp_path: Path) -> None:
    """As `wattpack bound --against` reads it."""
    experiment = steady_experiment("fgd", "pwr", batches=(None, Batch(3)))
    folder, scenarios, _ = run_experiment(experiment, tmp_path)
    inputs = experiment.inputs
    profile = inputs.profiles["paper"]
    found = baseline_in(tmp_path, inputs.datacenters["small"], inputs.traces["tasks"], profile, seed=43)
    expected = folder.read(scenarios)["tasks", "fgd"].values["eopc_w"][1]
    assert found.seeds == (43,)
    np.testing.assert_array_equal(found.values["eopc_w"], [expected])


def test_a_seed_that_failed_is_missing_in_its_row_and_in_the_savings(tmp_path: Path) -> None:
    experiment = steady_experiment("fgd", "pwr")
    folder, scenarios, _ = run_experiment(experiment, tmp_path)
    lost = next(s for s in scenarios if (s.kind, s.policy, s.seed) == ("steady", "pwr", 42))
    folder.run_file(lost).unlink()
    fgd, pwr = steady_rows(folder.read_steady(scenarios))
    assert (fgd.seeds, pwr.seeds) == ((42, 43), (43,))
    assert pwr.savings(fgd) == pytest.approx([1 - pwr.runs[0].w_per_gpu / fgd.runs[1].w_per_gpu])
    summarise(folder, scenarios)
    with (tmp_path / "steady.csv").open(newline="") as file:
        assert [row["seeds"] for row in csv.DictReader(file)] == ["2", "1"]


def test_a_failing_steady_state_is_told_and_sinks_nothing(tmp_path: Path) -> None:
    import_file(write_plugin(tmp_path, fault="no luck"))
    folder, scenarios, outcome = run_experiment(steady_experiment("fgd", "own"), tmp_path / "out")
    assert outcome.done == 4
    assert sorted(str(scenario) for scenario, _ in outcome.failed if scenario.kind == "steady") == [
        "tasks, own, seed 42, steady at 0.5",
        "tasks, own, seed 43, steady at 0.5",
    ]
    assert [row.policy for row in steady_rows(folder.read_steady(scenarios))] == ["fgd"]


def test_a_trace_without_gpu_demand_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    experiment = steady_experiment(up_to=())
    trace = experiment.inputs.traces["tasks"]
    cpu_only = [k for k, task in enumerate(trace.classes) if task.num_gpu == 0]
    experiment.inputs.traces["tasks"] = trace.with_sequence(np.array(cpu_only * 3, dtype=np.int32))
    with pytest.raises(UserError, match="expected a GPU workload for a steady state"):
        run_experiment(experiment, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_block_without_loads_to_fill_up_to_has_steady_states_alone(tmp_path: Path) -> None:
    _, scenarios = resolve(steady_experiment(up_to=()))
    assert {scenario.kind for scenario in scenarios} == {"steady"}


def test_more_offered_loads_than_anyone_means_are_refused_with_the_limit() -> None:
    assert len(parse_loads(",".join(f"{1 + i / 1e4}" for i in range(1000)))) == 1000
    with pytest.raises(UserError, match=r"--steady: 1,001 loads, expected at most 1,000"):
        parse_loads(",".join(["0.5"] * 1001))


def test_the_spread_of_one_seed_is_zero() -> None:
    steady = Steady(100.0, 40.0, 60.0, 2.0, 1.0, 0.5, 10)
    row = SteadyRow("t", "pwr", 0.5, (1,), (steady,))
    base = SteadyRow("t", "fgd", 0.5, (1,), (steady._replace(eopc_w=125.0),))
    assert (row.saving(base), row.saving_spread(base), row.spread("grar")) == (pytest.approx(0.2), 0.0, 0.0)
