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
    rows = defrag(tmp_path, "--gpu-worth", "0")
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
    main(["compare", *words, "--policy", "fgd", "--steady", "0.5", "--defrag-every", "5000", "--out", str(out)])
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
