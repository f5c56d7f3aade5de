"""`wattpack defrag` through its front door."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cli.files import write_nodes
from wattpack.cli import main

TASKS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
big,8000,65536,2,1000,
share-1,4000,8192,1,500,
share-2,4000,8192,1,500,
cpu-1,8000,30517,0,0,
waiting,1000,1024,8,1000,
"""
PLACEMENTS = """task,node,gpu_index
big,g2-a,0-1
share-1,g2-b,3
share-2,t4-a,0
cpu-1,g2-a,
waiting,,
"""


def defrag(folder: Path, *more: str, placements: str = PLACEMENTS) -> list[dict[str, str]]:
    (folder / "tasks.csv").write_text(TASKS)
    (folder / "now.csv").write_text(placements)
    out = folder / "moves.csv"
    words = ["--nodes", write_nodes(folder), "--tasks", str(folder / "tasks.csv")]
    main(["defrag", *words, "--placements", str(folder / "now.csv"), "--out", str(out), *more])
    with out.open(newline="") as file:
        return list(csv.DictReader(file))


def test_it_lists_moves_with_what_they_bring_and_the_totals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = defrag(tmp_path, "--gpu-worth", "0", "--allow-slower")
    said = capsys.readouterr().out
    # share-1 joins share-2: a G2 GPU (120 W) and a socket (105 W) less; then the rest to the T4 node too:
    # two G2 GPUs for two T4s (2 * 60 W) and a socket
    assert rows[0]["task"] == "share-1"
    assert (rows[0]["from_node"], rows[0]["from_gpu_index"]) == ("g2-b", "3")
    assert (rows[0]["to_node"], rows[0]["to_gpu_index"], float(rows[0]["saved_w"])) == ("t4-a", "0", 225.0)
    saved = sum(float(row["saved_w"]) for row in rows)
    assert saved == pytest.approx(225 + 2 * (120 - 60) + 105)
    assert float(rows[-1]["saved_w_so_far"]) == pytest.approx(saved)
    assert [int(row["move"]) for row in rows] == list(range(1, len(rows) + 1))
    assert f"{len(rows)} moves save {saved:,.0f} W" in said
    assert "no placement of these tasks could save more" in said


def test_the_placements_afterwards_are_read_by_replay_and_leave_nothing_to_move(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    after = tmp_path / "after.csv"
    defrag(tmp_path, "--placements-out", str(after))
    said = capsys.readouterr().out
    words = ["--nodes", write_nodes(tmp_path), "--tasks", str(tmp_path / "tasks.csv"), "--policy", "fgd"]
    main(["replay", *words, "--placements", str(after)])
    power = next(line.split()[-1] for line in said.splitlines() if line.startswith("power"))
    assert (
        next(line.split()[2] for line in capsys.readouterr().out.splitlines() if line.startswith("power, W")) == power
    )
    assert defrag(tmp_path, placements=after.read_text()) == []
    assert "no move is worth its trouble" in capsys.readouterr().out


def test_a_limit_is_kept_and_chains_are_not_cut(tmp_path: Path) -> None:
    assert len(defrag(tmp_path, "--moves", "1")) == 1


@pytest.mark.parametrize(
    ("words", "placements", "said"),
    [
        ((), "", "now.csv: empty, expected a header (task,node,gpu_index) and a line for each task"),
        (("--moves", "0"), PLACEMENTS, "--moves 0, expected 1 or more"),
        (("--least", "0"), PLACEMENTS, "expected watts above 0"),
        (("--gpu-worth", "-1"), PLACEMENTS, "expected watts from 0"),
        (("--profile", "nosuch"), PLACEMENTS, "expected one of paper"),
        (("--target", "nosuch"), PLACEMENTS, "no trace of this name"),
        ((), "task,node,gpu_index\nbig,g2-a,0\n", "task big does not fit on node g2-a (GPUs 0)"),
        ((), "task,node,gpu_index\nnosuch,g2-a,0\n", "a task of the tasks file"),
    ],
)
def test_bad_input_gets_one_line_exit_2_and_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], placements: str, said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        defrag(tmp_path, *words, placements=placements)
    assert ended.value.code == 2
    lines = [line for line in capsys.readouterr().err.strip().splitlines() if not line.startswith("compiling")]
    assert len(lines) == 1
    assert said in lines[0]
    assert not (tmp_path / "moves.csv").exists()


