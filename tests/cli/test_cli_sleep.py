"""`--sleep` and `--cap` of `wattpack simulate`, `plan` and `explain --at`, and in experiment files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from cli.files import write_nodes, write_timed_tasks
from wattpack.cli import main
from wattpack.datasets.sources import load_datacenter
from wattpack.datasets.timed_files import read_timed_tasks
from wattpack.engine.moments.options import BACKFILL, Sleep, TimeOptions, with_caps
from wattpack.engine.moments.record import TimeRecord
from wattpack.engine.moments.simulate import new_simulation
from wattpack.model.caps import capped, speed_under_cap
from wattpack.model.power import PAPER
from wattpack.model.target import Target
from wattpack.policies.expression import parse

# `b` leaves its node empty for long; `c` has to wake it; `d` needs the T4, `e` keeps the run going.
TASKS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,duration,qos
a,32000,65536,8,1000,,100,9000,LS
b,32000,65536,8,1000,,110,1200,BE
c,32000,65536,8,1000,,6000,900,BE
d,4000,8192,1,300,T4,8100,300,LS
e,4000,8192,1,300,T4,9100,300,LS
"""


def inputs(folder: Path) -> list[str]:
    return ["--datacenter", write_nodes(folder), "--trace", write_timed_tasks(folder, TASKS)]


