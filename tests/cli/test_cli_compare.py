"""`wattpack compare` through its front door."""

from __future__ import annotations

import csv
import html
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.files import NODES, TASKS, write_nodes, write_tasks
from wattpack.cli import main
from wattpack.experiments.options import Offered
from wattpack.report.pictures import file_names


def compare(out: Path, *more: str) -> None:
    main(["compare", "--out", str(out), *more])


def rows(out: Path) -> list[dict[str, str]]:
    with (out / "summary.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_it_writes_the_fixed_columns_at_every_hundredth_of_load_and_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    compare(out, "--policy", "PWR:.1 + fgd:0.9", "--seeds", "2")
    header = (out / "summary.csv").read_text().splitlines()[0]
    assert header.startswith("trace,policy,load,eopc_w,cpu_w,gpu_w,saving,grar,fragmentation_milli,seeds")
    found = rows(out)
    assert {row["policy"] for row in found} == {"fgd", "pwr:0.1+fgd:0.9", "bound"}  # the baseline is always run
    assert [row["load"] for row in found if row["policy"] == "fgd"] == [f"{i / 100:.2f}" for i in range(131)]
    by = {(row["policy"], row["load"]): row for row in found}
    fgd, mix = by["fgd", "0.50"], by["pwr:0.1+fgd:0.9", "0.50"]
    assert float(mix["saving"]) == pytest.approx(1 - float(mix["eopc_w"]) / float(fgd["eopc_w"]), abs=1e-6)
    assert float(fgd["eopc_w"]) == pytest.approx(float(fgd["cpu_w"]) + float(fgd["gpu_w"]), abs=0.11)
    assert fgd["seeds"] == "2"
    assert 0.11 < float(mix["saving"]) < 0.15  # the paper's 13 %
    assert (out / "report.html").read_text().startswith("<!doctype html>")
    assert (out / "figures" / "compare-default.png").stat().st_size > 10_000
    assert str(out / "report.html") in capsys.readouterr().out


def test_without_the_bound_it_is_left_out(tmp_path: Path) -> None:
    compare(tmp_path / "out", "--policy", "pwr", "--seeds", "1", "--no-bound")
    assert {row["policy"] for row in rows(tmp_path / "out")} == {"fgd", "pwr"}


def test_the_same_command_again_runs_nothing_and_gives_the_same_bytes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--datacenter", write_nodes(tmp_path), "--trace", write_tasks(tmp_path), "--seeds", "2", "--policy", "pwr")
    compare(out, *words)
    summary = (out / "summary.csv").read_bytes()
    times = {file.name: file.stat().st_mtime_ns for file in (out / "runs").iterdir()}
    compare(out, *words)
    assert (out / "summary.csv").read_bytes() == summary
    assert {file.name: file.stat().st_mtime_ns for file in (out / "runs").iterdir()} == times


def test_with_windows_every_policy_is_shown_with_and_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ("--datacenter", write_nodes(tmp_path), "--trace", write_tasks(tmp_path), "--seeds", "2", "--policy", "pwr")
    compare(out, *words, "--against", "fgd", "--batch", "3", "--no-bound")
    assert {row["policy"] for row in rows(out)} == {"fgd", "pwr", "fgd batch 3", "pwr batch 3"}
    assert "pwr batch 3" in capsys.readouterr().out


def test_with_the_milp_the_policy_says_so_and_no_window_serves_less(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--datacenter", write_nodes(tmp_path), "--trace", write_tasks(tmp_path), "--seeds", "2", "--policy", "pwr")
    compare(out, *words, "--against", "fgd", "--batch", "3", "--batch-milp-seconds", "60", "--no-bound")
    policies = {row["policy"] for row in rows(out)}
    assert policies == {"fgd", "pwr", "fgd batch 3 milp 60 s", "pwr batch 3 milp 60 s"}
    assert "FGD, batch 3 milp 60 s" in (out / "report.html").read_text()


@pytest.fixture
def few_arrivals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steady states of 4,000 arrivals: 60,000 take half a minute and prove no more."""
    monkeypatch.setattr(Offered.__new__, "__defaults__", (4000,))


def test_a_steady_state_with_holds_and_pauses_reports_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], few_arrivals: None
) -> None:
    out = tmp_path / "out"
    words = ("--datacenter", write_nodes(tmp_path), "--trace", write_tasks(tmp_path), "--seeds", "1", "--policy", "fgd")
    more = ("--steady", "0.5", "--defrag-every", "500", "--defrag-moves", "3", "--defrag-pause-seconds", "30")
    compare(out, *words, *more, "--against", "fgd", "--batch", "8", "--batch-seconds", "600", "--no-bound")
    with (out / "steady.csv").open(newline="") as file:
        found = {(row["policy"], row["defrag_every"]): row for row in csv.DictReader(file)}
    assert set(found) == {(policy, every) for policy in ("fgd", "fgd batch 8") for every in ("", "500")}
    held = found["fgd batch 8", "500"]
    assert 0 < float(held["mean_wait_s"]) < float(held["largest_wait_s"]) <= 600
    assert held["defrag_pause_seconds"] == "30"
    assert float(held["lost_gpu_s"]) >= 0
    said = " ".join(capsys.readouterr().out.split())
    assert "at most 3 moves every 500 arrivals, each paused for 30 s" in said
    assert "GPUs paused" in said


def test_a_window_of_no_tasks_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        compare(tmp_path / "out", "--batch", "0")
    assert ended.value.code == 2
    assert "batch 0, expected 1 (no windows) to 256 tasks" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.e2e  # 7 s
def test_two_folders_from_the_same_seeds_hold_the_same_bytes(tmp_path: Path) -> None:
    words = (
        "--datacenter",
        write_nodes(tmp_path),
        "--trace",
        write_tasks(tmp_path),
        "--seeds",
        "2",
        "--policy",
        "random",
    )
    compare(tmp_path / "a", *words)
    compare(tmp_path / "b", *words, "--workers", "1")
    assert (tmp_path / "a" / "summary.csv").read_bytes() == (tmp_path / "b" / "summary.csv").read_bytes()
    first, second = ({f.name: f.read_bytes() for f in (tmp_path / x / "runs").iterdir()} for x in "ab")
    assert first == second


@pytest.mark.parametrize("command", ["compare", "bound", "tune", "run"])
def test_a_trace_without_tasks_is_refused_alike_by_every_command_that_compares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    nodes, tasks = write_nodes(tmp_path), write_tasks(tmp_path, TASKS.splitlines()[0] + "\n")
    words = ["--datacenter", nodes, "--trace", tasks]
    if command == "run":
        experiment = tmp_path / "experiment.toml"
        experiment.write_text(f"policy = 'fgd'\ndatacenter = {nodes!r}\ntrace = {tasks!r}\n")
        words = [str(experiment)]
    with pytest.raises(SystemExit) as ended:
        main([command, *words, "--out", str(tmp_path / "out")])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert tasks in said
    assert said.endswith("no tasks, expected at least one\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--datacenter", "nosuch"), "'nosuch': no datacenter of this name and no such file"),
        (("--trace", "nosuch"), "'nosuch': no trace of this name and no such file; known: default, multigpu20"),
        (("--policy", "fgd+fgd"), "'fgd' appears twice"),
        (("--seeds", "0"), "expected 1 to"),
        (("--on", "nosuch"), "nosuch"),
        (("--batch-seconds", "30", "--steady", "0.5"), "without windows, expected a batch of 2 tasks or more too"),
        (("--batch", "4", "--batch-seconds", "30"), "expected --steady LOADS too"),
        (("--batch", "4", "--batch-seconds", "0", "--steady", "0.5"), "batch seconds 0, expected above 0"),
        (("--batch", "4", "--batch-milp-seconds", "-1"), "batch MILP seconds -1, expected 0 (without it)"),
        (("--defrag-pause-seconds", "5", "--steady", "0.5"), "expected --defrag-every ARRIVALS too"),
        (("--defrag-every", "9", "--steady", "0.5", "--defrag-pause-seconds", "-1"), "expected 0 to"),
    ],
)
def test_bad_input_gets_one_line_exit_2_and_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        compare(tmp_path / "out", *words)
    assert ended.value.code == 2
    lines = [line for line in capsys.readouterr().err.strip().splitlines() if not line.startswith("compiling")]
    assert len(lines) == 1
    assert said in lines[0]
    assert not (tmp_path / "out").exists()


def test_an_empty_node_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = write_nodes(tmp_path, NODES.splitlines()[0] + "\n")
    with pytest.raises(SystemExit) as ended:
        compare(tmp_path / "out", "--datacenter", nodes)
    assert ended.value.code == 2
    assert "no nodes" in capsys.readouterr().err


@pytest.mark.e2e  # 13 s; `run` has the same in `make test`
def test_ctrl_c_ends_with_130_and_the_same_command_goes_on_from_the_finished_runs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-m", "wattpack", "compare", "--out", str(out), "--seeds", "40", "--policy", "pwr"]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ})
    runs = out / "runs"
    while not (runs.is_dir() and len(list(runs.glob("*.parquet"))) >= 3):
        assert child.poll() is None, child.communicate()[1]
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "finished runs are kept" in said
    assert "Traceback" not in said
    kept = {file.name: file.stat().st_mtime_ns for file in runs.glob("*.parquet")}
    assert len(kept) < 80
    compare(out, "--seeds", "40", "--policy", "pwr")
    after = {file.name: file.stat().st_mtime_ns for file in runs.glob("*.parquet")}
    assert len(after) == 80
    assert {name: after[name] for name in kept} == kept


NO_GPU = "sn,cpu_milli,memory_mib,gpu,model\na,96000,393216,0,\n"


@pytest.mark.parametrize("command", ["compare", "bound", "tune", "run"])
def test_a_datacenter_without_gpus_is_refused_by_every_command_that_compares(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, tasks, out = write_nodes(tmp_path, NO_GPU), write_tasks(tmp_path), tmp_path / "out"
    words = ["--datacenter", nodes, "--trace", tasks]
    if command == "run":
        (tmp_path / "e.toml").write_text('datacenter = "nodes.csv"\ntrace = "tasks.csv"\npolicy = "fgd"\n')
        words = [str(tmp_path / "e.toml")]
    with pytest.raises(SystemExit) as ended:
        main([command, *words, *(["--out", str(out)] if command != "bound" else [])])
    assert ended.value.code == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert "no node" in said
    assert "expected at least one" in said
    assert not out.exists()


@pytest.mark.parametrize("command", ["bound", "tune", "run"])
def test_a_trace_without_tasks_is_refused_in_the_same_words(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, tasks = write_nodes(tmp_path), write_tasks(tmp_path, TASKS.splitlines()[0] + "\n")
    words = ["--datacenter", nodes, "--trace", tasks]
    if command == "run":
        (tmp_path / "e.toml").write_text('datacenter = "nodes.csv"\ntrace = "tasks.csv"\npolicy = "fgd"\n')
        words = [str(tmp_path / "e.toml")]
    with pytest.raises(SystemExit) as ended:
        main([command, *words])
    assert ended.value.code == 2
    assert "no tasks, expected at least one" in capsys.readouterr().err


def test_traces_of_one_name_in_two_folders_have_a_figure_each(tmp_path: Path) -> None:
    for folder in ("A", "B"):
        (tmp_path / folder).mkdir()
        write_tasks(tmp_path / folder)
    traces = [str(tmp_path / folder / "tasks.csv") for folder in ("A", "B")]
    words = ["--trace", traces[0], "--trace", traces[1], "--policy", "pwr", "--seeds", "1", "--no-bound"]
    compare(tmp_path / "out", "--datacenter", write_nodes(tmp_path), *words)
    assert len(list((tmp_path / "out" / "figures").glob("*.png"))) == 2
    assert file_names(["A/tasks.csv", "B/tasks.csv", "default"]) == {
        "A/tasks.csv": "A-tasks.csv",
        "B/tasks.csv": "B-tasks.csv",
        "default": "default",
    }
    assert len(set(file_names(["a/b.csv", "../a/b.csv", "a-b.csv", "b.csv"]).values())) == 4


def test_a_figure_keeps_the_name_in_brackets_whole() -> None:
    assert file_names(["tasks.csv (a/two.csv)", "tasks.csv (one.csv, up to 0.9)", "default (linear)"]) == {
        "tasks.csv (a/two.csv)": "tasks (a-two.csv)",
        "tasks.csv (one.csv, up to 0.9)": "tasks (one.csv, up to 0.9)",
        "default (linear)": "default (linear)",
    }


def test_a_trace_whose_tasks_ask_for_no_gpu_is_said_to_have_nothing_to_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = write_tasks(tmp_path, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\ncpu-1,8000,30517,0,0\n")
    words = ["--trace", tasks, "--policy", "pwr", "--seeds", "1"]
    compare(tmp_path / "out", "--datacenter", write_nodes(tmp_path), *words)
    assert f"{tasks}: no task asks for a GPU, so the load stays 0" in capsys.readouterr().err


def test_many_kinds_of_tasks_that_never_fit_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    never = "".join(f"n{cpu},{cpu}000,1024,1,1000,H100\n" for cpu in range(1, 22))
    words = ["--trace", write_tasks(tmp_path, TASKS + never), "--policy", "pwr", "--seeds", "1", "--no-bound"]
    compare(tmp_path / "out", "--datacenter", write_nodes(tmp_path), *words)
    (said,) = [line for line in capsys.readouterr().err.splitlines() if "never fit" in line]
    # `never` of the tasks themselves and n1 are the same kind
    assert "can never fit any node: 21 kinds of tasks: 2 x 1000 milli-vCPU" in said
    assert said.endswith("; and 18 more kinds")


def test_a_small_steady_state_is_shown_in_its_own_unit_without_nan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], few_arrivals: None
) -> None:
    nodes = write_nodes(tmp_path, "sn,cpu_milli,memory_mib,gpu,model\na,8000,32768,1,T4\n")
    # Nothing fits: no GPU is ever in use, so there are no watts per GPU.
    tasks = write_tasks(tmp_path, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,64000,1024,1,1000\n")
    compare(
        tmp_path / "out", "--datacenter", nodes, "--trace", tasks, "--seeds", "1", "--policy", "pwr", "--steady", "0.5"
    )
    said = capsys.readouterr().out
    table = said[said.index("steady state at") :]
    assert " W ┃" in table  # one T4 and one socket, idle: 25 W
    assert not re.search(r"[kM]W", table)
    assert "0.000 " not in table.replace("0.0000±0.0000", "")
    assert "nan" not in said
    assert "nan" not in (tmp_path / "out" / "steady.csv").read_text()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "EOPC, W<" in page[page.index('id="steady"') :]
    assert (tmp_path / "out" / "figures" / "steady-tasks.png").stat().st_size > 0


def test_the_report_shows_the_command_line_as_it_was_given(tmp_path: Path) -> None:
    words = ("--datacenter", write_nodes(tmp_path), "--trace", write_tasks(tmp_path), "--seeds", "1", "--policy", "pwr")
    compare(tmp_path / "out of it", *words, "--no-bound")
    page = (tmp_path / "out of it" / "report.html").read_text()
    assert "--seeds 1 --policy pwr --no-bound" in page
    assert html.escape(f"'{tmp_path / 'out of it'}'") in page  # as a shell would take it