def test_compare_runs_each_policy_also_with_moves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tasks.csv").write_text(TASKS.replace("waiting,1000,1024,8", "waiting,1000,1024,1"))
    words = ["--datacenter", write_nodes(tmp_path), "--trace", str(tmp_path / "tasks.csv"), "--seeds", "1"]
    out = tmp_path / "out"
    words += ["--policy", "fgd", "--against", "fgd", "--steady", "0.5", "--defrag-every", "5000"]
    main(["compare", *words, "--out", str(out)])
    assert "fgd, moving" in capsys.readouterr().out
    with (out / "steady.csv").open(newline="") as file:
        plain, moved = csv.DictReader(file)
    assert (plain["defrag_every"], plain["saving"]) == ("", "0.000000")
    assert (moved["policy"], moved["defrag_every"], moved["defrag_moves"]) == ("fgd", "5000", "100")
    assert float(moved["moves_per_arrival"]) > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--defrag-every", "5"), "expected --steady LOADS too"),
        (("--steady", "0.5", "--defrag-every", "0"), "expected 1 or more"),
    ],
)
def test_moves_are_for_a_steady_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compare", "--out", str(tmp_path / "out"), *words])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_without_a_word_no_task_goes_to_a_slower_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """share-2 leaves its T4 (60 W and a socket of 105 W) for the G2 that share-1 is on; both may join big's node."""
    rows = defrag(tmp_path, "--gpu-worth", "0")
    gpu_moves = [row for row in rows if row["task"] != "cpu-1"]
    assert {row["to_node"] for row in gpu_moves} <= {"g2-a", "g2-b"}
    assert "share-2" in {row["task"] for row in gpu_moves}
    assert "t4-a" in capsys.readouterr().out


def test_it_names_the_nodes_that_become_empty_and_what_switching_them_off_saves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A G2 node idles at 8 x 30 + 3 x 15 = 285 W, the T4 node at 4 x 10 + 3 x 15 = 85 W."""
    defrag(tmp_path, "--gpu-worth", "0", "--allow-slower")
    said = capsys.readouterr().out
    assert "2 nodes become empty: g2-a, g2-b" in said
    assert "switching them off saves 570 W more" in said


def test_with_same_model_tasks_stay_on_their_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = defrag(tmp_path, "--gpu-worth", "0", "--same-model")
    assert all(row["from_node"][:2] == row["to_node"][:2] for row in rows if row["task"] != "cpu-1")
    with pytest.raises(SystemExit):
        defrag(tmp_path, "--same-model", "--allow-slower")
    assert "--allow-slower with --same-model, expected one of them" in capsys.readouterr().err


def test_a_model_of_unknown_speed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = (
        "sn,cpu_milli,memory_mib,gpu,model\ng2-a,96000,393216,8,MI210\ng2-b,96000,393216,8,G2\nt4-a,96000,393216,4,T4\n"
    )
    (tmp_path / "tasks.csv").write_text(TASKS)
    (tmp_path / "now.csv").write_text(PLACEMENTS)
    words = ["--nodes", write_nodes(tmp_path, nodes), "--tasks", str(tmp_path / "tasks.csv")]
    main(["defrag", *words, "--placements", str(tmp_path / "now.csv")])
    assert "tasks on MI210 stay on their model: no speed is known of it" in capsys.readouterr().err


def replayed(folder: Path, *more: str) -> dict[str, str]:
    (folder / "tasks.csv").write_text(TASKS)
    (folder / "now.csv").write_text(PLACEMENTS)
    words = ["--nodes", write_nodes(folder), "--tasks", str(folder / "tasks.csv"), "--policy", "pwr"]
    main(["replay", *words, "--decisions", str(folder / "new.csv"), "--placements", str(folder / "now.csv"), *more])
    with (folder / "new.csv").open(newline="") as file:
        return {row["task"]: row["node"] for row in csv.DictReader(file)}


def test_replay_sends_no_running_task_to_a_slower_gpu_unless_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`pwr` likes the T4 best. Kept from it, big and share-1 go to G2 nodes, and share-2 shares share-1's GPU."""
    found = replayed(tmp_path, "--pending")
    assert (found["big"], found["share-1"], found["share-2"]) == ("g2-a", "g2-a", "g2-a")
    assert "1 node becomes empty: t4-a\n  switching it off saves 85 W more" in capsys.readouterr().out
    free = replayed(tmp_path, "--pending", "--allow-slower")
    assert (free["big"], free["share-1"]) == ("t4-a", "t4-a")


def test_replay_needs_placements_to_know_what_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tasks.csv").write_text(TASKS)
    words = ["--nodes", write_nodes(tmp_path), "--tasks", str(tmp_path / "tasks.csv"), "--policy", "pwr"]
    with pytest.raises(SystemExit) as ended:
        main(["replay", *words, "--same-model"])
    assert ended.value.code == 2
    assert "expected --placements FILE too" in capsys.readouterr().err


def test_a_node_with_devices_that_are_not_understood_does_not_become_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = "sn,cpu_milli,memory_mib,gpu,model,only\n" + "".join(
        f"{name},96000,393216,{gpus},{model},{only}\n"
        for name, gpus, model, only in (("g2-a", 8, "G2", ""), ("g2-b", 8, "G2", "cpu"), ("t4-a", 4, "T4", ""))
    )
    (tmp_path / "tasks.csv").write_text(TASKS)
    (tmp_path / "now.csv").write_text(PLACEMENTS)
    words = ["--nodes", write_nodes(tmp_path, nodes), "--tasks", str(tmp_path / "tasks.csv"), "--allow-slower"]
    main(["defrag", *words, "--placements", str(tmp_path / "now.csv"), "--gpu-worth", "0"])
    assert "1 node becomes empty: g2-a\n  switching it off saves 285 W" in capsys.readouterr().out
