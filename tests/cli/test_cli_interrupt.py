"""Ctrl-C at moments in which Python by itself would not stop, or not without a traceback: exit 130 and one line.

Real processes. LIMIT_S is generous, for loaded machines: the process itself ends within 2 s.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.small import run_files, write_spec
from wattpack.cli.interrupt import STOPPED

LIMIT_S = 20
Child = subprocess.Popen[str]


def start(*words: object, **environment: str) -> Child:
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )


def ended(child: Child) -> str:
    """What it said on stderr once it ended with 130."""
    try:
        _, said = child.communicate(timeout=LIMIT_S)
    finally:
        child.kill()
    assert child.returncode == 130, said
    return said


def start_code(code: str, *words: object) -> Child:
    """Python code under our handling of Ctrl-C. Comes back when it says that it is ready."""
    child = start("-c", f"from wattpack.cli.interrupt import install\ninstall()\n{code}", *words)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n", child.communicate()[1]
    return child


@pytest.mark.parametrize("module", ["cyclopts", "numpy", "numba", "wattpack.cli.commands.compare", "rich.console"])
def test_ctrl_c_while_modules_are_imported_is_one_line(module: str) -> None:
    code = f"""
import os, signal, sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["wattpack", "compare", "--help"]
from wattpack.cli import main
main()
"""
    assert ended(start("-c", code)) == f"wattpack: {STOPPED}\n"


def test_ctrl_c_does_not_wait_for_a_solver_in_the_main_thread() -> None:
    """A market split problem of 6 rows and 50 columns: branch and bound takes hours for one."""
    code = """
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
rows = np.random.default_rng(0).integers(0, 1000, (6, 50)).astype(float)
half = np.floor(rows.sum(axis=1) / 2)
print("ready", flush=True)
milp(np.zeros(50), integrality=np.ones(50), bounds=Bounds(0, 1), constraints=LinearConstraint(rows, half, half))
"""
    child = start_code(code)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    assert ended(child) == f"wattpack: {STOPPED}\n"


HANGS = """
import time
import wattpack.experiments.executors.executor as place
from wattpack.cli import interrupt
interrupt.GRACE_S = {grace_s}
place.executors_open = 1
for said in ("ready", "first", "second"):  # never through: what ends it is the watching thread
    try:
        print(said, flush=True)
        for _ in range(36_000):  # one sleep of an hour misses a signal that comes just before it starts
            time.sleep(0.1)
    except KeyboardInterrupt:
        pass
"""


def test_a_place_that_does_not_close_is_not_waited_for() -> None:
    child = start_code(HANGS.format(grace_s=0.5))
    child.send_signal(signal.SIGINT)
    assert ended(child) == f"wattpack: {STOPPED}\n"


def test_a_second_ctrl_c_ends_at_once() -> None:
    child = start_code(HANGS.format(grace_s=3600))
    child.send_signal(signal.SIGINT)
    assert child.stdout is not None
    assert child.stdout.readline() == "first\n"
    child.send_signal(signal.SIGINT)
    assert ended(child) == f"wattpack: {STOPPED}\n"


def test_ctrl_c_leaves_no_half_written_file(tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from wattpack.files import temporary_path, write_whole
def slow(temporary):
    temporary.write_text("half")
    print("ready", flush=True)
    time.sleep(3600)
with temporary_path(Path(sys.argv[1]) / "keys") as folder:
    folder.mkdir()
    (folder / "key").write_text("secret")
    write_whole(Path(sys.argv[1]) / "file.csv", slow)
"""
    child = start_code(code, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    child.send_signal(signal.SIGINT)
    ended(child)
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_was_told_to_ignore_ctrl_c_goes_on() -> None:
    code = """
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
from wattpack.cli.interrupt import install
install()
os.kill(os.getpid(), signal.SIGINT)
print("alive")
"""
    assert start("-c", code).communicate(timeout=LIMIT_S)[0] == "alive\n"


@pytest.mark.compiled
def test_ctrl_c_while_kernels_are_compiled_is_one_line(tmp_path: Path) -> None:
    words = ("-m", "wattpack", "compare", "--seeds", "1", "--out", tmp_path / "out")
    child = start(*words, WATTPACK_CACHE=str(tmp_path / "cache"))
    assert child.stderr is not None
    assert "compiling" in child.stderr.readline()
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    assert ended(child) == f"wattpack: {STOPPED}\n"


@pytest.mark.e2e  # 6 s
@pytest.mark.compiled
def test_ctrl_c_in_windows_with_milps_ends_at_once_and_finished_runs_stay(tmp_path: Path) -> None:
    """A run with these windows takes a minute, on threads that cannot be stopped."""
    out = tmp_path / "out"
    windows = ("--batch", "16", "--batch-milp-seconds", "60")
    child = start("-m", "wattpack", "compare", "--policy", "pwr", *windows, "--seeds", "2", "--out", out)
    deadline = time.monotonic() + 120
    while not list(out.glob("runs/*.parquet")):  # without windows: quick
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    assert ended(child) == f"wattpack: {STOPPED}\n"
    assert all(name.endswith(".parquet") and data for name, data in run_files(out).items())


@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.3, 0.6])
def test_ctrl_c_while_worker_processes_start_is_one_line(tmp_path: Path, after_s: float) -> None:
    """A terminal sends it to the workers too, which have not got to our code yet."""
    file, out = write_spec(tmp_path, 'policy = ["fgd", "pwr"]\nseeds = 40\n'), tmp_path / "out"
    child = start("-m", "wattpack", "run", file, "--out", out, "--on", "processes", "--workers", "2")
    while not (out / "experiment.json").is_file():
        assert child.poll() is None, child.communicate()
        time.sleep(0.005)
    time.sleep(after_s)
    os.killpg(child.pid, signal.SIGINT)
    assert ended(child) == f"wattpack: {STOPPED}\n"
