"""`wattpack calibrate gpu`: the power curve of a GPU of this machine, as an entry of a power file."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from wattpack.answers.csv_output import write_csv
from wattpack.cli.outputs import check_files, words_beside
from wattpack.cli.streams import note
from wattpack.errors import UserError

if TYPE_CHECKING:
    from wattpack.calibrate.entry import Calibration
    from wattpack.calibrate.readings_file import Readings

SWEEPS = ("time", "multiprocessors")


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
    from wattpack.calibrate.measure import check_options, measure
    from wattpack.calibrate.readings_file import COLUMNS, read_readings
    from wattpack.model.gpu_names import entry_name

    check_options(load, seconds, shares)
    if by not in SWEEPS:
        raise UserError(f"--by {by!r}, expected one of {', '.join(SWEEPS)}")
    if again is not None and readings is not None:
        raise UserError("--again and --readings, expected one of them")
    check_files({"--out": out, "--readings": readings}, (again,))
    if again is not None:
        found = read_readings(again)
    else:
        # An entry that is there already is refused now rather than after minutes.
        found = measure(gpu, load, seconds, shares, note, lambda product: check_new(out, model or entry_name(product)))
    if readings is not None:
        write_csv(readings, COLUMNS, found.rows())
    write_entry(found, by, model or entry_name(found.gpu), out)


def check_new(out: Path | None, name: str) -> None:
    text_before(out, name)


def text_before(out: Path | None, name: str) -> str:
    """The power file that the entry is added to; refused where it has one for this model."""
    if out is None or not out.is_file():
        return ""
    from wattpack.calibrate.power_text import read_existing, refuse_known

    before = read_existing(out)
    refuse_known(before, out, {name})
    return before


def write_entry(found: Readings, by: str, name: str, out: Path | None) -> None:
    from wattpack.calibrate.entry import calibration
    from wattpack.calibrate.power_text import with_entries, write_entries

    done = calibration(found, by, datetime.datetime.now(datetime.UTC).date())
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
