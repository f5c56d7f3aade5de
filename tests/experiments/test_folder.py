"""The results folder: what is finished stays, two folders merge by copying, and DuckDB reads it as the guide says."""

import os
import re
import shutil
import time
from pathlib import Path

import duckdb
import numpy as np
import pytest

from experiments.small import SMALL_SPEC, run_files, small_experiment, write_spec
from wattpack.engine.windows.batch import Batch
from wattpack.errors import UserError
from wattpack.experiments.curves import COLUMNS, LOADS, read_at_loads
from wattpack.experiments.fill_up import run_fill_up
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.runner import run_all, run_experiment, summarise
from wattpack.experiments.spec import load_experiment
from wattpack.experiments.spec.axes import resolve

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "experiments.md"


def quiet(done: int, everything: int, what: str) -> None:
    pass


def test_curves_are_what_the_runs_gave_seeds_ascending(tmp_path: Path) -> None:
    folder, scenarios, _ = run_experiment(small_experiment(("pwr", "fgd"), seeds=3), tmp_path)
    results = folder.read(reversed(scenarios))
    assert list(folder.read(scenarios)) == [("tasks", "pwr"), ("tasks", "fgd")]  # in the order that was asked for
    assert list(results) == [("tasks", "fgd"), ("tasks", "pwr")]
    inputs = small_experiment().inputs
    for (_, policy), curves in results.items():
        assert curves.seeds == (42, 43, 44)
        for place, seed in enumerate(curves.seeds):
            scenario = next(s for s in scenarios if (s.policy, s.seed) == (policy, seed))
            expected = read_at_loads(run_fill_up(scenario, inputs))
            for column in COLUMNS:
                np.testing.assert_array_equal(curves.values[column][place], expected[column])


def test_runs_that_are_not_finished_are_left_out(tmp_path: Path) -> None:
    folder, scenarios, _ = run_experiment(small_experiment(("fgd",), seeds=3), tmp_path)
    folder.run_file(scenarios[1]).unlink()
    assert folder.missing(scenarios) == [scenarios[1]]
    assert folder.read(scenarios)["tasks", "fgd"].seeds == (42, 44)
    folder.run_file(scenarios[0]).unlink()
    folder.run_file(scenarios[2]).unlink()
    assert folder.read(scenarios) == {}


def test_a_run_file_that_was_cut_off_is_run_again(tmp_path: Path) -> None:
    folder, scenarios, _ = run_experiment(small_experiment(seeds=1), tmp_path)
    files = run_files(tmp_path)
    for name, length in zip(files, (0, 3, 100), strict=True):
        (tmp_path / "runs" / name).write_bytes(files[name][:length])
    assert len(folder.missing(scenarios)) == 3
    run_experiment(small_experiment(seeds=1), tmp_path)
    assert run_files(tmp_path) == files


def test_a_file_that_is_no_run_file_is_named(tmp_path: Path) -> None:
    folder, scenarios, _ = run_experiment(small_experiment(seeds=1), tmp_path)
    broken = folder.run_file(scenarios[1])
    broken.write_bytes(b"PAR1 but nothing else PAR1")
    with pytest.raises(UserError, match=str(broken)):
        folder.read(scenarios)


def test_a_run_file_with_a_changed_byte_is_said_and_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, scenarios, _ = run_experiment(small_experiment(("fgd",), seeds=2), tmp_path)
    expected, files = folder.read(scenarios), run_files(tmp_path)
    file = folder.run_file(scenarios[0])
    data = file.read_bytes()
    place = len(data) // 2  # among the numbers: DuckDB reads it without a word
    file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    with pytest.raises(UserError, match=f"{file}: damaged"):
        folder.read(scenarios)
    _, _, outcome = run_experiment(small_experiment(("fgd",), seeds=2), tmp_path)
    assert (outcome.done, outcome.skipped) == (1, 1)
    assert capsys.readouterr().err == f"wattpack: {file}: damaged, run again\n"
    assert run_files(tmp_path) == files
    np.testing.assert_array_equal(
        folder.read(scenarios)["tasks", "fgd"].values["grar"], expected["tasks", "fgd"].values["grar"]
    )


