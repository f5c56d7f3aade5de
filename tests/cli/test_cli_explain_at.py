"""`wattpack explain --at TIME`: what became of a task by then, or why it waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.files import write_nodes, write_tasks
from wattpack.cli import main

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,32000,131072,2,T4\nn2,32000,131072,1,G2\n"
TASKS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,duration
a,1000,1000,2,1000,,0,1000
b,1000,1000,1,1000,G2,10,500
c,1000,1000,2,1000,,20,100
d,1000,1000,1,1000,,30,100
e,1000,1000,2,1000,,40,100
never,1000,1000,8,1000,,50,100
late,1000,1000,1,500,,600,100
"""


@pytest.fixture
def at(tmp_path: Path, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def ask(task: str, time: str, *more: str) -> str:
        files = (write_nodes(tmp_path, NODES), write_tasks(tmp_path, TASKS))
        main(["explain", *files, "--policy", "fgd", "--task", task, "--at", time, *more])
        return capsys.readouterr().out

    return ask


def test_a_task_without_room_says_what_its_nodes_lack(at) -> None:  # type: ignore[no-untyped-def]
    said = at("c", "1m")
    assert "has waited 40 s; 3 tasks wait, 0 of them joined before it" in said
    assert "no node has room for it: not enough free GPU: 2 (of 2 nodes)" in said


def test_under_fifo_a_task_names_the_one_that_holds_up_the_queue(at) -> None:  # type: ignore[no-untyped-def]
    said = at("d", "520s", "--queue", "fifo")  # n2 is free since 510 s: it would fit there
    assert "it waits behind c, which holds up the queue" in said
    assert "not enough free GPU" in said
    assert "running on node n2, GPU 0; started at 510 s, ends at 610 s" in at("d", "520s", "--queue", "backfill")


def test_a_task_that_the_budget_holds_back_says_watts(at) -> None:  # type: ignore[no-untyped-def]
    said = at("b", "60s", "--budget-kw", "0.4")
    assert "the power budget holds it back: on n2, where the policy wants it, it adds" in said
    assert "the budget is 0.4 kW" in said


def test_a_budget_with_time_stamps_is_on_the_clock_of_the_tasks(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    tasks = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,duration\n"
    ten_o_clock = 1709546400  # 2024-03-04T10:00Z
    tasks += "".join(f"{name},1000,1000,1,1000,,{ten_o_clock + second},3000\n" for second, name in enumerate("ab"))
    budget = tmp_path / "budget.csv"  # begins an hour before the tasks: on the run's clock it is over when they come
    budget.write_text("timestamp,kw\n2024-03-04T09:00:00Z,0.1\n2024-03-04T09:59:00Z,100\n")
    files = (write_nodes(tmp_path, NODES), write_tasks(tmp_path, tasks))
    main(["explain", *files, "--policy", "fgd", "--task", "b", "--at", "10m", "--budget-kw", str(budget)])
    assert "running on node" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("task", "time", "more", "words"),
    [
        ("late", "5m", (), "has not arrived; it does at 600 s"),
        ("never", "5m", (), "refused: no node could ever hold it"),
        ("c", "5m", ("--queue", "drop"), "failed: no node had room when it arrived"),
        ("c", "5m", ("--patience", "1m"), "gave up"),
        ("a", "20m", (), "done on node n1, GPU 0-1; started at 0 s, ended at 1,000 s"),
    ],
)
def test_a_task_that_does_not_wait_says_what_became_of_it(at, task, time, more, words) -> None:  # type: ignore[no-untyped-def]
    assert words in at(task, time, *more)


def test_a_task_that_was_placed_shows_the_decision_then(at) -> None:  # type: ignore[no-untyped-def]
    said = at("d", "520s")
    assert "at 510 s, policy fgd" in said  # when b has left n2
    assert "decision: node n2, GPU 0 (the only node that fits, taken unscored)" in said
    assert "1 node does not fit, 1 shown (not enough free GPU: 1)" in said
    assert "decision" not in at("c", "1m")  # it waits


@pytest.mark.parametrize(
    "words",
    [("c", "soon"), ("c", "5m", "--queue", "lifo"), ("c", "5m", "--patience", "0"), ("c", "5m", "--budget-kw", "-1")],
)
def test_a_bad_option_is_one_line_and_exit_2(at, capsys, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SystemExit) as ended:
        at(*words)
    assert ended.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
