"""A real Dask cluster and a real Ray on this machine: the same bytes, and a killed worker costs no run."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.small import run_files, small_experiment, timed_experiment, write_plugin, write_spec
from wattpack.errors import UserError
from wattpack.experiments.executors.executor import stream
from wattpack.experiments.executors.worker import Setup
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.options import Moving, Offered
from wattpack.experiments.plugins import import_file
from wattpack.experiments.runner import run_all, run_experiment
from wattpack.experiments.spec.axes import resolve


def needs(package: str) -> pytest.MarkDecorator:
    there = importlib.util.find_spec(package) is not None
    return pytest.mark.skipif(not there, reason=f"{package} is not installed (make e2e installs it)")


DASK = pytest.param("dask", marks=needs("distributed"))
RAY = pytest.param("ray", marks=needs("ray"))

# Warnings of Dask and Ray themselves, and of what they leave behind, are not ours.
pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("on", [DASK, RAY])
def test_results_are_the_same_to_the_byte_with_a_policy_of_ones_own(tmp_path: Path, on: str) -> None:
    plugin = write_plugin(tmp_path)
    import_file(plugin)
    experiment = small_experiment(
        ("fgd", "pwr:0.1+fgd:0.9", "random", "own:0.5+bestfit:0.5"), seeds=3, profiles=("paper", "concave")
    )
    run_experiment(experiment, tmp_path / "threads", on="threads")
    _, _, outcome = run_experiment(experiment, tmp_path / on, on=on, workers=2, plugins=[plugin])
    assert (outcome.done, outcome.failed) == (24, [])
    assert run_files(tmp_path / on) == run_files(tmp_path / "threads")


@pytest.mark.parametrize("on", [DASK, RAY])
def test_steady_states_run_there_too_and_are_the_same_to_the_byte(tmp_path: Path, on: str) -> None:
    steady = (Offered(0.5, 200), Offered(0.9, 200))
    experiment = small_experiment(("fgd", "pwr"), seeds=2, steady=steady, movings=(None, Moving(50, 5)))
    run_experiment(experiment, tmp_path / "threads", on="threads")
    _, _, outcome = run_experiment(experiment, tmp_path / on, on=on, workers=2)
    assert (outcome.done, outcome.failed) == (2 * 2 + 2 * 2 * 2 * 2, [])
    for folder in ("runs", "steady"):
        assert run_files(tmp_path / on, folder) == run_files(tmp_path / "threads", folder) != {}


@pytest.mark.parametrize("on", [DASK, RAY])
def test_runs_in_time_run_there_too_and_are_the_same_to_the_byte(tmp_path: Path, on: str) -> None:
    experiment = timed_experiment(policies=("fgd", "pwr"))
    run_experiment(experiment, tmp_path / "threads", on="threads")
    _, _, outcome = run_experiment(experiment, tmp_path / on, on=on, workers=2)
    assert (outcome.done, outcome.failed) == (4, [])
    assert run_files(tmp_path / on, "time") == run_files(tmp_path / "threads", "time") != {}


@pytest.mark.parametrize("on", [DASK, RAY])
def test_a_worker_killed_in_the_middle_of_a_run_costs_no_run_and_a_failing_run_sinks_nothing(
    tmp_path: Path, on: str
) -> None:
    mark = tmp_path / "killed"
    plugins = [write_plugin(tmp_path, mark=str(mark)), write_plugin(tmp_path, name="unlucky", fault="no luck")]
    for plugin in plugins:
        import_file(plugin)
    experiment = small_experiment(("fgd", "own", "unlucky"), seeds=4)
    told: list[int] = []
    _, _, outcome = run_experiment(
        experiment, tmp_path / on, lambda done, everything, what: told.append(done), on, 2, plugins
    )
    assert mark.exists()
    assert outcome.done == 8
    assert sorted((scenario.policy, scenario.seed, fault) for scenario, fault in outcome.failed) == [
        ("unlucky", seed, "ValueError: no luck") for seed in (42, 43, 44, 45)
    ]
    assert told == list(range(13))


@needs("distributed")
def test_dask_workers_killed_from_outside_cost_no_run(tmp_path: Path) -> None:
    from wattpack.experiments.executors.dask import Dask

    inputs, scenarios = resolve(small_experiment(seeds=10))
    place = Dask(Setup(inputs), None, 2)
    done = {}
    for scenario, data in stream(place, scenarios):
        done[scenario] = data
        if len(done) in (3, 15):
            os.kill(next(iter(place._cluster.workers.values())).pid, signal.SIGKILL)
    assert set(done) == set(scenarios)
    assert all(isinstance(data, bytes) for data in done.values())


@needs("distributed")
def test_a_dask_cluster_that_is_there_is_used_and_left_there(tmp_path: Path) -> None:
    import distributed

    experiment = small_experiment(seeds=2)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster:
        for out in ("one", "two"):
            _, _, outcome = run_experiment(experiment, tmp_path / out, on=f"dask={cluster.scheduler_address}")
            assert (outcome.done, outcome.failed) == (6, [])
        assert len(cluster.workers) == 1
    assert run_files(tmp_path / "one") == run_files(tmp_path / "two")


@needs("distributed")
def test_an_address_without_a_scheduler_is_a_user_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wattpack.experiments.executors.dask.PATIENCE_S", 1)
    with pytest.raises(UserError, match="expected the address of a Dask scheduler"):
        run_experiment(small_experiment(), tmp_path, on="dask=tcp://127.0.0.1:9")


@needs("ray")
@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:9", "ray://127.0.0.1:9"])
def test_an_address_without_a_ray_cluster_is_a_user_error(tmp_path: Path, address: str) -> None:
    with pytest.raises(UserError, match="expected the address of a Ray cluster"):
        run_experiment(small_experiment(), tmp_path, on=f"ray={address}")


@pytest.mark.parametrize("on", [DASK, RAY])
def test_ctrl_c_ends_a_cluster_with_130_and_the_same_command_goes_on(tmp_path: Path, on: str) -> None:
    file, out = write_spec(tmp_path, 'policy = ["fgd", "pwr"]\nseeds = 20\n'), tmp_path / "out"
    arguments = [sys.executable, "-m", "wattpack", "run", str(file), "--out", str(out), "--on", on, "--workers", "2"]
    command = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while len(list(out.glob("runs/*.parquet"))) < 3:
        assert command.poll() is None, command.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(command.pid, signal.SIGINT)
    said, err = command.communicate(timeout=60)
    assert (command.returncode, said) == (130, ""), err
    assert err.splitlines()[-1].startswith("wattpack: stopped; finished runs are kept")
    kept = run_files(out)
    assert 3 <= len(kept) < 40
    again = subprocess.run(arguments, capture_output=True, text=True, timeout=240, check=False)
    assert again.returncode == 0, again.stderr
    assert f"{len(kept)} were there" in again.stderr


@pytest.mark.parametrize("on", [DASK])
def test_the_memory_of_the_one_who_collects_does_not_grow_with_the_runs(tmp_path: Path, on: str) -> None:
    """2,000 runs are 60 MB of run files; while they come, less than a seventh of that is held."""
    inputs, scenarios = resolve(small_experiment(("fgd", "pwr"), seeds=1000))
    held: list[float] = []

    def report(done: int, everything: int, what: str) -> None:
        if done % 100 == 0:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            held.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)

    outcome = run_all(scenarios, inputs, ResultsFolder(tmp_path), report, on, 2)
    assert outcome.done == 2000
    assert max(held[5:]) - held[3] < 8, held


@needs("distributed")
def test_a_worker_with_other_code_fails_its_runs() -> None:
    from wattpack.experiments.executors.dask import Dask

    inputs, scenarios = resolve(small_experiment(("fgd",), seeds=1))
    place = Dask(Setup(inputs, code="another"), None, 1)
    ((_, fault),) = stream(place, scenarios)
    assert "has another version of wattpack" in str(fault)