def test_a_run_file_of_a_version_without_checksums_is_read_but_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, scenarios, _ = run_experiment(small_experiment(("fgd",), seeds=2), tmp_path)
    for scenario in scenarios:
        file = folder.run_file(scenario)
        file.write_bytes(file.read_bytes().replace(b"crc32", b"other"))
    assert folder.read_stored().keys() == {("tasks", "fgd")}
    _, _, outcome = run_experiment(small_experiment(("fgd",), seeds=2), tmp_path)
    assert outcome.done == 2
    assert capsys.readouterr().err.endswith("2 run files of an earlier version, without a checksum, run again\n")


def test_finished_runs_are_on_the_disk_when_the_command_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").resolve().name)
        real(descriptor)

    if not Path("/proc/self/fd").exists():
        pytest.skip("descriptors have no names here")
    monkeypatch.setattr(os, "fsync", fsync)
    folder, scenarios, _ = run_experiment(small_experiment(("fgd",), seeds=2), tmp_path)
    assert {folder.run_file(scenario).name for scenario in scenarios} | {"runs"} <= set(synced)
    assert tmp_path.name in synced  # experiment.json was renamed there


def test_two_folders_merge_by_copying_their_runs(tmp_path: Path) -> None:
    here, there, whole = tmp_path / "here", tmp_path / "there", tmp_path / "whole"
    experiment = small_experiment(seeds=2)
    _, scenarios = resolve(experiment)
    run_all(scenarios[:3], experiment.inputs, ResultsFolder(here), quiet)
    run_all(scenarios[3:], experiment.inputs, ResultsFolder(there), quiet)
    shutil.copytree(there / "runs", here / "runs", dirs_exist_ok=True)
    _, _, outcome = run_experiment(experiment, here)
    assert (outcome.done, outcome.skipped) == (0, 6)
    run_experiment(experiment, whole)
    assert run_files(here) == run_files(whole)


def test_one_content_by_two_names_is_one_run_and_two_curves(tmp_path: Path) -> None:
    file = write_spec(tmp_path, SMALL_SPEC.replace('"tasks.csv"', '["tasks.csv", "same.csv"]'))
    shutil.copy(tmp_path / "tasks.csv", tmp_path / "same.csv")
    folder, scenarios, outcome = run_experiment(load_experiment(file), tmp_path / "out")
    assert len(scenarios) == 12
    assert len(run_files(tmp_path / "out")) == outcome.done == 6
    results = folder.read(scenarios)
    assert {trace for trace, _ in results} == {"tasks.csv", "same.csv"}
    for policy in ("fgd", "bestfit"):
        same, tasks = results["same.csv", policy], results["tasks.csv", policy]
        np.testing.assert_array_equal(same.mean("eopc_w"), tasks.mean("eopc_w"))


def test_several_profiles_and_loads_stay_apart(tmp_path: Path) -> None:
    experiment = small_experiment(("fgd", "pwr"), seeds=2, profiles=("paper", "linear"), up_to=(0.5, 1.3))
    folder, scenarios, _ = run_experiment(experiment, tmp_path)
    results = folder.read(scenarios)
    names = [f"tasks ({profile}, up to {load})" for profile in ("paper", "linear") for load in ("0.5", "1.3")]
    assert list(results) == [(name, policy) for name in names for policy in ("fgd", "pwr")]
    half, full = results[names[0], "fgd"].mean("eopc_w"), results[names[1], "fgd"].mean("eopc_w")
    assert np.isnan(half[LOADS > 0.7]).all()
    np.testing.assert_array_equal(half[LOADS <= 0.4], full[LOADS <= 0.4])
    # a sharing task makes its GPU draw all of it in the paper's profile, a part in the linear one
    assert results[names[3], "fgd"].mean("gpu_w")[100] < full[100]
    summarise(folder, scenarios)
    rows = (tmp_path / "summary.csv").read_text().splitlines()
    assert {row.split('"')[1] for row in rows[1:]} == set(names)


