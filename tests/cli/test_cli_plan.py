"""`wattpack plan` through its front door."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from cli.files import write_nodes, write_tasks
from wattpack.cli import main

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,32000,131072,1,T4\n"
# Four tasks of an hour at the same time, one GPU each: with four GPUs nobody waits, with two half of them wait an hour.
TASKS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,duration\n" + "".join(
    f"t{i},1000,1000,1,1000,{0 if i < 4 else 9000},3600\n" for i in range(5)
)


def plan(folder: Path, *words: str) -> None:
    files = ("--datacenter", write_nodes(folder, NODES), "--trace", write_tasks(folder, TASKS))
    main(["plan", *words, *files, "--out", str(folder / "out")])


def test_it_names_the_least_number_of_nodes_and_writes_what_it_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(tmp_path, "T4-1", "--wait-p99", "1m")
    assert "4 nodes of T4-1, 3 more than there are, keep the p99 of the wait at 1m or below" in capsys.readouterr().out
    rows = csv.DictReader((tmp_path / "out" / "plan.csv").read_text().splitlines())
    keeps = {row["nodes"]: row["keeps"] for row in rows}
    assert (keeps["3"], keeps["4"]) == ("no", "yes")


def test_a_longer_wait_needs_fewer_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan(tmp_path, "T4-1", "--wait-p99", "1h")
    assert "2 nodes of T4-1, 1 more than there are" in capsys.readouterr().out


def test_where_the_nodes_that_are_there_keep_it_it_says_so_of_one_node_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(tmp_path, "T4-1", "--wait-p99", "3h")
    assert "1 node of T4-1, as there is now, keeps the p99 of the wait at 3h or below" in capsys.readouterr().out


def test_where_no_number_does_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan(tmp_path, "T4-1", "--wait-p99", "1m", "--most", "3")
    assert "No number of T4-1 nodes up to 3 keeps" in capsys.readouterr().out


def test_tasks_that_no_node_can_hold_are_told_and_are_no_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = TASKS.replace(",1000,1000,1,1000,", ",64000,1000,1,1000,")  # 64 vCPU on nodes of 32
    files = ("--datacenter", write_nodes(tmp_path, NODES), "--trace", write_tasks(tmp_path, tasks))
    main(["plan", "T4-1", "--wait-p99", "1m", *files, "--most", "2", "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    assert "With 2 of T4-1, 5 of 5 tasks fit no node: they are refused and count in no wait." in said
    assert "nan" not in said + (tmp_path / "out" / "plan.csv").read_text()


def test_it_says_what_auto_chose_for_the_number_of_nodes_that_it_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(tmp_path, "T4-1", "--wait-p99", "1m", "--policy", "auto")
    said = capsys.readouterr().out
    assert re.search(r"^With 4 of T4-1, .*tasks.csv: auto -> \S+, because .* steady state", said, re.M)


@pytest.mark.parametrize(
    "words",
    [
        ("T4", "--wait-p99", "1m"),
        ("T4-1", "--wait-p99", "soon"),
        ("T4-1", "--wait-p99", "1m", "--queue", "drop"),
        ("T4-1", "--wait-p99", "1m", "--most", "0"),
        ("T4-1", "--wait-p99", "1m", "--seeds", "3"),
        ("NoSuch-1", "--wait-p99", "1m"),
    ],
)
def test_a_bad_option_is_one_line_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as ended:
        plan(tmp_path, *words)
    assert ended.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
