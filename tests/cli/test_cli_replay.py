"""`wattpack replay` through its front door."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cli.files import NODES, TASKS, write_nodes, write_tasks
from wattpack.cli import main


def replay(folder: Path, *more: str, policy: str = "fgd") -> None:
    main(["replay", "--nodes", write_nodes(folder), "--tasks", write_tasks(folder), "--policy", policy, *more])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_decisions_have_one_row_a_task_in_order_with_node_and_gpu_index(tmp_path: Path) -> None:
    replay(tmp_path, "--decisions", str(tmp_path / "d.csv"))
    decisions = rows(tmp_path / "d.csv")
    assert [row["task"] for row in decisions] == [line.split(",")[0] for line in TASKS.splitlines()[1:]]
    by_task = {row["task"]: row for row in decisions}
    assert by_task["cpu-1"]["node"] != ""
    assert by_task["cpu-1"]["gpu_index"] == ""  # a task without GPU
    assert by_task["eight"]["gpu_index"] == "0-1-2-3-4-5-6-7"
    assert by_task["t4-only"]["node"] == "t4-a"
    assert (by_task["never"]["node"], by_task["never"]["gpu_index"]) == ("", "")  # failed


def test_series_has_the_fixed_columns_and_the_state_after_every_task(tmp_path: Path) -> None:
    replay(tmp_path, "--series", str(tmp_path / "s.csv"))
    series = rows(tmp_path / "s.csv")
    assert ",".join(series[0]) == (
        "task,arrived_gpu_milli,allocated_gpu_milli,failed,power_w,cpu_power_w,gpu_power_w,fragmentation_milli"
    )
    assert [row["arrived_gpu_milli"] for row in series] == ["8000", "8500", "9000", "10000", "10000", "10300", "11300"]
    assert [row["failed"] for row in series] == ["0"] * 6 + ["1"]
    assert float(series[-1]["power_w"]) == float(series[-1]["cpu_power_w"]) + float(series[-1]["gpu_power_w"])


def test_a_task_that_can_never_fit_is_counted_and_named_and_not_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replay(tmp_path)
    said = capsys.readouterr()
    assert "can never fit any node: 1 x 1000 milli-vCPU, 1024 MiB, 1 x 1000 milli-GPU of H100" in said.err
    assert "7 tasks, 6 placed, 1 failed" in said.out


def test_an_empty_task_file_gives_an_empty_result(tmp_path: Path) -> None:
    nodes, tasks = write_nodes(tmp_path), write_tasks(tmp_path, TASKS.splitlines()[0] + "\n")
    files = ["--decisions", str(tmp_path / "d.csv"), "--series", str(tmp_path / "s.csv")]
    main(["replay", "--nodes", nodes, "--tasks", tasks, "--policy", "pwr:0.1+fgd:0.9", *files])
    assert (tmp_path / "d.csv").read_text() == "task,node,gpu_index\n"
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 1


def test_random_with_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        replay(tmp_path, "--decisions", str(tmp_path / name), "--seed", "7", policy="random")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("nodes", "tasks", "policy", "said"),
    [
        (NODES.replace("96000", "many", 1), TASKS, "fgd", "nodes.csv, line 2, column cpu_milli: 'many', expected"),
        (NODES.replace("G2", "H900", 1), TASKS, "fgd", "nodes.csv, line 2, column model: unknown GPU model 'H900'"),
        (NODES.replace("g2-b", "g2-a"), TASKS, "fgd", "nodes.csv, line 3, column sn: 'g2-a', expected a new name"),
        (NODES.splitlines()[0], TASKS, "fgd", "nodes.csv: no nodes, expected a header"),
        (NODES, TASKS.replace(",500,", ",1500,", 1), "fgd", "tasks.csv, line 3, column gpu_milli: '1500', expected"),
        (NODES, TASKS.replace("8,1000", "8,900"), "fgd", "tasks.csv, line 2, column gpu_milli: '900', expected 1000"),
        (NODES, TASKS.replace("num_gpu", "gpus"), "fgd", "tasks.csv, line 1: no column 'num_gpu'"),
        (NODES, TASKS, "fgd:0", "policy expression 'fgd:0': weight '0'"),
        (
            NODES,
            TASKS,
            "pwr+nosuch",
            "policy expression 'pwr+nosuch': unknown policy 'nosuch'; known policies: fgd, pwr",
        ),
    ],
)
def test_bad_input_gets_one_line_that_says_where_and_what_exit_2_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], nodes: str, tasks: str, policy: str, said: str
) -> None:
    out = tmp_path / "d.csv"
    words = ["--nodes", write_nodes(tmp_path, nodes), "--tasks", write_tasks(tmp_path, tasks), "--policy", policy]
    with pytest.raises(SystemExit) as ended:
        main(["replay", *words, "--decisions", str(out)])
    assert ended.value.code == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nodes.csv", "tasks.csv"]


def test_an_unwritable_output_is_one_line_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        replay(tmp_path, "--decisions", str(tmp_path / "no" / "such" / "folder" / "d.csv"))
    assert ended.value.code == 2
    assert "cannot be written" in capsys.readouterr().err.strip().splitlines()[-1]


def with_times(*seconds: object) -> str:
    header, *lines = TASKS.splitlines()
    times = [str(second) for second in seconds] + ["1000"] * (len(lines) - len(seconds))
    return "\n".join([f"{header},creation_time", *(f"{line},{t}" for line, t in zip(lines, times, strict=True))]) + "\n"


def test_with_windows_decisions_stay_in_order_and_the_series_is_in_the_order_of_placing(tmp_path: Path) -> None:
    replay(tmp_path, "--decisions", str(tmp_path / "d.csv"), "--series", str(tmp_path / "s.csv"), "--batch", "4")
    names = [line.split(",")[0] for line in TASKS.splitlines()[1:]]
    assert (tmp_path / "d.csv").read_text().splitlines()[0] == "task,node,gpu_index"
    assert [row["task"] for row in rows(tmp_path / "d.csv")] == names
    series = rows(tmp_path / "s.csv")
    assert sorted(row["task"] for row in series) == sorted(names)
    assert {row["task"] for row in series[:4]} == set(names[:4])  # window by window
    assert [row["failed"] for row in series][-1] == "1"
    arrived = [int(row["arrived_gpu_milli"]) for row in series]
    assert arrived == sorted(arrived)


def test_windows_that_close_by_time_say_how_long_tasks_were_held(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tasks at 0, 10, 25 s, the others at 1000 s: windows of two, at most 20 s. Waits: 10, 0, 20, then 0."""
    nodes, tasks = write_nodes(tmp_path), write_tasks(tmp_path, with_times(0, 10, 25))
    main(["replay", "--nodes", nodes, "--tasks", tasks, "--policy", "fgd", "--batch", "2", "--batch-seconds", "20"])
    said = capsys.readouterr().out
    assert said.startswith("fgd batch 2: 7 tasks, 6 placed, 1 failed")
    assert f"held for {(10 + 0 + 20) / 7:.1f} s in the mean, 20.0 s at most" in said