def test_a_policy_with_windows_is_a_curve_of_its_own_beside_the_same_baseline(tmp_path: Path) -> None:
    folder, scenarios, outcome = run_experiment(
        small_experiment(("fgd", "pwr"), seeds=2, batches=(None, Batch(3))), tmp_path
    )
    assert outcome.done == len(scenarios) == 8
    results = folder.read(scenarios)
    assert list(results) == [("tasks", policy) for policy in ("fgd", "pwr", "fgd batch 3", "pwr batch 3")]
    assert ResultsFolder(tmp_path).read_stored().keys() == results.keys()
    summarise(folder, scenarios)
    rows = [row.split(",") for row in (tmp_path / "summary.csv").read_text().splitlines()[1:]]
    assert all(row[6] != "" for row in rows if row[1] == "pwr batch 3" and row[3] != "")  # a saving against plain fgd


def test_a_folder_of_a_version_without_windows_is_read(tmp_path: Path) -> None:
    folder, scenarios, _ = run_experiment(small_experiment(), tmp_path)
    told = tmp_path / "experiment.json"
    told.write_text(told.read_text().replace(', "batch": 1, "batch_milp_seconds": 0.0}', "}"))
    assert '"batch": 1' not in told.read_text()
    assert ResultsFolder(tmp_path).read_stored().keys() == folder.read(scenarios).keys()


def test_what_a_folder_says_is_enough_to_read_it(tmp_path: Path) -> None:
    folder, scenarios, _ = run_experiment(small_experiment(), tmp_path)
    expected = folder.read(scenarios)
    found = ResultsFolder(str(tmp_path)).read_stored()
    assert list(found) == list(expected)
    np.testing.assert_array_equal(found["tasks", "fgd"].values["grar"], expected["tasks", "fgd"].values["grar"])
    # also runs of another version: ids are taken as they are stored, not made anew
    told = tmp_path / "experiment.json"
    told.write_text(told.read_text().replace(scenarios[0].id, "0123456789abcdef"))
    folder.run_file(scenarios[0]).rename(tmp_path / "runs" / "0123456789abcdef.parquet")
    assert ResultsFolder(tmp_path).read_stored()["tasks", "fgd"].seeds == (42, 43)


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"scenarios": [{}]}', '{"scenarios": 3}'])
def test_a_folder_that_is_none_is_told(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "experiment.json").write_text(text)
    with pytest.raises(UserError, match=r"experiment\.json: .*expected a results folder"):
        ResultsFolder(tmp_path).read_stored()


def test_only_abandoned_temporary_files_are_removed(tmp_path: Path) -> None:
    ResultsFolder(tmp_path)
    runs = tmp_path / "runs"
    runs.mkdir()
    old, new = runs / ".wattpack-old.tmp", runs / ".wattpack-new.tmp"
    old.touch()
    new.touch()
    os.utime(old, (time.time() - 7200,) * 2)
    ResultsFolder(tmp_path)
    assert not old.exists()
    assert new.exists()  # perhaps another command's, at work in the same folder


def test_a_folder_that_cannot_be_made_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="expected a folder to write into"):
        ResultsFolder(tmp_path / "file" / "out")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_queries_of_the_guide_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = small_experiment(("fgd", "pwr:0.1+fgd:0.9"), seeds=3)
    run_experiment(experiment, tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    assert len(blocks("sql")) >= 3
    for query in blocks("sql"):
        assert len(duckdb.connect().execute(query).fetchall()) > 0, query


def test_the_experiments_of_the_guide_can_be_read(tmp_path: Path) -> None:
    assert len(blocks("toml")) >= 2
    for place, text in enumerate(blocks("toml")):
        file = write_spec(tmp_path, text, f"guide{place}.toml")
        assert len(resolve(load_experiment(file))[1]) > 0
