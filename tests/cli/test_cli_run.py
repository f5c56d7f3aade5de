"""`wattpack run` from the outside: what it writes and says, its exit codes, and Ctrl-C."""

import csv
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from experiments.small import SMALL_SPEC, run_files, write_plugin, write_spec
from wattpack.cli import main
from wattpack.cli.progress import progress_bar
from wattpack.experiments.options import Offered
from wattpack.policies import REGISTRY

# about 40 ms a run: long enough to be stopped in the middle
LONG_SPEC = 'policy = ["fgd", "pwr"]\nseeds = 15\n'


def run(*arguments: object) -> int:
    """Exit code of `wattpack run ARGUMENTS`, in this process."""
    try:
        main(["run", *map(str, arguments)])
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def start(*arguments: object) -> "subprocess.Popen[str]":
    """The same as a process of its own, in a group of its own, as a shell would start it."""
    return subprocess.Popen(
        [sys.executable, "-m", "wattpack", "run", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_it_says_what_a_power_file_changes_as_other_commands_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    power = tmp_path / "own.toml"
    power.write_text("[node]\nbase_w = 80\n")
    head = SMALL_SPEC.replace("profile =", "# profile =")
    for more, parents in ("", ["paper"]), ('profile = ["linear", "paper"]\n', ["linear", "paper"]):
        assert run(write_spec(tmp_path, f'power = "own.toml"\n{more}{head}'), "--out", tmp_path / "out") == 0
        found = [line for line in capsys.readouterr().err.splitlines() if line.startswith("power: ")]
        assert found == [f"power: {power} over the profile {parent}: base_w 80" for parent in parents]


def test_it_writes_the_folder_and_says_where_the_summary_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(write_spec(tmp_path, SMALL_SPEC), "--out", out) == 0
    said = capsys.readouterr()
    assert said.out.endswith(f"report   {out / 'report.html'}\nsummary  {out / 'summary.csv'}\n")
    assert "tasks.csv: saving against fgd" in said.out
    assert "\x1b" not in said.out
    assert "6 runs done in " in said.err
    assert "\x1b" not in said.err  # no colours and no bars, it is not a terminal
    assert sorted(path.name for path in out.iterdir()) == ["experiment.json", "report.html", "runs", "summary.csv"]
    assert len(run_files(out)) == 6
    assert run(tmp_path / "experiment.toml", "--out", out) == 0
    again = capsys.readouterr().err
    assert again.startswith("0 runs done in ")
    assert again.endswith(", 6 were there\n")


def test_wrong_input_is_one_line_exit_2_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    file = write_spec(tmp_path, 'policy = ["fgd", "fdg"]\ntrace = "none.csv"\nsead = 3\n')
    for arguments in ([file], [tmp_path / "none.toml"], [write_spec(tmp_path, SMALL_SPEC, "x.toml"), "--on", "mars"]):
        assert run(*arguments, "--out", out) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("wattpack: ")
        assert said.err.count("\n") == 1
    assert not out.exists()


def test_failed_runs_are_told_with_their_scenario_and_exit_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = write_plugin(tmp_path, name="unlucky", fault="no luck")
    file = write_spec(tmp_path, SMALL_SPEC.replace('"bestfit"', '"unlucky"'))
    try:
        assert run(file, "--out", tmp_path / "out", "--plugin", plugin, "--no-check") == 1
    finally:
        REGISTRY.pop("unlucky", None)
    said = capsys.readouterr().err
    assert "4 runs done" in said
    assert "failed: tasks.csv, unlucky, seed 42: ValueError: no luck\n" in said
    assert "wattpack: 2 runs failed" in said
    assert len(run_files(tmp_path / "out")) == 4


def test_a_plugin_is_known_to_worker_processes(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path, name="ours")
    file = write_spec(tmp_path, SMALL_SPEC.replace('"bestfit"', '"ours:0.5+fgd:0.5"'))
    command = start(file, "--out", tmp_path / "out", "--plugin", plugin, "--on", "processes", "--workers", "2")
    out, err = command.communicate(timeout=120)
    assert command.returncode == 0, err
    assert out.endswith(f"summary  {tmp_path / 'out' / 'summary.csv'}\n")
    assert len(run_files(tmp_path / "out")) == 6


@pytest.mark.parametrize("on", ["threads", pytest.param("processes", marks=pytest.mark.e2e)])
def test_ctrl_c_ends_with_130_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path: Path, on: str) -> None:
    file, out = write_spec(tmp_path, LONG_SPEC), tmp_path / "out"
    arguments = (file, "--out", out, "--on", on, "--workers", "2")
    command = start(*arguments)
    deadline = time.monotonic() + 120
    while len(list(out.glob("runs/*.parquet"))) < 3:
        assert command.poll() is None, command.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(command.pid, signal.SIGINT)  # a terminal sends it to workers too
    said, err = command.communicate(timeout=60)
    assert command.returncode == 130, err
    assert said == ""
    assert err.splitlines()[-1] == "wattpack: stopped; finished runs are kept, the same command goes on from them"
    assert "Traceback" not in err
    kept = run_files(out)
    assert 3 <= len(kept) < 30
    assert not any(name.endswith(".tmp") for name in kept)
    again = start(*arguments)
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert f"{30 - len(kept)} runs done" in err
    assert f"{len(kept)} were there" in err
    whole = run_files(out)
    assert len(whole) == 30
    assert {name: whole[name] for name in kept} == kept


def test_progress_shows_runs_rate_and_time_left_and_does_not_count_what_was_there() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=150)
    with progress_bar("[title]", console) as report:
        report(100, 110, "")
        for done in range(101, 106):
            time.sleep(0.02)
            report(done, 110, f"default, fgd, seed {done} [x]")
        time.sleep(0.2)  # the bar is drawn ten times a second
    shown = screen.getvalue()
    assert "[title]" in shown
    assert "105/110" in shown
    assert "left" in shown
    assert "0:00:00" in shown
    assert "seed 105 [x]" in shown
    rates = [float(text.split()[-1]) for text in shown.split(" runs/s")[:-1]]
    assert rates
    assert max(rates) < 60  # 5 runs in 0.1 s, not 105


