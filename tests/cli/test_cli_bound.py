"""`wattpack bound` through its front door."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cli.files import write_nodes, write_tasks
from wattpack.cli import main

SERVED = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
eight,32000,65536,8,1000,
share,4000,8192,1,500,
whole,8000,16384,1,1000,
cpu,8000,30517,0,0,
"""


def bound(folder: Path, *more: str) -> list[dict[str, str]]:
    nodes, tasks = write_nodes(folder), write_tasks(folder, SERVED)
    out = folder / "bound.csv"
    main(["bound", "--datacenter", nodes, "--trace", tasks, "--loads", "0.5,1", "--out", str(out), *more])
    with out.open(newline="") as file:
        return list(csv.DictReader(file))


def test_it_prints_a_row_a_load_and_says_what_they_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = bound(tmp_path)
    said = capsys.readouterr().out
    # 20 GPUs: half of them are 10; the shares of the trace serve them all
    assert (rows[0]["load"], float(rows[0]["gpu_requested"]), float(rows[0]["grar_most"])) == ("0.500000", 10.0, 1.0)
    assert f"{float(rows[0]['power_least_w']) / 1e3:.4f}" in said
    assert "GRAR at most" in said
    assert "No placement of these tasks" in said
    assert rows[0]["offline_power_w"] == rows[0]["saving_most"] == ""  # not asked for


def test_a_search_gives_a_placement_above_the_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = bound(tmp_path, "--offline", "0.1")
    said = capsys.readouterr().out
    assert "the run with seed 42" in said
    assert "above bound" in said
    for row in rows:
        assert float(row["offline_gpu_served"]) <= float(row["gpu_served_most"]) + 1e-5
        assert float(row["offline_power_w"]) >= float(row["offline_bound_w"]) - 0.1


def test_the_saving_is_told_against_the_runs_of_a_results_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, tasks = write_nodes(tmp_path), write_tasks(tmp_path, SERVED)
    out = tmp_path / "out"
    main(
        [
            "compare",
            "--datacenter",
            nodes,
            "--trace",
            tasks,
            "--policy",
            "pwr",
            "--seeds",
            "2",
            "--against",
            "fgd",
            "--out",
            str(out),
        ]
    )
    with (out / "summary.csv").open(newline="") as file:
        fgd = {row["load"]: row for row in csv.DictReader(file) if row["policy"] == "fgd"}
    rows = bound(tmp_path, "--against", str(out))
    base_w = float(fgd["0.50"]["eopc_w"])
    assert float(rows[0]["saving_most"]) == pytest.approx(1 - float(rows[0]["power_least_w"]) / base_w, abs=1e-4)
    assert fgd["1.00"]["eopc_w"] == rows[1]["saving_most"] == ""  # a run ended before that load
    assert "saving at most" in capsys.readouterr().out
    assert len(bound(tmp_path, "--against", str(out), "--seed", "43")) == 2


def test_with_sleep_it_also_shows_the_least_power_of_nodes_asleep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = bound(tmp_path)
    assert {row["power_least_asleep_w"] for row in plain} == {""}
    capsys.readouterr()
    rows = bound(tmp_path, "--sleep-w", "10", "--reserve", "0")
    assert [row["power_least_w"] for row in rows] == [row["power_least_w"] for row in plain]
    with_sleep_w = float(rows[0]["power_least_asleep_w"])
    assert 0 < with_sleep_w < float(rows[0]["power_least_w"])
    said = capsys.readouterr().out
    assert f"{with_sleep_w / 1e3:.4f}" in said
    assert "empty nodes sleep at\n10 W" in said
    assert "0 free GPUs stay awake" in said


def test_a_reserve_is_a_number_of_gpus_or_a_share_rounded_up_and_2_percent_by_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 20 GPUs: 2 % are 1, 7 % are 2; 30 are more than there are, so all nodes are awake."""
    for reserve, kept in ((None, 1), ("7%", 2), ("3", 3), ("30", 30)):
        rows = bound(tmp_path, "--sleep-w", "10", *([] if reserve is None else ["--reserve", reserve]))
        assert f"and {kept} free GPUs stay awake" in capsys.readouterr().out
    assert float(rows[0]["power_least_asleep_w"]) == pytest.approx(float(rows[0]["power_least_w"]), rel=2e-5)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--sleep-w", "-1"], "expected watts from 0 to 1,000,000"),
        (["--sleep-w", "nan"], "expected watts from 0 to 1,000,000"),
        (["--reserve", "2%"], "without --sleep-w"),
        (["--sleep-w", "10", "--reserve", "some"], "expected GPUs such as 16, or a share such as 2%"),
        (["--sleep-w", "10", "--reserve", "101%"], "expected GPUs such as 16, or a share such as 2%"),
        (["--sleep-w", "10", "--reserve", "1.5"], "expected GPUs such as 16, or a share such as 2%"),
        (["--loads", "0.5;1"], "expected numbers separated by commas"),
        (["--loads", "0.5,1.4"], "expected loads from 0 to 1.3"),
        (["--loads", "nan"], "expected loads from 0 to 1.3"),
        (["--seed", "-1"], "expected 0 to"),
        (["--seed", "1", "--expected"], "expected one of them"),
        (["--offline", "0"], "more than 0"),
        (["--profile", "solar"], "expected one of paper, linear, concave"),
        (["--against", "nowhere"], "expected a results folder"),
    ],
)
def test_a_wrong_option_is_one_line_and_exit_code_2(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["bound", *arguments])
    said = capsys.readouterr()
    assert left.value.code == 2
    assert expected in said.err
    assert said.err.count("\n") == 1


def test_a_folder_without_runs_of_this_trace_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes, tasks = write_nodes(tmp_path), write_tasks(tmp_path, SERVED)
    out = tmp_path / "out"
    main(["compare", "--datacenter", nodes, "--trace", tasks, "--policy", "fgd", "--seeds", "1", "--out", str(out)])
    with pytest.raises(SystemExit) as left:
        main(["bound", "--against", str(out), "--loads", "0.5"])
    assert left.value.code == 2
    assert "not found in it" in capsys.readouterr().err


def test_whole_nodes_hold_no_two_tasks_that_fit_no_node_together(tmp_path: Path) -> None:
    """Three tasks of 20 vCPU on three nodes of 32: merged they take the two sockets of 64 vCPU, in truth all three."""
    nodes = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{i},32000,262144,1,T4\n" for i in range(3))
    tasks = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\nwhole,20000,1024,1,1000,\n"
    (tmp_path / "n.csv").write_text(nodes)
    (tmp_path / "t.csv").write_text(tasks)
    given = ["bound", "--datacenter", str(tmp_path / "n.csv"), "--trace", str(tmp_path / "t.csv"), "--loads", "1"]
    found = []
    for more in ([], ["--whole-nodes"]):
        main([*given, "--out", str(tmp_path / "bound.csv"), *more])
        with (tmp_path / "bound.csv").open(newline="") as file:
            found.append(float(next(csv.DictReader(file))["power_least_w"]))
    assert found[1] > found[0] + 1
