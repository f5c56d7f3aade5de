"""The kernels as the plain Python they were written as: the same results, and coverage can see them.

The tests of model, policies and engine run once more in a process of their own with the compiler off, but for those
marked `compiled`, which would take minutes. It takes a minute and a half itself, so `make e2e` runs it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOMS = ("model", "policies", "engine")
LEAST_COVERED = 90  # percent of lines and branches of the three rooms


@pytest.mark.e2e
@pytest.mark.compiled  # not once more inside itself
def test_model_policies_and_engine_pass_with_the_compiler_off_and_are_covered(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not compiled and not e2e"]
    command += ["-p", "no:cacheprovider", "--cov-report=term-missing", f"--cov-fail-under={LEAST_COVERED}"]
    command += [f"--cov=wattpack.{room}" for room in ROOMS]
    command += [str(TESTS / room) for room in ROOMS]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "COVERAGE_FILE": str(tmp_path / "coverage")}
    for name in [name for name in environment if name.startswith(("PYTEST_", "COV_CORE_"))]:
        del environment[name]  # this process's own
    done = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
