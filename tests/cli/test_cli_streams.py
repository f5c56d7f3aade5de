"""Standard output that ends before the command does: nothing is lost, nothing is a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.files import write_nodes, write_tasks

BUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"])
WATTPACK = f"{sys.executable} -m wattpack"
REPLAY = f"{WATTPACK} replay --nodes nodes.csv --tasks tasks.csv --policy fgd"


def shell(line: str, folder: Path, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    command = ["bash", "-c", f"set -o pipefail; {line}"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    write_nodes(tmp_path)
    write_tasks(tmp_path)
    return tmp_path


@BUFFERED
@pytest.mark.parametrize("words", ["policies", "--help"])
def test_a_reader_that_goes_away_is_a_quiet_end(tmp_path: Path, words: str, unbuffered: str) -> None:
    done = shell(f"{WATTPACK} {words} | true", tmp_path, unbuffered)
    assert done.stderr == ""
    assert done.returncode in (0, 1)


def test_a_reader_that_goes_away_costs_no_file_of_compare(inputs: Path) -> None:
    words = "compare --datacenter nodes.csv --trace tasks.csv --policy pwr --seeds 1 --steady 0.5 --no-bound --out out"
    done = shell(f"{WATTPACK} {words} | true", inputs, "1")  # unbuffered: the first print fails
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)
    for name in ("summary.csv", "report.html", "steady.csv", "figures/compare-tasks.png"):
        assert (inputs / "out" / name).stat().st_size > 0, name


@pytest.mark.e2e  # 11 s; that of `compare` is in `make test`
@pytest.mark.parametrize(
    ("words", "files"),
    [
        ("run experiment.toml --out out", ("summary.csv", "report.html", "steady.csv")),
        ("bound --datacenter nodes.csv --trace tasks.csv --loads 0.5,1 --out out/b.csv", ("b.csv",)),
        (
            "tune --datacenter nodes.csv --trace tasks.csv --policy pwr --seeds 2 --loads 0.5 --out out",
            ("pareto.csv", "figures/pareto-tasks.png"),
        ),
    ],
)
def test_a_reader_that_goes_away_costs_no_file_of_other_commands(
    inputs: Path, words: str, files: tuple[str, ...]
) -> None:
    text = 'policy = ["fgd", "pwr"]\ndatacenter = "nodes.csv"\ntrace = "tasks.csv"\nseeds = 1\nsteady = 0.5\n'
    (inputs / "experiment.toml").write_text(text)
    (inputs / "out").mkdir()
    done = shell(f"{WATTPACK} {words} | true", inputs, "1")
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)
    for name in files:
        assert (inputs / "out" / name).stat().st_size > 0, name


@BUFFERED
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", ["policies", "--help"])
def test_a_full_disk_behind_standard_output_is_one_line_and_exit_1(tmp_path: Path, words: str, unbuffered: str) -> None:
    done = shell(f"{WATTPACK} {words} > /dev/full", tmp_path, unbuffered)
    assert done.stderr == "wattpack: cannot write to standard output (No space left on device)\n"
    assert done.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_costs_no_file(inputs: Path) -> None:
    done = shell(f"{REPLAY} --decisions d.csv > /dev/full", inputs)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "wattpack: cannot write to standard output (No space left on device)"
    assert len((inputs / "d.csv").read_text().splitlines()) == 8


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_closed_streams_cost_no_file_and_no_failure(inputs: Path, closed: str) -> None:
    done = shell(f"{REPLAY} --decisions d.csv {closed}", inputs)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
    text = (inputs / "d.csv").read_text()
    assert text.startswith("task,node,gpu_index\n")
    assert len(text.splitlines()) == 8
    assert {path.name for path in inputs.iterdir()} == {"nodes.csv", "tasks.csv", "d.csv"}


def test_data_for_a_standard_output_that_is_closed_is_a_failure(inputs: Path) -> None:
    done = shell(f"{REPLAY} --decisions - >&-", inputs)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("wattpack: -: cannot be written (standard output is closed)")


def test_tables_for_a_standard_output_that_is_closed_are_no_failure(inputs: Path) -> None:
    done = shell(f"{WATTPACK} explain nodes.csv tasks.csv --policy fgd --task eight >&-", inputs)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_wrong_with_the_input_is_the_exit_code_also_where_nobody_reads(inputs: Path) -> None:
    done = shell(f"{REPLAY}x 2>&1 | true", inputs)
    assert done.returncode == 2
    assert shell(f"{REPLAY}x 2>&-", inputs).returncode == 2


def test_progress_that_nobody_reads_does_not_stop_a_run(inputs: Path) -> None:
    words = "compare --datacenter nodes.csv --trace tasks.csv --policy pwr --seeds 1 --no-bound --out out"
    done = shell(f"{WATTPACK} {words} 2> >(true) > told.txt", inputs)
    assert done.returncode == 0
    assert "summary" in (inputs / "told.txt").read_text()