def test_progress_is_silent_where_it_is_no_terminal() -> None:
    screen = io.StringIO()
    with progress_bar("title", Console(file=screen, force_terminal=False)) as report:
        report(0, 2, "")
        report(1, 2, "a run")
    assert screen.getvalue().strip() == ""


def test_an_experiment_with_steady_loads_writes_steady_csv_too_and_goes_on_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Offered.__new__, "__defaults__", (400,))  # arrivals: 60,000 would take minutes
    out = tmp_path / "out"
    more = "batch = [1, 4]\nbatch_seconds = 300\nsteady = 0.5\n"
    more += "defrag_every = [0, 100]\ndefrag_moves = 5\ndefrag_pause_seconds = 60\n"
    file = write_spec(
        tmp_path, 'datacenter = "nodes.csv"\ntrace = "tasks.csv"\npolicy = ["pwr", "bestfit"]\nseeds = 2\n' + more
    )
    assert run(file, "--out", out) == 0
    said = capsys.readouterr().out
    assert said.endswith(f"steady   {out / 'steady.csv'}\n")
    assert "pwr batch 4 within 300 s, moving" in " ".join(said.split())
    with (out / "steady.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert {(row["policy"], row["batch_seconds"], row["defrag_every"]) for row in rows} == {
        (f"{policy}{batch}", "300" if batch else "", every)
        for policy in ("pwr", "bestfit")
        for batch in ("", " batch 4")
        for every in ("", "100")
    }
    assert all(row["saving"] == "" for row in rows)  # fgd was not run
    for row in rows:
        assert (float(row["mean_wait_s"]) > 0) == (row["batch_seconds"] != "")
        assert float(row["largest_wait_s"]) <= 300
        assert (float(row["lost_gpu_s"]) > 0) == (float(row["moves_per_arrival"] or 0) > 0)
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "steady").iterdir()}
    assert len(kept) == 2 * 2 * 2 * 2
    assert run(file, "--out", out) == 0
    assert {path.name: path.stat().st_mtime_ns for path in (out / "steady").iterdir()} == kept
