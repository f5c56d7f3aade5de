"""What `compare` and `run` print of their results, and the files for people that they write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wattpack.experiments.curves import Results
from wattpack.experiments.steady_table import SteadyRow
from wattpack.experiments.timed_table import Table
from wattpack.files import is_standard_output


def print_curves(results: Results, gpus: float | None = None) -> None:
    """A table for each trace; `gpus`: GPUs of the datacenter, for the watts per GPU."""
    from wattpack.cli.consoles import wide_console
    from wattpack.report.terminal import print_comparison

    print_comparison(results, wide_console(), gpus)


def print_steady_states(rows: Sequence[SteadyRow], out: Path) -> None:
    """The tables of steady states, and the path of `steady.csv`; nothing without any."""
    if not rows:
        return
    from wattpack.report.steady_terminal import print_steady

    print_steady(rows)
    print(f"steady   {out / 'steady.csv'}")


def print_runs_in_time(table: Table, beside: Path | None = None) -> None:
    """The tables of runs in time; on stderr where data go to standard output."""
    from rich.console import Console

    from wattpack.report.time_terminal import print_time

    print_time(table, Console(stderr=beside is not None and is_standard_output(beside)))


def print_paths(**paths: Path | Sequence[Path]) -> None:
    """`summary=PATH` as `summary  PATH`, several paths on a line each."""
    for name, path in paths.items():
        for one in [path] if isinstance(path, Path) else path:
            print(f"{name:<9}{one}")
