"""The columns that every table of steady states shows, and how their rows are grouped and numbered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan

from wattpack.experiments.options import Moving
from wattpack.experiments.steady_table import SteadyRow, baselines_of
from wattpack.report.units import power_unit

SAVING = "saving vs "  # the titles of columns that hold savings begin so


@dataclass(frozen=True)
class Column:
    """A column of numbers: its title, the value of a row, digits, and the spread over the seeds if it is shown."""

    title: str
    value: Callable[[SteadyRow], float]
    digits: int
    spread: Callable[[SteadyRow], float] | None = None


def columns(rows: Sequence[SteadyRow], baseline: Callable[[SteadyRow], SteadyRow | None]) -> list[Column]:
    """The columns of a table of `rows`: the unit of power fits them all, options have columns where a row has them."""
    unit, unit_w = power_unit(row.mean("eopc_w") for row in rows)

    most_fragmented = max(row.mean("fragmentation_gpus") for row in rows)

    found = [
        Column(unit, lambda row: row.mean("eopc_w") / unit_w, 3),
        *(_saving(rows, other) for other in shown_against(rows)),
        Column("GRAR", lambda row: row.mean("grar"), 4, lambda row: row.spread("grar")),
        Column("W per GPU", lambda row: row.mean("w_per_gpu"), 1, lambda row: row.spread("w_per_gpu")),
        Column("frag. GPUs", lambda row: row.mean("fragmentation_gpus"), 0 if most_fragmented >= 10 else 1),
    ]
    if any(row.moving is not None for row in rows):
        found.append(Column("moves a task", lambda row: row.moves_per_arrival, 3))
    if any(row.moving is not None and row.moving.pause_s > 0 for row in rows):
        found.append(Column("GPUs paused", lambda row: row.mean("paused_gpus"), 2))
    if any(row.batch_seconds < inf for row in rows):
        found.append(Column("wait s", lambda row: row.mean("mean_wait_s"), 1))
        found.append(Column("most s", lambda row: max(run.largest_wait_s for run in row.runs), 1))
    return found


def _saving(rows: Sequence[SteadyRow], other: str) -> Column:
    baseline = baseline_lookup(rows, other)

    def saving(row: SteadyRow) -> float:
        base = baseline(row)
        return nan if base is None or row is base else 100 * row.saving(base)

    return Column(f"{SAVING}{other} %", saving, 1)


def shown_against(rows: Sequence[SteadyRow]) -> list[str]:
    """The policies that savings are shown against: those that were run."""
    return [policy for policy in rows[0].against if baselines_of(rows, policy)] if rows else []


def baseline_lookup(rows: Sequence[SteadyRow], against: str | None = None) -> Callable[[SteadyRow], SteadyRow | None]:
    """For each row, the policy that savings are against, without moves, at the same load; None where it was not run."""
    found = baselines_of(rows, against)
    return lambda row: found.get((row.trace, row.load))


def moving_text(rows: Sequence[SteadyRow]) -> str:
    """What `moving` means in these rows, if it means one thing: `at most 3 moves every 100 arrivals`; else empty."""
    movings: list[Moving] = list(dict.fromkeys(row.moving for row in rows if row.moving is not None))
    if len(movings) != 1:
        return ""
    (moving,) = movings
    pause = f", each paused for {moving.pause_s:g} s" if moving.pause_s > 0 else ""
    return f"moving: at most {moving.moves} moves every {moving.every} arrivals{pause}"


def titles(rows: Sequence[SteadyRow]) -> Callable[[SteadyRow], str]:
    """What each row is called: where there are several ways of moving, the title says which."""
    several = len({row.moving for row in rows if row.moving is not None}) > 1

    def title(row: SteadyRow) -> str:
        if row.moving is None or not several:
            return row.title
        pause = f", paused {row.moving.pause_s:g} s" if row.moving.pause_s > 0 else ""
        return f"{row.title} {row.moving.moves} every {row.moving.every}{pause}"

    return title


def by_trace(rows: Sequence[SteadyRow]) -> dict[str, list[SteadyRow]]:
    """In the order of first appearance."""
    found: dict[str, list[SteadyRow]] = {}
    for row in rows:
        found.setdefault(row.trace, []).append(row)
    return found
