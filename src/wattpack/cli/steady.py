"""The table of steady states that `compare` and `run` print."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from wattpack.experiments.steady_table import SteadyRow, baselines_of


def show_steady(rows: Sequence[SteadyRow]) -> None:
    """One table a trace and offered load: power, saving, GRAR, watts per GPU; waits and pauses where there are any."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    movings = list(dict.fromkeys(row.moving for row in rows if row.moving is not None))
    held = any(row.batch_seconds < inf for row in rows)
    paused = any(moving.pause_s > 0 for moving in movings)
    console = Console()
    if not console.is_terminal:
        console = Console(width=140 if held or paused else 100)
    told = ""
    if len(movings) == 1:
        pause = f", each paused for {movings[0].pause_s:g} s" if paused else ""
        told = f" (moving: at most {movings[0].moves} moves every {movings[0].every} arrivals{pause})"
    baselines = baselines_of(rows)
    for trace, load in dict.fromkeys((row.trace, row.load) for row in rows):
        baseline = baselines.get((trace, load))
        table = Table(
            title=Text(f"{trace}: steady state at offered load {load:g}{told}"), show_edge=False, title_justify="left"
        )
        table.add_column("policy", no_wrap=not movings and not held)
        unit, unit_w = unit_of([row.mean("eopc_w") for row in rows if (row.trace, row.load) == (trace, load)])
        columns = [unit, "saving %", "GRAR", "W per GPU", "frag. GPUs", *(["moves a task"] if movings else [])]
        columns += [*(["GPUs paused"] if paused else []), *(["wait s, most"] if held else [])]
        for column in columns:
            table.add_column(column, justify="right", no_wrap=True)
        for row in rows:
            if (row.trace, row.load) == (trace, load):
                table.add_row(Text(row.title), *_cells(row, baseline, unit_w, bool(movings), paused, held))
        console.print(table)


def unit_of(power_w: Sequence[float]) -> tuple[str, float]:
    """MW, kW or W, whichever shows the largest of these with its digits, and how many watts that is."""
    most = max((value for value in power_w if value == value), default=0.0)
    return ("MW", 1e6) if most >= 50_000 else ("kW", 1e3) if most >= 50 else ("W", 1.0)


def number(value: float, digits: int, spread: float | None = None) -> str:
    """A number with its spread; a dash where there is none, as watts per GPU where no GPU is in use."""
    if value != value:
        return "-"
    return f"{value:.{digits}f}" if spread is None else f"{value:.{digits}f}±{spread:.{digits}f}"


def _cells(
    row: SteadyRow, baseline: SteadyRow | None, unit_w: float, moves: bool, paused: bool, held: bool
) -> list[str]:
    saving = "-"
    if baseline is not None and row is not baseline and baseline.mean("eopc_w") > 0:
        saving = number(100 * (1 - row.mean("eopc_w") / baseline.mean("eopc_w")), 1)
    cells = [
        number(row.mean("eopc_w") / unit_w, 3),
        saving,
        number(row.mean("grar"), 4, row.spread("grar")),
        number(row.mean("w_per_gpu"), 1, row.spread("w_per_gpu")),
        number(row.mean("fragmentation_gpus"), 0 if row.mean("fragmentation_gpus") >= 10 else 1),
    ]
    cells += [f"{row.moves_per_arrival:.3f}"] if moves else []
    cells += [f"{row.mean('paused_gpus'):.2f}"] if paused else []
    most_s = max(run.largest_wait_s for run in row.runs)
    return cells + ([f"{row.mean('mean_wait_s'):.1f}, {most_s:.1f}"] if held else [])
