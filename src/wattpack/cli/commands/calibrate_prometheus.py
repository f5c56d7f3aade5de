"""`wattpack calibrate prometheus`: watts of GPU models from what a Prometheus has recorded."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import TYPE_CHECKING

from wattpack.cli.consoles import wide_console
from wattpack.cli.outputs import check_files, words_beside
from wattpack.cli.streams import note
from wattpack.errors import UserError
from wattpack.files import note_input

if TYPE_CHECKING:
    from wattpack.calibrate.fleet_fit import FleetFit
    from wattpack.calibrate.prometheus import Range

MOST_TOKEN_BYTES = 1 << 16


def calibrate_prometheus_command(
    url: str,
    *,
    out: Path | None = None,
    last: str = "1d",
    end: str | None = None,
    step: str = "1m",
    share: str = "utilisation",
    token_file: Path | None = None,
    timeout_seconds: float = 60,
) -> None:
    """Fit idle, context and slope of every GPU model to watts against the share in use, over a time range.

    Parameters
    ----------
    url
        Address of a Prometheus with the metrics of DCGM's exporter.
    out
        Power file to write, or to add the entries to. Default: print the entries.
    last
        Length of the time range: 6h, 7d, 4w.
    end
        End of the range, like 2026-11-16T12:00:00Z. Default: now.
    step
        Time between samples; watts and shares are means over a step.
    share
        What is in use of a GPU: utilisation (DCGM_FI_DEV_GPU_UTIL), requests (of pods, by kube-state-metrics), or an
        expression that gives shares from 0 to 1 by UUID or by node.
    token_file
        File with a bearer token for the server.
    timeout_seconds
        Seconds to wait for an answer.
    """
    from wattpack.calibrate.fleet import ask_fleet
    from wattpack.calibrate.fleet_fit import fit_model
    from wattpack.calibrate.power_text import fleet_item, read_existing, refuse_known
    from wattpack.calibrate.prometheus import Prometheus

    if not 0 < timeout_seconds <= 3600:
        raise UserError(f"--timeout-seconds {timeout_seconds:g}, expected above 0 and at most 3600")
    times = time_range(last, end, step)
    check_files({"--out": out}, (token_file,))
    server = Prometheus(url, read_token(token_file), timeout_seconds)
    before = "" if out is None else read_existing(out)  # what is no power file is refused before anything is asked
    found = ask_fleet(server, times, share, note)
    fits = {model: fit_model(samples) for model, samples in sorted(found.items())}
    if out is not None:
        refuse_known(before, out, {model for model, fit in fits.items() if fleet_item(fit, "") is not None})
    with words_beside(out if out is not None else Path("-")):
        print_fits(fits)
    write_fits(fits, share, times, out)


def time_range(last: str, end: str | None, step: str) -> Range:
    from wattpack.calibrate.prometheus import MOST_STEPS, Range, duration_s

    length_s, step_s = duration_s(last, "--last"), duration_s(step, "--step")
    end_s = int(time.time())
    if end is not None:
        try:
            given = datetime.datetime.fromisoformat(end)
            end_s = int((given if given.tzinfo else given.replace(tzinfo=datetime.UTC)).timestamp())
        except (ValueError, OverflowError):
            raise UserError(f"--end {end!r}, expected a time like 2026-11-16T12:00:00Z") from None
    if length_s // step_s > MOST_STEPS or length_s < step_s or not length_s <= end_s < 1 << 40:
        raise UserError(f"--last {last} with --step {step}, expected 1 to {MOST_STEPS:,} steps since 1970")
    return Range(end_s - length_s + step_s, end_s, step_s)


def read_token(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        with file.open("rb") as opened:
            note_input(file)
            token = opened.read(MOST_TOKEN_BYTES + 1).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as fault:
        raise UserError(f"{file}: {getattr(fault, 'strerror', None) or 'not a token'}, expected a token") from None
    if not token or len(token) > MOST_TOKEN_BYTES or not token.isprintable() or " " in token:
        raise UserError(f"{file}: not a token, expected one line without spaces")
    return token


def print_fits(fits: dict[str, FleetFit]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_edge=False)
    table.add_column("model", no_wrap=True)
    for head in ("GPUs", "samples", "idle W", "context W", "full W", "error W", "outliers", "largest share"):
        table.add_column(head, justify="right", no_wrap=True)
    for model, fit in fits.items():
        watts = ["-" if value is None else f"{value:.1f}" for value in (fit.idle_w, fit.context_w, fit.max_w)]
        error = "-" if fit.error_w is None else f"{fit.error_w:.1f}"
        table.add_row(
            Text(model),
            str(fit.gpus),
            f"{fit.samples:,}",
            *watts,
            error,
            f"{fit.outliers:.1%}",
            f"{fit.most_share:.2f}",
        )
    wide_console().print(table)
    for model, fit in fits.items():
        if fit.why:
            print(f"{model}: no slope: {fit.why}")
        elif fit.most_share < 0.6:
            print(f"{model}: shares up to {fit.most_share:.2f} only: watts at full use are extrapolated")


def write_fits(fits: dict[str, FleetFit], share: str, times: Range, out: Path | None) -> None:
    from wattpack.calibrate.power_text import fleet_item, read_existing, refuse_known, with_entries, write_entries

    start, end = (
        datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%dT%H:%MZ")
        for at in (times.start_s, times.end_s)
    )
    by = share if share in ("utilisation", "requests") else "an expression"
    source = f"wattpack calibrate prometheus, {start} to {end}, share by {by}"
    items = {model: item for model, fit in fits.items() if (item := fleet_item(fit, source)) is not None}
    if not items:
        raise UserError("no model has enough samples, expected a longer --last or another --share")
    before = "" if out is None else read_existing(out)
    if out is not None:
        refuse_known(before, out, set(items))
    text = with_entries(before, items, {})
    if out is None:
        print(text, end="")
    else:
        write_entries(out, text)
        with words_beside(out):
            print(f"wrote {out}")
