"""The measurement on the GPU of this machine, where it has one that nothing else uses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wattpack.calibrate.nvml import NvmlMeter
from wattpack.calibrate.readings_file import read_readings
from wattpack.errors import UserError

pytestmark = pytest.mark.e2e


def test_a_real_gpu_draws_more_the_more_of_it_is_in_use(tmp_path: Path) -> None:
    """Idle, context, half and full, by time and by multiprocessors, with the load that needs only the driver."""
    try:
        busy = NvmlMeter(0).processes()
    except UserError as fault:
        pytest.skip(f"no NVIDIA GPU: {fault}")
    if busy:
        pytest.skip("the GPU is in use")
    file = tmp_path / "readings.csv"
    words = [sys.executable, "-m", "wattpack.calibrate", str(file)]
    subprocess.run([*words, "--load", "driver", "--shares", "2", "--seconds", "2"], check=True, timeout=300)
    found = read_readings(file)
    (_, idle_w), (_, context_w) = found.watts("idle")[0], found.watts("context")[0]
    for kind in ("time", "multiprocessors"):
        (half, half_w), (full, full_w) = found.watts(kind)
        assert (half, full) == (pytest.approx(0.5, abs=0.05), pytest.approx(1.0, abs=0.05))
        assert idle_w <= 1.05 * context_w
        assert context_w < half_w < full_w < 1.1 * found.limit_w
