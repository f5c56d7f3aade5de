"""One measurement of a GPU of this machine, from its number to its readings."""

from __future__ import annotations

import os
from collections.abc import Callable

from wattpack.calibrate.duty import DutyCycle
from wattpack.calibrate.meter import Clock
from wattpack.calibrate.nvml import NvmlMeter
from wattpack.calibrate.readings_file import Readings
from wattpack.calibrate.sweep import Say, sweep
from wattpack.errors import UserError

LOADS = ("auto", "torch", "cupy", "driver", "numba")
MOST_SHARES, LEAST_S, MOST_S = 100, 1.0, 300.0


def check_options(load: str, seconds: float, shares: int) -> None:
    if load not in LOADS:
        raise UserError(f"--load {load!r}, expected one of {', '.join(LOADS)}")
    if not LEAST_S <= seconds <= MOST_S:
        raise UserError(f"--seconds {seconds:g}, expected {LEAST_S:g} to {MOST_S:g}")
    if not 2 <= shares <= MOST_SHARES:
        raise UserError(f"--shares {shares}, expected 2 to {MOST_SHARES}")


def measure(
    gpu: int, load: str, seconds: float, shares: int, say: Say, before: Callable[[str], None] = lambda product: None
) -> Readings:
    """`before` is called with the product's name when nothing has been done yet: it may refuse."""
    meter = NvmlMeter(gpu)
    if meter.is_divided():
        raise UserError(f"{meter.name}: MIG is on, expected a GPU that is not divided")
    before(meter.name)
    # The libraries of the load number GPUs in their own order: let them see this one alone.
    os.environ["CUDA_VISIBLE_DEVICES"] = meter.uuid
    counted = "its energy counter" if meter.has_counter else "samples of its power (it has no energy counter)"
    say(f"GPU {gpu}: {meter.name}, limit {meter.limit_w:g} W, measured by {counted}")
    # Matrix products draw what training draws; only the driver's load can pick multiprocessors.
    by_time = DutyCycle(LOADS[1:] if load == "auto" else (load,))
    by_space = DutyCycle(("driver", "numba")) if load == "auto" else by_time
    return Readings(meter.name, meter.limit_w, tuple(sweep(meter, by_time, by_space, Clock(), seconds, shares, say)))