def test_windows_of_one_task_change_nothing_and_the_milp_gives_the_same_again(tmp_path: Path) -> None:
    for name, more in (
        ("a", ()),
        ("b", ("--batch", "1")),
        *((x, ("--batch", "4", "--batch-milp-seconds", "60")) for x in "cd"),
    ):
        replay(tmp_path, "--decisions", str(tmp_path / f"{name}.csv"), *more)
    texts = [(tmp_path / f"{name}.csv").read_bytes() for name in "abcd"]
    assert texts[0] == texts[1]
    assert texts[2] == texts[3]


@pytest.mark.parametrize(
    ("tasks", "words", "said"),
    [
        (TASKS, ("--batch", "0"), "batch 0, expected 1 (no windows) to 256 tasks"),
        (TASKS, ("--batch-seconds", "5"), "without windows, expected a batch of 2 tasks or more too"),
        (TASKS, ("--batch", "2", "--target", "learnt"), "--target learnt with --batch 2, expected one of them"),
        (TASKS, ("--batch", "2", "--batch-seconds", "5"), "tasks.csv, line 1: no column 'creation_time'"),
        (with_times(5, 4), ("--batch", "2", "--batch-seconds", "5"), "line 3, column creation_time: '4', expected"),
        (with_times("x"), ("--batch", "2", "--batch-seconds", "5"), "line 2, column creation_time: 'x', expected"),
        (with_times("nan"), ("--batch", "2", "--batch-seconds", "5"), "column creation_time: 'nan', expected seconds"),
    ],
)  # fmt: skip
def test_windows_that_make_no_sense_are_one_line_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tasks: str, words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "replay",
                "--nodes",
                write_nodes(tmp_path),
                "--tasks",
                write_tasks(tmp_path, tasks),
                "--policy",
                "fgd",
                *words,
            ]
        )
    assert ended.value.code == 2
    lines = [line for line in capsys.readouterr().err.strip().splitlines() if not line.startswith("compiling")]
    assert len(lines) == 1
    assert said in lines[0]


def test_on_nodes_without_gpus_the_gpus_requested_are_a_number_and_no_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = write_nodes(tmp_path, "sn,cpu_milli,memory_mib,gpu,model\nn1,96000,393216,0,\n")
    main(["replay", "--nodes", nodes, "--tasks", write_tasks(tmp_path), "--policy", "fgd"])
    # 8 + 0.5 + 0.5 + 1 + 0.3 + 1 GPUs.
    assert "GRAR 0.0000, 11.3 GPUs requested, no node has one" in capsys.readouterr().out