def simulate(folder: Path, *more: str) -> list[dict[str, str]]:
    main(["simulate", *inputs(folder), "--out", str(folder / "out"), *more])
    with (folder / "out" / "time.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def directly(folder: Path, sleep: Sleep | None, caps: dict[str, float]) -> TimeRecord:
    """The same run without the command line."""
    nodes, tasks = load_datacenter(write_nodes(folder)), read_timed_tasks(write_timed_tasks(folder, TASKS))
    speeds = with_caps(None, np.array([speed_under_cap(caps.get(model, 1.0)) for model in nodes.models]))
    options = TimeOptions(BACKFILL, sleep=sleep, speeds=speeds if caps else None)
    target = Target.of(tasks.workload)
    return new_simulation(nodes, tasks, parse("fgd"), target, None, capped(PAPER, caps), options).record()


@pytest.mark.parametrize(
    ("words", "sleep", "caps"),
    [
        (["--sleep"], Sleep(), {}),
        (["--sleep", "on"], Sleep(), {}),
        (["--sleep="], Sleep(), {}),
        (["--sleep", "idle=6m,reserve=0"], Sleep(360.0, reserve_gpus=0), {}),
        (["--sleep", "wake=10m,shutdown=2m,reserve=30%,watts=20"], Sleep(None, 120.0, 600.0, 20.0, 6), {}),
        (["--cap", "G2=0.7"], None, {"G2": 0.7}),
        (["--cap", "0.8", "--cap", "T4=0.5", "--sleep"], Sleep(), {"G2": 0.8, "T4": 0.5}),
    ],
)
def test_the_numbers_of_the_command_are_those_of_the_engine(
    tmp_path: Path, words: list[str], sleep: Sleep | None, caps: dict[str, float]
) -> None:
    (row,) = simulate(tmp_path, "--policy", "fgd", *words)
    record = directly(tmp_path, sleep, caps)
    joules = record.energy_j[-1]
    assert float(row["kwh"]) == pytest.approx(joules.sum() / 3.6e6, rel=1e-14)
    assert float(row["asleep_kwh"]) == pytest.approx(joules[3] / 3.6e6, rel=1e-14)
    assert float(row["transition_kwh"]) == pytest.approx(joules[4] / 3.6e6, rel=1e-14)
    assert row["wakes"] == ("" if sleep is None else str(record.wakes))
    assert row["asleep_node_hours"] == ("" if sleep is None else f"{record.asleep_node_s / 3600:.15g}")
    assert row["mean_asleep_nodes"] == ("" if sleep is None else f"{record.asleep_node_s / record.horizon_s:.15g}")
    assert float(row["wait_mean_s"]) == pytest.approx(np.nanmean(record.wait_s))


def test_sleep_saves_energy_and_its_price_is_the_wake(tmp_path: Path) -> None:
    (awake,) = simulate(tmp_path, "--policy", "fgd")
    (asleep,) = simulate(tmp_path, "--policy", "fgd", "--sleep", "reserve=0")
    assert float(asleep["kwh"]) < float(awake["kwh"])
    assert int(asleep["wakes"]) == 2  # for c and d; e finds the T4 awake still
    assert float(asleep["wait_p99_s"]) > float(awake["wait_p99_s"]) == 0


def test_the_same_knobs_in_other_words_are_the_same_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(tmp_path, "--policy", "fgd", "--sleep")
    runs = set((tmp_path / "out" / "time").iterdir())
    simulate(tmp_path, "--policy", "fgd", "--sleep", "wake=300s,shutdown=1m,reserve=2%")
    assert set((tmp_path / "out" / "time").iterdir()) == runs
    simulate(tmp_path, "--policy", "fgd", "--sleep", "wake=301")
    assert len(set((tmp_path / "out" / "time").iterdir())) == len(runs) + 1


def test_own_speeds_under_caps_replace_the_table(tmp_path: Path) -> None:
    table = tmp_path / "caps.csv"
    table.write_text("cap,speed\n0.7,0.5\n1,1\n")
    tasks_out = tmp_path / "tasks-out.csv"
    simulate(tmp_path, "--policy", "fgd", "--cap", "0.7", "--cap-speed", str(table), "--tasks-out", str(tasks_out))
    ended = {line.split(",")[0]: line.split(",")[3:5] for line in tasks_out.read_text().splitlines()[1:]}
    assert ended["b"] == ["10.0", "2410.0"]  # batch: 1200 s at half the speed
    assert ended["a"] == ["0.0", "9000.0"]  # a service runs until it is deleted


def test_with_speeds_a_cap_makes_the_same_work_take_longer_and_less_energy(tmp_path: Path) -> None:
    (plain,) = simulate(tmp_path, "--policy", "fgd", "--speed", "typical")
    (slower,) = simulate(tmp_path, "--policy", "fgd", "--speed", "typical", "--cap", "0.6")
    assert float(slower["work"]) == pytest.approx(float(plain["work"]))  # b and c end within the run under both
    assert float(slower["gpu_hours"]) > float(plain["gpu_hours"])
    assert float(slower["kwh_per_work"]) < float(plain["kwh_per_work"])
    (without,) = simulate(tmp_path, "--policy", "fgd", "--cap", "0.6")
    assert without["work"] == ""  # speeds under caps alone are no A100-hours


def test_lists_in_an_experiment_file_are_axes(tmp_path: Path) -> None:
    inputs(tmp_path)
    file = tmp_path / "experiment.toml"
    file.write_text(
        'policy = "fgd"\ntrace = "timed.csv"\ndatacenter = "nodes.csv"\n\n'
        '[timed]\nsleep = [false, true, "idle=6m,reserve=0"]\ncap = ["off", "T4=0.7"]\n'
    )
    main(["run", str(file), "--out", str(tmp_path / "out")])
    with (tmp_path / "out" / "time.csv").open(newline="") as found:
        rows = list(csv.DictReader(found))
    plain = "reserve=2%,shutdown=60,wake=300,watts=10"
    knobs = ["", "", plain, plain, *["idle=360,reserve=0,shutdown=60,wake=300,watts=10"] * 2]
    assert [row["sleep"] for row in rows] == knobs
    assert [row["cap"] for row in rows] == ["", "T4=0.7"] * 3


def test_plan_counts_nodes_that_sleep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["plan", "G2-8", *inputs(tmp_path), "--wait-p99", "1m", "--most", "3"]
    main([*common, "--out", str(tmp_path / "awake")])
    assert "2 nodes of G2-8" in capsys.readouterr().out.replace("The 2 nodes", "2 nodes")
    main([*common, "--sleep", "reserve=0", "--out", str(tmp_path / "asleep")])
    assert (
        "keeps the p99 of the wait" in capsys.readouterr().out
    )  # each number of nodes sleeps, and `d` waits for a wake


def explained(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    files = ["--nodes", write_nodes(folder), "--tasks", write_timed_tasks(folder, TASKS)]
    main(["explain", *files, "--policy", "fgd", *words])
    return capsys.readouterr().out


def test_explain_says_which_node_a_task_waits_for_and_when_it_is_awake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = explained(tmp_path, capsys, "--task", "c", "--at", "6000", "--sleep", "reserve=0,wake=10m,idle=1m")
    # c arrives at 6000 - 100 = 5900 s; g2-b, empty since 1210 s, wakes then
    assert "at 6,000 s: has waited 100 s" in said
    assert "placed on node g2-b, which is waking since 5,900 s and is awake at 6,500 s: it starts then" in said
    said = explained(tmp_path, capsys, "--task", "c", "--at", "5950", "--sleep", "reserve=0,idle=4600s,shutdown=5m")
    # empty since 1210 s, so the shutdown is from 5810 to 6110 s, and the wake follows
    assert "placed on node g2-b, which shuts down, begins to wake at 6,110 s and is awake at 6,410 s" in said


def test_explain_says_that_the_budget_keeps_a_node_asleep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = explained(tmp_path, capsys, "--task", "c", "--at", "6000", "--sleep", "reserve=0", "--budget-kw", "2")
    assert "it has room only on nodes that are not awake, and the power budget lets none of them wake" in said
    assert "the budget is 2.0 kW" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simulate", "--sleep", "6m"], "sleep '6m', expected on, or knobs"),
        (["simulate", "--cap", "H100=0.7"], "cap H100=0.7: no node has the GPU H100, expected one of G2, T4"),
        (["simulate", "--cap", "T4=2"], "cap of T4: 2, expected a share"),
        (["simulate", "--cap-speed", "x.csv"], "cap_speed without caps"),
        (["simulate", "--cap", "0.7", "--cap-speed", "nowhere.csv"], "no such file"),
        (["plan", "T4-4", "--wait-p99", "1m", "--sleep", "reserve=x"], "sleep: reserve 'x', expected"),
    ],
)
def test_wrong_options_end_with_2_one_line_and_nothing_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, *inputs(tmp_path), "--out", str(tmp_path / "out")])
    assert ended.value.code == 2
    found = capsys.readouterr().err
    assert said in found
    assert found.count("\n") == 1
    assert not (tmp_path / "out" / "time.csv").exists()


def test_explain_refuses_sleep_without_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        explained(tmp_path, capsys, "--task", "c", "--sleep")
    assert "--sleep or --cap without --at" in capsys.readouterr().err
