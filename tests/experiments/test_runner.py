"""Running: what is there is skipped, what fails is told and sinks nothing, what was stopped goes on."""

import csv
import json
from pathlib import Path

import pytest

from experiments.small import run_files, small_experiment, write_plugin
from wattpack.errors import UserError
from wattpack.experiments.compare import compare
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.plugins import import_file
from wattpack.experiments.runner import run_all, run_experiment, summarise
from wattpack.experiments.spec.axes import resolve
from wattpack.experiments.summary import HEADER, write_summary


class Told:
    """A report that remembers, and stops the runs like Ctrl-C after so many."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.calls: list[tuple[int, int, str]] = []
        self.stop_after = stop_after

    def __call__(self, done: int, everything: int, what: str) -> None:
        self.calls.append((done, everything, what))
        if self.stop_after is not None and len(self.calls) > self.stop_after:
            raise KeyboardInterrupt


def test_every_run_is_reported_once_and_the_first_report_says_what_was_there(tmp_path: Path) -> None:
    told = Told()
    _, scenarios, outcome = run_experiment(small_experiment(), tmp_path, told)
    assert [(done, everything) for done, everything, _ in told.calls] == [(done, 6) for done in range(7)]
    assert sorted(what for _, _, what in told.calls[1:]) == sorted(map(str, scenarios))
    assert (outcome.done, outcome.skipped, outcome.failed) == (6, 0, [])
    again = Told()
    _, _, outcome = run_experiment(small_experiment(), tmp_path, again)
    assert again.calls == [(6, 6, "")]
    assert (outcome.done, outcome.skipped) == (0, 6)


@pytest.mark.parametrize("on", ["threads", "processes"])
def test_a_stopped_sweep_goes_on_where_it_was(tmp_path: Path, on: str) -> None:
    experiment = small_experiment(seeds=4)
    whole = tmp_path / "whole"
    run_experiment(experiment, whole)
    stopped = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment, stopped, Told(stop_after=3), on=on, workers=2)
    kept = run_files(stopped)
    assert 3 <= len(kept) < 12
    assert not (stopped / "summary.csv").exists()
    _, _, outcome = run_experiment(experiment, stopped, on=on, workers=2)
    assert (outcome.done, outcome.skipped) == (12 - len(kept), len(kept))
    assert run_files(stopped) == run_files(whole)


def test_a_failing_run_is_told_with_its_scenario_and_the_rest_is_done(tmp_path: Path) -> None:
    import_file(write_plugin(tmp_path, fault="no luck\nat all"))
    experiment = small_experiment(("fgd", "own", "pwr"))
    folder, scenarios, outcome = run_experiment(experiment, tmp_path / "out")
    assert outcome.done == 4
    assert sorted((scenario.policy, scenario.seed, fault) for scenario, fault in outcome.failed) == [
        ("own", 42, "ValueError: no luck"),
        ("own", 43, "ValueError: no luck"),
    ]
    assert set(folder.read(scenarios)) == {("tasks", "fgd"), ("tasks", "pwr")}
    kept = json.loads((tmp_path / "out" / "experiment.json").read_text())["outcome"]
    assert [failed["fault"] for failed in kept["failed"]] == ["ValueError: no luck"] * 2


def test_failed_runs_are_tried_again_by_the_next_call(tmp_path: Path) -> None:
    import_file(write_plugin(tmp_path, fault="no luck"))
    run_experiment(small_experiment(("fgd", "own")), tmp_path / "out")
    import_file(write_plugin(tmp_path))
    _, _, outcome = run_experiment(small_experiment(("fgd", "own")), tmp_path / "out")
    assert (outcome.done, outcome.skipped, outcome.failed) == (2, 2, [])


def test_the_folder_says_what_was_run_with_what_and_on_what(tmp_path: Path) -> None:
    experiment = small_experiment(seeds=2, profiles=("paper", "linear"))
    folder, scenarios, _ = run_experiment(experiment, tmp_path, workers=1)
    told = folder.experiment()
    assert told["experiment"] == [
        {
            "seeds": [42, 43],
            "datacenter": ["small"],
            "profile": ["paper", "linear"],
            "up_to": [1.3],
            "trace": ["tasks"],
            "batch": [1],
            "policy": ["fgd", "pwr:0.1+fgd:0.9", "random"],
        }
    ]
    assert [row["id"] for row in told["scenarios"]] == [scenario.id for scenario in scenarios]
    assert {"wattpack", "python", "numba", "numpy", "duckdb"} <= set(told["versions"])
    assert set(told["machine"]) == {"cpu", "cores", "memory_mib", "platform", "python"}
    assert (told["name"], told["on"], told["workers"]) == ("small", "local", 1)
    assert told["outcome"]["done"] == 12


def test_the_spec_is_in_the_folder_before_the_first_run(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_experiment(small_experiment(), tmp_path, Told(stop_after=0))
    assert len(ResultsFolder(tmp_path).experiment()["scenarios"]) == 6
    assert run_files(tmp_path) == {}


def test_a_summary_in_parts_is_the_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = small_experiment(("pwr", "fgd", "random"), seeds=3, profiles=("paper", "linear"))
    folder, scenarios, _ = run_experiment(experiment, tmp_path)
    write_summary(tmp_path / "whole.csv", folder.read(scenarios))
    for at_once in (1, 4, 512):
        monkeypatch.setattr("wattpack.experiments.runner.READ_AT_ONCE", at_once)
        assert summarise(folder, scenarios).read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_saving_is_against_fgd_of_the_same_profile(tmp_path: Path) -> None:
    folder, scenarios, _ = run_experiment(small_experiment(profiles=("paper", "linear")), tmp_path)
    with summarise(folder, scenarios).open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == HEADER
    power = {(row["trace"], row["policy"], row["load"]): row for row in rows}
    for trace in ("tasks (paper)", "tasks (linear)"):
        for load in ("0.30", "0.80"):
            row, base = power[trace, "pwr:0.1+fgd:0.9", load], power[trace, "fgd", load]
            assert float(row["saving"]) == pytest.approx(1 - float(row["eopc_w"]) / float(base["eopc_w"]), abs=1e-4)


def test_compare_is_such_an_experiment(tmp_path: Path) -> None:
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\na,96000,393216,8,G2\n")
    tasks.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1000,0,1,500\ny,1000,0,9,1000\n")
    told = Told()
    found = compare(str(nodes), [str(tasks)] * 2, ["PWR", "pwr:1"], seeds=2, out=tmp_path / "out", report=told)
    assert set(found.results) == {(str(tasks), "fgd"), (str(tasks), "pwr")}  # the baseline is always run
    assert told.calls[-1][:2] == (4, 4)
    assert found.outcome.done == 4
    assert list(found.unplaceable) == [str(tasks)]
    assert ResultsFolder(tmp_path / "out").experiment()["name"] == "compare"
    assert (tmp_path / "out" / "summary.csv").read_text().count("\n") == 1 + 2 * 131


@pytest.mark.parametrize("on", ["nowhere", "", "local=here", "dask=", "threads=4"])
def test_an_unknown_place_is_refused_before_anything_is_written(tmp_path: Path, on: str) -> None:
    with pytest.raises(UserError, match="expected local, dask"):
        run_experiment(small_experiment(), tmp_path / "out", on=on)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("workers", [0, -1, 1025])
def test_a_wrong_number_of_workers_is_refused(tmp_path: Path, workers: int) -> None:
    with pytest.raises(UserError, match=f"--workers {workers}, expected 1 to 1024"):
        run_experiment(small_experiment(), tmp_path, workers=workers)


def test_results_are_stored_as_they_come_and_not_held(tmp_path: Path) -> None:
    """When a run is reported its file is there, and no more than the window is under way."""
    experiment = small_experiment(seeds=10)
    inputs, scenarios = resolve(experiment)
    folder = ResultsFolder(tmp_path)

    def report(done: int, everything: int, what: str) -> None:
        assert len(run_files(tmp_path)) == done

    run_all(scenarios, inputs, folder, report, workers=2)
