"""`wattpack tune --sleep --wait-p99`: knobs and policy that keep a wait with least energy."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cli.files import write_nodes, write_timed_tasks
from cli.test_cli_sleep import TASKS
from report.test_report_time import numbers
from wattpack.answers.tune_sleep import advice_lines
from wattpack.cli import main
from wattpack.experiments.runner import Outcome
from wattpack.experiments.sleep_and_caps import sleep_text
from wattpack.experiments.tune.sleep import AWAKE, IDLE, RESERVE, Tried, TunedSleep, knobs_to_try


def tuned(folder: Path, *more: str, limit: str = "10m", sleep: str = "on") -> list[dict[str, str]]:
    inputs = ["--datacenter", write_nodes(folder), "--trace", write_timed_tasks(folder, TASKS)]
    words = ["tune", "--sleep", sleep, *inputs, "--wait-p99", limit, "--policy", "pwr", "--out", str(folder / "out")]
    main([*words, *more])
    with (folder / "out" / "sleep.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_all_knobs_are_tried_but_those_that_are_given_stay() -> None:
    assert len(knobs_to_try("on")) == len(IDLE) * len(RESERVE)
    assert sleep_text(True) in knobs_to_try("on")
    with_wake = knobs_to_try("wake=8m")
    assert len(with_wake) == len(IDLE) * len(RESERVE)
    assert all("wake=480" in one for one in with_wake)
    assert knobs_to_try("idle=6m,reserve=3") == (sleep_text("idle=6m,reserve=3"),)
    assert len(knobs_to_try("idle=6m")) == len(RESERVE)


def test_the_least_energy_among_those_that_keep_the_wait_is_recommended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tuned(tmp_path)
    chose = [row for row in found if row["chose"] == "yes"]
    keeps = [float(row["kwh"]) for row in chose if row["keeps"] == "yes"]
    assert len(chose) == 2 * len(IDLE) * len(RESERVE)
    assert keeps == sorted(keeps)
    assert all((float(row["wait_p99_s"]) <= 600) == (row["keeps"] == "yes") for row in chose)
    said = capsys.readouterr().out
    assert "recommended: --policy " in said
    assert "the same tasks chose and report" in said
    # the same command goes on from what is there
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "time").iterdir()}
    assert tuned(tmp_path) == found
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "time").iterdir()} == files


def test_where_nothing_keeps_the_wait_the_least_wait_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """G2 nodes have more idle watts and sleep first; the T4 alone is a reserve of 10 %, but c needs a whole G2 node."""
    found = tuned(tmp_path, limit="1s", sleep="idle=2m")
    assert not any(row["keeps"] == "yes" for row in found if row["sleep"] != "off")
    assert "Nothing that was tried keeps the p99 of the wait at 1s" in capsys.readouterr().out


def test_drawn_tasks_are_searched_on_some_seeds_and_reported_on_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tuned(tmp_path, "--load", "0.3", "--days", "0.1", "--seeds", "1", "--policy", "fgd")
    assert {row["seeds"] for row in found} == {"1"}
    assert "(chosen on seed 42, these numbers are of seed 43)" in capsys.readouterr().out
    with (tmp_path / "out" / "time.csv").open(newline="") as file:
        seeds = {(row["seed"], row["sleep"] == "") for row in csv.DictReader(file)}
    assert seeds == {("42", False), ("43", False), ("43", True)}


def test_a_choice_that_does_not_keep_the_wait_on_fresh_seeds_is_said_so() -> None:
    sleep = sleep_text("idle=2m")
    one = Tried("ocs", sleep, (1, 2), (numbers(wait_p99_s=100.0), numbers(wait_p99_s=100.0)))
    fresh = Tried("ocs", sleep, (3, 4), (numbers(wait_p99_s=100.0), numbers(wait_p99_s=700.0)))
    awake = Tried("fgd", AWAKE, (3, 4), (numbers(kwh=2000.0), numbers(kwh=2000.0)))
    lines = advice_lines(TunedSleep(600.0, (one,), (fresh, awake), fresh, Outcome()), drawn=True)
    assert lines == [
        "recommended: --policy ocs --sleep idle=2m",
        "  saves 50.0 % against fgd with all nodes awake (kWh per GPU-hour), and does not keep the p99 of the wait at "
        "10m (700 s; 1 tried)",
        "  it did on the seeds that chose it: more --seeds would tell",
        "  (chosen on seeds 1 to 2, these numbers are of seeds 3 to 4)",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sleep"], "--sleep without --wait-p99"),
        (["--wait-p99", "10m"], "without --sleep, expected that too"),
        (["--sleep", "--wait-p99", "10m", "--steady", "0.5"], "--sleep with --loads, --steady or --grar-loss"),
        (["--sleep", "--wait-p99", "soon"], "--wait-p99 'soon', expected a duration"),
        (["--sleep", "off", "--wait-p99", "10m"], "--sleep 'off', expected knobs"),
        (["--sleep", "--wait-p99", "10m", "--seeds", "2"], "nothing is drawn, expected --load too"),
    ],
)
def test_wrong_options_end_with_2_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    inputs = ["--datacenter", write_nodes(tmp_path), "--trace", write_timed_tasks(tmp_path, TASKS)]
    with pytest.raises(SystemExit) as ended:
        main(["tune", *inputs, *words, "--out", str(tmp_path / "out")])
    assert ended.value.code == 2
    found = capsys.readouterr().err
    assert said in found
    assert found.count("\n") == 1


def test_it_says_what_auto_chose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuned(tmp_path, "--policy", "auto", sleep="idle=6m,reserve=0")
    assert "timed.csv: auto -> " in capsys.readouterr().out
