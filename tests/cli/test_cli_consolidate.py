"""`wattpack simulate --consolidate` and `--bound`: numbers of the run itself, and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from wattpack.cli import main

NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{i},32000,65536,4,T4\n" for i in range(4))
HEAD = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,duration\n"
# Tasks of a minute take three GPUs of each node, so that each gets one task that stays for six hours.
FILLERS = "".join(f"f{i},1000,1024,3,1000,,0,60\n" for i in range(4))
STAY = "".join(f"t{i},1000,1024,1,1000,,1,21600\n" for i in range(4))
TASKS = HEAD + FILLERS + STAY + "last,1000,1024,1,500,,18000,60\n"


@pytest.fixture
def simulate(tmp_path: Path, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "tasks.csv").write_text(TASKS)

    def run(*words: str) -> tuple[dict[str, str], str]:
        files = ["--datacenter", str(tmp_path / "nodes.csv"), "--trace", str(tmp_path / "tasks.csv")]
        out = tmp_path / "out"
        main(["simulate", *files, "--policy", "fgd", "--out", str(out), *words])
        with (out / "time.csv").open() as file:
            return next(csv.DictReader(file)), capsys.readouterr().out

    return run


def test_tasks_are_brought_together_and_the_nodes_they_leave_sleep(simulate) -> None:  # type: ignore[no-untyped-def]
    alone, _ = simulate("--sleep", "reserve=0")
    together, said = simulate("--sleep", "reserve=0", "--consolidate", "every=30m,pause=30s")
    assert (alone["moves"], together["moves"]) == ("", "3")
    assert float(together["paused_gpu_hours"]) == pytest.approx(3 * 30 / 3600)
    assert float(together["kwh"]) < 0.6 * float(alone["kwh"])
    assert float(together["asleep_node_hours"]) > float(alone["asleep_node_hours"]) + 3
    assert together["consolidate"] == "moves=60,every=1800,pause=30,pays=3600,slower=no"
    assert "moves" in said


def test_with_sleep_the_table_says_how_far_each_run_is_above_the_least_energy(simulate) -> None:  # type: ignore[no-untyped-def]
    row, said = simulate("--sleep", "reserve=0")
    assert 0 < float(row["least_kwh"]) < float(row["kwh"])
    assert "above least" in said
    assert simulate("--sleep", "reserve=0", "--no-bound")[0]["least_kwh"] == ""
    awake, _ = simulate("--bound")
    assert float(row["least_kwh"]) < float(awake["least_kwh"]) <= float(awake["kwh"])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--consolidate",), "consolidate without sleep"),
        (("--sleep", "--consolidate", "moves=0"), "expected moves an hour"),
        (("--sleep", "--consolidate", "slower=maybe"), "expected yes or no"),
        (("--sleep", "--consolidate", "often"), "expected on, or knobs like"),
        (("--sleep", "--consolidate", "every=0s"), "expected at least 1 s"),
        (("--bound", "--no-bound"), "expected one of them"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(simulate, capsys, words, error) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SystemExit) as ended:
        simulate(*words)
    assert ended.value.code == 2
    assert error in capsys.readouterr().err
