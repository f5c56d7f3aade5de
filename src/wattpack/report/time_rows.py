"""The columns of tables of runs in time, on the terminal and on the page: only those that apply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import NamedTuple

from wattpack.experiments.timed_table import Group, TimedRow, baseline_of


class Column(NamedTuple):
    """A column: its head in two lines, its value and spread, and the digits shown."""

    key: str
    head: str
    unit: str
    value: Callable[[TimedRow], float]
    spread: Callable[[TimedRow], float] | None
    digits: int
    best: str = ""  # `least` or `most`: which value is the best of a table


def several_datacenters(rows: Sequence[TimedRow]) -> bool:
    return len({row.datacenter for row in rows}) > 1


def row_title(row: TimedRow, rows: Sequence[TimedRow]) -> str:
    return f"{row.policy}, {row.datacenter}" if several_datacenters(rows) else row.policy


def columns(group: Group, rows: Sequence[TimedRow]) -> list[Column]:
    """In the order of reading: energy, power, carbon, money, what was delivered, who waited."""
    options = group.options
    most_kwh = max(row.mean("kwh") for row in rows)
    digits = 0 if most_kwh >= 1000 else 1 if most_kwh >= 100 else 3
    kw = max(row.mean("peak_kw") for row in rows)
    kw_digits = 1 if kw >= 10 else 3
    found = [_plain("kwh", "IT", "kWh", digits, "least")]
    if options.bound:
        found.append(_above_least())
    if options.pue > 1:
        found.append(_plain("facility_kwh", "facility", "kWh", digits))
    found += [_plain("mean_kw", "mean", "kW", kw_digits), _plain("p99_kw", "p99", "kW", kw_digits)]
    found.append(_plain("peak_kw", "peak", "kW", kw_digits))
    if options.sleep:
        found += [_plain("mean_asleep_nodes", "asleep", "nodes", 1), _plain("wakes", "wakes", "times", 0)]
        small = _digits(row.mean("transition_kwh") for row in rows)
        found.append(_plain("transition_kwh", "transitions", "kWh", small))
    if options.consolidate:
        found.append(_plain("moves", "moves", "tasks", 0))
    if options.carbon:
        kg = _digits(row.mean("co2_operational_kg") for row in rows)
        found.append(_plain("co2_operational_kg", "CO2e", "kg", kg, "least"))
        found.append(_plain("co2_embodied_kg", "embodied", "kg", kg))
    if options.price:
        currency = rows[0].runs[0].currency
        found.append(_plain("money", "cost", currency or "money", _digits(row.mean("money") for row in rows), "least"))
    found.append(_plain("gpu_hours", "delivered", "GPU-h", _digits(row.mean("gpu_hours") for row in rows)))
    found.append(_plain("wh_per_gpu_hour", "per GPU-h", "Wh", 1, "least"))
    if len(rows) > 1:
        bases = [base for other in rows[0].against if (base := baseline_of(rows, other)) is not None]
        found += [_saving(base) for base in bases]
    if options.speed:
        found.append(_plain("work", "work", "A100-h", _digits(row.mean("work") for row in rows), "most"))
        found.append(_plain("kwh_per_work", "per A100-h", "kWh", 4, "least"))
    waits = any(row.mean("wait_mean_s") > 0 or row.mean("waiting") > 0 for row in rows)
    if waits:
        for percent in ("p50", "p95", "p99"):
            found.append(_plain(f"wait_{percent}_s", f"wait {percent}", "s", 0, "least"))
        found.append(_plain("slowdown_mean", "slowdown", "mean", 2, "least"))
    if options.until:
        found.append(_plain("jct_mean_s", "completion", "mean s", 0, "least"))
        found.append(_plain("makespan_s", "makespan", "s", 0, "least"))
    for measure, head in (("failed", "failed"), ("refused", "refused"), ("gave_up", "gave up"), ("waiting", "waiting")):
        if any(row.mean(measure) > 0 for row in rows):
            whole = all(row.mean(measure) == int(row.mean(measure)) for row in rows)
            found.append(_plain(measure, head, "tasks", 0 if whole else 1))
    return [column for column in found if not all(isnan(column.value(row)) for row in rows)]


def best_of(column: Column, rows: Sequence[TimedRow]) -> float:
    """The best value of a column; NaN where none is better than another."""
    values = [value for row in rows if not isnan(value := column.value(row))]
    if not column.best or len(values) < 2 or min(values) == max(values):
        return float("nan")
    return min(values) if column.best == "least" else max(values)


def never_waited(rows: Sequence[TimedRow]) -> bool:
    return all(
        row.mean(name) == 0 for row in rows for name in ("failed", "refused", "gave_up", "waiting", "wait_mean_s")
    )


def _plain(measure: str, head: str, unit: str, digits: int, best: str = "") -> Column:
    """Where one value is the best of a table, its spread tells how sure that is."""
    spread = (lambda row: row.spread(measure)) if best else None
    return Column(measure, head, unit, lambda row: row.mean(measure), spread, digits, best)


def _saving(baseline: TimedRow) -> Column:
    """kWh per GPU-hour delivered that are saved."""

    def value(row: TimedRow) -> float:
        return float("nan") if row is baseline else 100 * row.saving(baseline)

    def spread(row: TimedRow) -> float:
        return 100 * row.saving_spread(baseline)

    return Column(f"saving_{baseline.policy}", "saving", f"% vs {baseline.policy}", value, spread, 2, "most")


def _above_least() -> Column:
    """How far a run is above the least energy of any schedule with the same tasks at each moment."""

    def value(row: TimedRow) -> float:
        least_kwh = row.mean("least_kwh")  # 0 over a horizon of 0 s
        return 100 * (row.mean("kwh") / least_kwh - 1) if least_kwh else float("nan")

    return Column("above_least", "above least", "%", value, None, 2, "least")


def _digits(values: object) -> int:
    most = max((abs(value) for value in values if value == value), default=0.0)  # type: ignore[attr-defined]
    return 0 if most >= 1000 else 1 if most >= 10 else 3
