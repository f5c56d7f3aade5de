"""`wattpack calibrate gpu`: the power curve of a GPU of this machine, as an entry of a power file."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING

from wattpack.cli.csv_output import write_csv
from wattpack.cli.outputs import check_files, words_beside
from wattpack.cli.streams import note
from wattpack.errors import UserError

if TYPE_CHECKING:
    from wattpack.calibrate.entry import Calibration
    from wattpack.calibrate.readings_file import Readings

LOADS = ("auto", "torch", "cupy", "driver", "numba")
SWEEPS = ("time", "multiprocessors")
MOST_SHARES, LEAST_S, MOST_S = 100, 1.0, 300.0


def calibrate_gpu_command(
    *,
    out: Path | None = None,
    gpu: int = 0,
    load: str = "auto",
    by: str = "time",
    seconds: float = 5,
    shares: int = 10,
    model: str | None = None,
    readings: Path | None = None,
    again: Path | None = None,
) -> None:
    """Measure the power curve of an idle NVIDIA GPU of this machine; no setting of the GPU is changed.

    Parameters
    ----------
    out
        Power file to write, or to add the entry to. Default: print the entry.
    gpu
        Number of the GPU, as `nvidia-smi` shows it.
    load
        What makes the work: auto (the first that runs), torch, cupy, driver, numba.
    by
        Which sweep gives the curve of the entry: time (share of the time) or multiprocessors (share of them in use).
    seconds
        Length of one reading.
    shares
        Readings in each sweep.
    model
        Name of the entry, as in the column `model` of nodes.csv. Default: the name that the driver tells.
    readings
        Write every reading here, as CSV.
    again
        Fit the readings of this file again instead of measuring.
    """
    if load not in LOADS:
        raise UserError(f"--load {load!r}, expected one of {', '.join(LOADS)}")
    if by not in SWEEPS:
        raise UserError(f"--by {by!r}, expected one of {', '.join(SWEEPS)}")
    if not LEAST_S <= seconds <= MOST_S:
        raise UserError(f"--seconds {seconds:g}, expected {LEAST_S:g} to {MOST_S:g}")
    if not 2 <= shares <= MOST_SHARES:
        raise UserError(f"--shares {shares}, expected 2 to {MOST_SHARES}")
    if again is not None and readings is not None:
        raise UserError("--again and --readings, expected one of them")
    check_files({"--out": out, "--readings": readings}, (again,))
    if again is not None:
        from wattpack.calibrate.readings_file import read_readings

        write_entry(read_readings(again), by, model, out)
        return
    found = measured(gpu, load, seconds, shares, model, out)
    if readings is not None:
        from wattpack.calibrate.readings_file import COLUMNS

        write_csv(readings, COLUMNS, found.rows())
    write_entry(found, by, model, out)


def measured(gpu: int, load: str, seconds: float, shares: int, model: str | None, out: Path | None) -> Readings:
    from wattpack.calibrate.duty import DutyCycle
    from wattpack.calibrate.meter import Clock
    from wattpack.calibrate.nvml import NvmlMeter
    from wattpack.calibrate.readings_file import Readings
    from wattpack.calibrate.sweep import sweep
    from wattpack.model.gpu_names import entry_name

    meter = NvmlMeter(gpu)
    if meter.is_divided():
        raise UserError(f"{meter.name}: MIG is on, expected a GPU that is not divided")
    text_before(out, model or entry_name(meter.name))  # refused now rather than after minutes
    # The libraries of the load number GPUs in their own order: let them see this one alone.
    os.environ["CUDA_VISIBLE_DEVICES"] = meter.uuid
    counted = "its energy counter" if meter.has_counter else "samples of its power: it has no energy counter"
    note(f"wattpack: GPU {gpu}, {meter.name}, limit {meter.limit_w:g} W, by {counted}")
    by_time = DutyCycle(tuple(LOADS[1:]) if load == "auto" else (load,))
    by_space = by_time if load != "auto" else DutyCycle(("driver", "numba"))
    done = sweep(meter, by_time, by_space, Clock(), seconds, shares, note)
    return Readings(meter.name, meter.limit_w, tuple(done))


def text_before(out: Path | None, name: str) -> str:
    """The power file that the entry is added to; refused where it has one for this model."""
    if out is None or not out.is_file():
        return ""
    from wattpack.calibrate.power_text import read_existing, refuse_known

    before = read_existing(out)
    refuse_known(before, out, {name})
    return before


def write_entry(found: Readings, by: str, model: str | None, out: Path | None) -> None:
    from wattpack.calibrate.entry import calibration
    from wattpack.calibrate.power_text import with_entries, write_entries
    from wattpack.model.gpu_names import entry_name

    done = calibration(found, by, datetime.datetime.now(datetime.UTC).date())
    name = model or entry_name(found.gpu)
    text = with_entries(text_before(out, name), {name: done.item}, {name: done.comment})
    if out is None:
        print(text, end="")
        return
    write_entries(out, text)
    with words_beside(out):
        print_fit(name, done, out)


def print_fit(name: str, done: Calibration, out: Path) -> None:
    print(f"{name}: idle {done.idle_w:.1f} W, idle context {done.context_w:.1f} W")
    for line in done.comment.splitlines():
        print(f"  {line}")
    print(f"wrote {out}")
