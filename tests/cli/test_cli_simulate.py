"""`wattpack simulate` through its front door."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from cli.files import TIMED_TASKS, write_nodes, write_tasks, write_timed_tasks
from wattpack.cli import main
from wattpack.cli.commands.simulate import simulate_command
from wattpack.experiments.timed_table import HEADER

FIXED = [
    *("datacenter", "trace", "policy", "seed", "kwh", "facility_kwh", "mean_kw", "peak_kw", "co2_kg", "money"),
    *("gpu_hours", "work", "arrived", "failed", "refused", "gave_up", "waiting"),
    *("wait_mean_s", "wait_p50_s", "wait_p95_s", "wait_p99_s", "wakes", "asleep_node_hours"),
]


def inputs(folder: Path) -> list[str]:
    return ["--datacenter", write_nodes(folder), "--trace", write_timed_tasks(folder)]


def simulate(folder: Path, *more: str) -> Path:
    main(["simulate", *inputs(folder), "--out", str(folder / "out"), *more])
    return folder / "out"


def rows(out: Path) -> list[dict[str, str]]:
    with (out / "time.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def fault(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_the_fixed_columns_of_time_csv_come_first_and_fgd_is_run_too(tmp_path: Path) -> None:
    out = simulate(tmp_path, "--policy", "pwr")
    header = (out / "time.csv").read_text().splitlines()[0].split(",")
    assert header[: len(FIXED)] == FIXED
    assert tuple(header) == HEADER
    found = rows(out)
    assert [row["policy"] for row in found] == ["fgd", "pwr"]
    assert {row["seed"] for row in found} == {"0"}
    assert {row["wakes"] + row["asleep_node_hours"] + row["co2_kg"] + row["money"] for row in found} == {""}
    assert (out / "report.html").read_text().startswith("<!doctype html>")


def test_a_file_with_times_runs_as_it_is_and_each_task_is_written(tmp_path: Path) -> None:
    tasks_out = tmp_path / "tasks-out.csv"
    out = simulate(tmp_path, "--policy", "fgd", "--queue", "backfill", "--tasks-out", str(tasks_out))
    lines = tasks_out.read_text().splitlines()
    assert lines[0] == "task,node,gpu_index,start_s,end_s,outcome,arrival_s,wait_s"
    by_name = {line.split(",")[0]: line.split(",")[1:] for line in lines[1:]}
    assert list(by_name) == [line.split(",")[0] for line in TIMED_TASKS.splitlines()[1:]]
    # Seconds from the first arrival, 100. The third task starts when the first leaves, on its node.
    assert by_name["eight-1"] == ["g2-a", "0-1-2-3-4-5-6-7", "0.0", "3600.0", "done", "0.0", "0.0"]
    assert by_name["eight-2"] == ["g2-b", "0-1-2-3-4-5-6-7", "10.0", "3610.0", "done", "10.0", "0.0"]
    assert by_name["eight-3"] == ["g2-a", "0-1-2-3-4-5-6-7", "3600.0", "7200.0", "running", "20.0", "3580.0"]
    assert by_name["never"][:5] == ["", "", "", "", "refused"]
    assert by_name["never"][6] == ""
    assert by_name["t4-only"][3:5] == ["4300.0", "running"]
    (row,) = rows(out)
    assert [row[name] for name in ("arrived", "done", "running", "waiting")] == ["7", "4", "2", "0"]
    assert [row[name] for name in ("failed", "refused", "gave_up")] == ["0", "1", "0"]
    assert float(row["horizon_s"]) == 4000
    assert float(row["mean_kw"]) * 4000 / 3600 == pytest.approx(float(row["kwh"]), rel=1e-12)
    # eight-3 waits 3600 - 20 s, the five other tasks that start wait 0 s: 3580 / 6 in the mean
    assert float(row["wait_mean_s"]) == pytest.approx(3580 / 6)


def test_until_done_the_run_ends_with_the_last_task_and_says_how_long_all_took(tmp_path: Path) -> None:
    """eight-3 waits for eight-1 and ends at 7200; to the last arrival, at 4000, two tasks would still run."""
    tasks_out = tmp_path / "tasks-out.csv"
    out = simulate(tmp_path, "--policy", "fgd", "--until", "done", "--tasks-out", str(tasks_out))
    tasks = list(csv.DictReader(tasks_out.read_text().splitlines()))
    done = [task for task in tasks if task["outcome"] == "done"]
    assert len(done) == 6
    assert {task["outcome"] for task in tasks} == {"done", "refused"}
    took_s = [float(task["end_s"]) - float(task["arrival_s"]) for task in done]
    (row,) = rows(out)
    assert [row[name] for name in ("done", "running", "waiting", "until")] == ["6", "0", "0", "done"]
    assert float(row["horizon_s"]) == float(row["makespan_s"]) == max(float(task["end_s"]) for task in done) == 7200
    assert float(row["jct_mean_s"]) == pytest.approx(sum(took_s) / 6)
    assert float(row["jct_p50_s"]) == pytest.approx(np.percentile(took_s, 50))
    assert float(row["jct_p99_s"]) == pytest.approx(np.percentile(took_s, 99))
    assert [float(task["wait_s"]) for task in done] == [
        pytest.approx(float(task["start_s"]) - float(task["arrival_s"])) for task in done
    ]


def test_until_done_the_table_has_completion_time_and_makespan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(tmp_path, "--policy", "pwr", "--until", "done")
    said = capsys.readouterr().out
    assert "completion" in said
    assert "makespan" in said
    assert "7,200" in said


def test_until_done_is_the_run_with_that_horizon(tmp_path: Path) -> None:
    (done,) = rows(simulate(tmp_path, "--policy", "fgd", "--until", "done", "--sleep", "idle=1m,reserve=0"))[:1]
    told = rows(simulate(tmp_path, "--policy", "fgd", "--horizon", "7200s", "--sleep", "idle=1m,reserve=0"))[0]
    assert {name for name in told if told[name] != done[name]} == {"until"} | (
        {"horizon_s"} if done["horizon_s"] != "7200" else set()
    )


def write_starving(folder: Path) -> list[str]:
    """One node of 8 GPUs. A task of 4 comes every 100 s and runs 250 s: a task of 8 finds room when they end."""
    (folder / "one.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn,96000,393216,8,T4\n")
    small = [f"small-{i},1000,1024,4,1000,{100 * i},250" for i in range(80)]
    rows = [
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,duration",
        *small,
        "large,1000,1024,8,1000,150,60",
    ]
    (folder / "starving.csv").write_text("\n".join(rows) + "\n")
    return ["--datacenter", str(folder / "one.csv"), "--trace", str(folder / "starving.csv"), "--policy", "fgd"]


def test_a_task_that_backfill_starves_is_named_beside_its_wait_under_fifo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under fifo it starts when the two small ones before it have ended, at 350 s; under backfill after all others."""
    main(["simulate", *write_starving(tmp_path), "--until", "done", "--out", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert "backfill lets" in said
    assert "large (8 GPUs)" in said
    assert "instead of 200 s" in said
    main(["simulate", *write_starving(tmp_path), "--queue", "fifo", "--until", "done", "--out", str(tmp_path / "fifo")])
    assert "backfill" not in capsys.readouterr().err


def test_run_names_a_task_that_backfill_starves_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_starving(tmp_path)
    (tmp_path / "e.toml").write_text(
        'policy = "fgd"\ndatacenter = "one.csv"\ntrace = "starving.csv"\nseeds = 1\n[timed]\nuntil = "done"\n'
    )
    main(["run", str(tmp_path / "e.toml"), "--out", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert "large (8 GPUs)" in said
    assert "instead of 200 s" in said


def test_until_done_names_the_tasks_that_can_never_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The budget is below what the idle node draws: no task ever starts."""
    (tmp_path / "one.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn,96000,393216,8,T4\n")
    tasks = "".join(f"stuck-{i},1000,1024,1,1000,{i},60\n" for i in range(5))
    (tmp_path / "tasks.csv").write_text(f"name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,duration\n{tasks}")
    words = ["--datacenter", str(tmp_path / "one.csv"), "--trace", str(tmp_path / "tasks.csv"), "--policy", "fgd"]
    main(["simulate", *words, "--budget-kw", "0.001", "--until", "done", "--out", str(tmp_path / "out")])
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "nothing is left" in line]
    assert "5 tasks still waiting" in line
    assert line.endswith(": stuck-0, stuck-1, stuck-2 and 2 more")


def test_a_bound_over_a_horizon_of_0_s_is_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One task: the run ends with its arrival. Nothing is drawn in no time, and nothing is above the least."""
    (tmp_path / "one.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn,96000,393216,8,T4\n")
    header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,duration"
    (tmp_path / "task.csv").write_text(f"{header}\na,1000,1024,1,1000,0,60\n")
    words = ["--datacenter", str(tmp_path / "one.csv"), "--trace", str(tmp_path / "task.csv"), "--policy", "pwr"]
    main(["simulate", *words, "--bound", "--out", str(tmp_path / "out")])
    assert {row["kwh"] for row in rows(tmp_path / "out")} == {"0"}
    assert "above least" not in capsys.readouterr().out


def test_backfill_is_said_to_reserve_nothing() -> None:
    assert "no room is reserved for it, so a large task may wait very long" in str(simulate_command.__doc__)


def test_until_something_else_or_with_a_horizon_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "expected done" in fault(["simulate", *inputs(tmp_path), "--until", "dusk"], capsys)
    assert "expected one of them" in fault(
        ["simulate", *inputs(tmp_path), "--until", "done", "--horizon", "2h"], capsys
    )


def test_tasks_that_a_budget_never_lets_start_are_named_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = simulate(tmp_path, "--policy", "fgd", "--until", "done", "--budget-kw", "1")
    row = rows(out)[0]
    assert int(row["waiting"]) > 0
    assert f"{row['waiting']} task" in capsys.readouterr().err


@pytest.mark.parametrize(("queue", "outcome"), [("drop", "failed"), ("fifo", "running"), ("backfill", "running")])
def test_the_queue_decides_what_becomes_of_a_task_without_room(tmp_path: Path, queue: str, outcome: str) -> None:
    tasks_out = tmp_path / "tasks-out.csv"
    simulate(tmp_path, "--policy", "fgd", "--queue", queue, "--tasks-out", str(tasks_out))
    assert next(line for line in tasks_out.read_text().splitlines() if "eight-3" in line).split(",")[5] == outcome


def test_a_task_gives_up_after_its_patience(tmp_path: Path) -> None:
    (row, *_) = rows(simulate(tmp_path, "--patience", "10m", "--policy", "fgd"))
    assert (row["gave_up"], row["wait_p99_s"]) == (
        "1",
        "570",
    )  # 99 % of the way from 0 to 600 s, of 6 tasks: 0.95 * 600


def test_signals_and_speeds_fill_their_columns(tmp_path: Path) -> None:
    out = simulate(
        *(tmp_path, "--policy", "fgd", "--pue", "1.5", "--carbon", "400", "--price", "0.2 EUR", "--speed", "typical")
    )
    (row,) = rows(out)
    kwh = float(row["kwh"])
    assert float(row["facility_kwh"]) == pytest.approx(1.5 * kwh, rel=1e-12)
    assert float(row["co2_kg"]) == pytest.approx(1.5 * kwh * 0.4, rel=1e-12)
    assert float(row["money"]) == pytest.approx(1.5 * kwh * 0.2, rel=1e-12)
    assert row["currency"] == "EUR"
    assert float(row["kwh_per_work"]) == pytest.approx(kwh / float(row["work"]), rel=1e-9)


def test_tasks_are_drawn_at_a_load_the_same_for_all_policies_and_datacenters(tmp_path: Path) -> None:
    nodes = write_nodes(tmp_path)
    words = ["--datacenter", f"{nodes} --add 2xG2-8", "--load", "0.5", "--days", "0.5", "--seeds", "2"]
    found = rows(simulate(tmp_path, *words, "--policy", "pwr"))
    assert [(row["datacenter"], row["policy"], row["seed"]) for row in found] == [
        (name, policy, seed)
        for seed in ("42", "43")
        for name in (nodes, f"{nodes} --add 2xG2-8")
        for policy in ("fgd", "pwr")
    ]
    assert len({(row["seed"], row["arrived"]) for row in found}) == 2  # one number of tasks a seed
    assert {row["load"] + row["days"] for row in found} == {"0.50.5"}


def test_the_load_is_of_the_datacenter_without_edits(tmp_path: Path) -> None:
    words = ["--load", "0.5", "--days", "0.5", "--seeds", "1", "--policy", "fgd"]
    (plain,) = rows(simulate(tmp_path, *words))
    (edited,) = rows(simulate(tmp_path, *words, "--add", "4xG2-8", "--replace", "T4=L4"))
    assert plain["arrived"] == edited["arrived"]
    assert edited["datacenter"].endswith("--replace T4=L4 --add 4xG2-8")


def test_the_same_command_again_runs_nothing_and_gives_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = simulate(tmp_path, "--policy", "pwr")
    table, times = (out / "time.csv").read_bytes(), {file: file.stat().st_mtime_ns for file in (out / "time").iterdir()}
    first = capsys.readouterr().out
    simulate(tmp_path, "--policy", "pwr")
    assert capsys.readouterr().out == first
    assert (out / "time.csv").read_bytes() == table
    assert {file: file.stat().st_mtime_ns for file in (out / "time").iterdir()} == times


def test_a_table_and_two_sentences_are_printed_with_the_columns_that_apply(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(tmp_path, "--policy", "pwr")
    said = capsys.readouterr().out
    assert "timed.csv: backfill (one run; saving against fgd in %)" in said
    head = said.splitlines()[1]
    assert [word for word in ("IT", "saving", "peak", "wait p99", "refused") if word not in head] == []
    assert "CO2e" not in head
    assert "facility" not in head
    assert "less energy per GPU-hour than fgd" in said
    assert "99 % of the tasks wait at most" in said
    simulate(tmp_path, "--policy", "pwr", "--queue", "drop", "--carbon", "DEU", "--pue", "1.2")
    head = capsys.readouterr().out.splitlines()[1]
    assert "CO2e" in head
    assert "failed" in head
    assert "wait" not in head


def test_data_on_standard_output_stand_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(tmp_path, "--policy", "fgd", "--tasks-out", "-")
    said = capsys.readouterr()
    assert said.out.startswith("task,node,gpu_index,start_s,end_s,outcome,arrival_s,wait_s\neight-1,")
    assert len(said.out.splitlines()) == 8
    assert "per GPU-h" in said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--queue", "lifo"], "queue 'lifo', expected one of drop, fifo, backfill"),
        (["--patience", "soon"], "patience 'soon', expected a duration"),
        (["--patience", "1h", "--queue", "drop"], "patience with queue drop"),
        (["--load", "0"], "load 0.0, expected a number above 0"),
        (["--days", "3"], "expected a load to draw tasks at, or a horizon"),
        (["--seeds", "3"], "nothing is drawn, expected --load too"),
        (["--load", "1", "--days", "3660", "--sample", "1s"], "expected at most"),
        (["--pue", "0.5"], "PUE '0.5', expected a number from 1"),
        (["--carbon", "Atlantis"], "carbon 'Atlantis', expected a file"),
        (["--price", "cheap"], "price 'cheap', expected a file or a price"),
        (["--budget-kw", "-1"], "expected kW above 0"),
        (["--speed", "no.csv"], "expected typical or a CSV file"),
        (["--speed-reference", "2"], "expected a table of speeds too"),
        (["--slack", "BE=6h"], "without carbon or price"),
        (["--slack", "XX=6h", "--carbon", "DEU"], "no task of that class of service"),
        (["--forecast", "magic"], "expected one of perfect, yesterday"),
        (["--start", "2024-01-01"], "has no time zone"),
        (["--arrivals", "flood", "--load", "0.5"], "expected one of poisson, rhythm, bursts"),
        (["--replace", "T4"], "expected two models like T4=L4"),
        (["--target", "nowhere"], "no trace of this name"),
        (["--policy", "pwr", "--tasks-out", "x.csv"], "expected one --policy"),
        (["--tasks-out", "nowhere/x.csv"], "cannot be written"),
    ],
)
def test_a_wrong_option_is_one_line_and_nothing_is_written(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert said in fault(["simulate", *inputs(tmp_path), "--policy", "fgd", "--out", str(out), *words], capsys)
    assert not out.exists()


def test_an_experiment_file_runs_in_time_and_beside_fill_ups_the_page_has_a_name_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_nodes(tmp_path)
    write_timed_tasks(tmp_path)
    spec, out = tmp_path / "e.toml", tmp_path / "out"
    spec.write_text('datacenter = "nodes.csv"\ntrace = "timed.csv"\npolicy = ["fgd", "pwr"]\nseeds = 1\n[timed]\n')
    main(["run", str(spec), "--out", str(out)])
    assert sorted(file.name for file in out.iterdir() if file.suffix == ".html") == ["report.html"]
    assert "less energy per GPU-hour than fgd" in capsys.readouterr().out
    spec.write_text(f"up_to = 0.5\n{spec.read_text()}")
    main(["run", str(spec), "--out", str(out)])
    assert sorted(file.name for file in out.iterdir() if file.suffix == ".html") == ["report.html", "time.html"]
    assert "What it would have cost" in (out / "time.html").read_text()
    assert "Power and fragmentation report" in (out / "report.html").read_text()


def test_tasks_without_times_are_refused_with_the_columns_that_are_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", "--datacenter", write_nodes(tmp_path), "--trace", write_tasks(tmp_path)]
    assert "no columns with times, expected creation_time and duration" in fault(words, capsys)


def test_a_model_without_a_speed_is_named_with_the_lines_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "speeds.csv"
    table.write_text("model,speed\nG2,0.5\n")
    said = fault(["simulate", *inputs(tmp_path), "--speed", str(table)], capsys)
    assert "no speed of T4, expected a CSV file with the header model,speed and lines like: T4,1.0" in said
