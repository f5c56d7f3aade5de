"""`auto` wherever a policy expression may stand: what was chosen, and why, is said in every output."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.files import write_nodes, write_tasks, write_timed_tasks
from wattpack.cli import main

SAID = re.compile(r"auto -> ([a-z:0-9.+@]+), because of \d+ expressions tried in a (fill-up|steady state), ")


def words(folder: Path) -> list[str]:
    return ["--nodes", write_nodes(folder), "--tasks", write_tasks(folder)]


def test_replay_decides_as_with_the_expression_that_it_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["replay", *words(tmp_path), "--policy", "auto", "--decisions", str(tmp_path / "auto.csv")])
    said = SAID.search(capsys.readouterr().out)
    assert said is not None
    main(["replay", *words(tmp_path), "--policy", said[1], "--decisions", str(tmp_path / "plain.csv")])
    assert (tmp_path / "auto.csv").read_text() == (tmp_path / "plain.csv").read_text()


def test_replay_may_choose_as_a_service_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["replay", *words(tmp_path), "--policy", "auto@steady"])
    assert "auto@steady -> " in capsys.readouterr().out


def test_explain_says_what_was_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", *words(tmp_path), "--policy", "auto", "--task", "share-2"])
    said = capsys.readouterr().out
    chosen = SAID.search(said)
    assert chosen is not None
    assert f"policy {chosen[1]}" in said


def test_explain_at_a_time_chooses_as_simulate_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes, tasks = write_nodes(tmp_path), write_timed_tasks(tmp_path)
    main(["simulate", "--datacenter", nodes, "--trace", tasks, "--policy", "auto", "--out", str(tmp_path / "out")])
    chosen = SAID.search(capsys.readouterr().out)
    main(["explain", nodes, tasks, "--policy", "auto", "--task", "eight-3", "--at", "10m"])
    said = SAID.search(capsys.readouterr().out)
    assert chosen is not None
    assert said is not None
    assert (said[1], said[2]) == (chosen[1], "steady state")


def test_policies_lists_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["policies"])
    assert re.search(r"^  auto +chooses", capsys.readouterr().out, re.M)


def test_compare_says_it_in_its_output_its_report_and_experiment_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, tasks, out = write_nodes(tmp_path), write_tasks(tmp_path), tmp_path / "out"
    given = ["--datacenter", nodes, "--trace", tasks, "--policy", "auto", "--seeds", "1", "--steady", "0.5"]
    main(["compare", *given, "--no-bound", "--out", str(out)])
    said = capsys.readouterr().out
    assert {found[1] for found in SAID.findall(said)} == {"fill-up", "steady state"}
    assert SAID.search((out / "report.html").read_text().replace("&gt;", ">"))
    stored = json.loads((out / "experiment.json").read_text())
    assert len(stored["auto"]) == 2
    own = [row for row in stored["scenarios"] if row.get("word") == "auto"]
    assert [row["policy"] for row in own] == [found[0] for found in SAID.findall(said)]
    assert "auto" in (out / "summary.csv").read_text()


def test_run_takes_it_from_a_file_and_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes, tasks = write_nodes(tmp_path), write_tasks(tmp_path)
    file = tmp_path / "e.toml"
    file.write_text(f'policy = ["fgd", "auto"]\ntrace = "{tasks}"\ndatacenter = "{nodes}"\nseeds = 1\n')
    main(["run", str(file), "--out", str(tmp_path / "out")])
    assert SAID.search(capsys.readouterr().out)


def test_the_run_of_auto_is_that_of_the_expression_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["compare", "--datacenter", write_nodes(tmp_path), "--trace", write_tasks(tmp_path), "--no-bound"]
    main([*given, "--policy", "auto", "--seeds", "1", "--out", str(tmp_path / "out")])
    chosen = SAID.search(capsys.readouterr().out)
    assert chosen is not None
    before = {file.name for file in (tmp_path / "out" / "runs").iterdir()}
    main([*given, "--policy", chosen[1], "--seeds", "1", "--out", str(tmp_path / "out")])
    assert {file.name for file in (tmp_path / "out" / "runs").iterdir()} == before


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--policy", "auto+fgd"], "'auto' chooses a whole expression and stands alone"),
        (["--policy", "auto", "--target", "learnt"], "chosen for a known workload, expected a trace"),
    ],
)
def test_auto_in_a_mix_or_without_a_known_workload_is_one_line(
    tmp_path: Path, given: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["replay", *words(tmp_path), *given])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert told in said
    assert len(said.splitlines()) == 1
