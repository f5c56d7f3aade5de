"""`python -m benchmarks sleep`: what policies save where nodes sleep, and what it is worth to know how long tasks run.

One model of GPU, two, the built-in datacenter and alibaba2026; loads 0.3, 0.5 and 0.7 with the rhythm of days and
weeks; the default knobs of sleep. About 10 minutes on one core.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.future import write_tables
from benchmarks.machine import machine
from benchmarks.month import json_text
from benchmarks.sleep_runs import BATCH, FGD, OWN_FORMS, SEEDS, Row, run_setting, settings
from wattpack.engine.moments.options import KNOWN, LEARNT, NOT_USED
from wattpack.files import make_folder, write_text

PAGE = Path("docs/research/sleep.md")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks sleep", description=__doc__)
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help=f"of drawn tasks; default {len(SEEDS)}")
    parser.add_argument("--days", type=float, default=7.0, help="of a run; default 7")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder of sleep.json")
    parser.add_argument("--page", type=Path, help=f"also write the tables between the marks of this page, like {PAGE}")
    chosen = parser.parse_args(arguments)
    on, start = machine(), time.perf_counter()
    rows: list[Row] = []
    for setting in settings(tuple(range(SEEDS[0], SEEDS[0] + chosen.seeds)), chosen.days):
        rows += run_setting(setting)
        took_s = round(time.perf_counter() - start, 1)
        print(f"{took_s:.0f} s: {setting}", flush=True)
        said = {"benchmark": "sleep", "machine": on, "took_s": took_s}
        write_text(make_folder(chosen.out) / "sleep.json", json_text(said, rows))  # after each: Ctrl-C keeps the others
    found = tables(rows)
    if chosen.page is not None:
        write_tables(chosen.page, found)
    for name, text in found.items():
        print(f"\n{name}\n\n{text}")


def tables(rows: Sequence[Row]) -> dict[str, str]:
    plain, batch = ([row for row in rows if (row["tasks"] == BATCH) is is_batch] for is_batch in (False, True))
    by_name = {"energy": energy_table(plain), "asleep": asleep_table(plain), "work": work_table(batch)}
    return {**by_name, "days": days_table(plain)}


def energy_table(rows: Sequence[Row]) -> str:
    """MWh of FGD, differences to it in %, and how far each went to the least energy."""
    names = list(dict.fromkeys(row["policy"] for row in rows if row["policy"] != FGD))
    lines = [f"| fleet, tasks | load | `fgd`, MWh | {' | '.join(names)} | least |", "|---" * (len(names) + 4) + "|"]
    for group, own in grouped(rows).items():
        fgd = mean(own, FGD, "mwh")
        cells = [f"{100 * (mean(own, name, 'mwh') / fgd - 1):+.2f}" for name in names]
        least = fmean(row["least_mwh"] for row in own if "least_mwh" in row)
        lines.append(f"| {group} | {fgd:.1f} | {' | '.join(cells)} | {100 * (least / fgd - 1):+.2f} |")
    return "\n".join(lines)


def asleep_table(rows: Sequence[Row]) -> str:
    """Nodes asleep in the mean, wakes, and the wait that 99 % of the tasks stay below."""
    names = list(dict.fromkeys(row["policy"] for row in rows))
    lines = [f"| fleet, tasks | load | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for group, own in grouped(rows).items():
        cells = [
            f"{mean(own, name, 'asleep_nodes'):.0f}, {mean(own, name, 'wakes'):.0f}, "
            f"{mean(own, name, 'wait_p99_s'):.0f} s"
            for name in names
        ]
        lines.append(f"| {group} | {' | '.join(cells)} |")
    return "\n".join(lines)


def days_table(rows: Sequence[Row]) -> str:
    """Energy of each day with lengths unused, learnt and known, differences to FGD in %: learnt within a day or not."""
    forms = [form.name for form in OWN_FORMS if form.durations in (NOT_USED, LEARNT, KNOWN)]
    days = max(len(row["mwh_by_day"]) for row in rows)
    head = " | ".join(f"day {day + 1}" for day in range(days))
    lines = [f"| fleet, tasks | load | | {head} |", "|---" * (days + 3) + "|"]
    for group, own in grouped(rows).items():
        for form in forms:
            cells = []
            for day in range(days):
                has_it = [row for row in own if len(row["mwh_by_day"]) > day]
                of_day = {name: [r["mwh_by_day"][day] for r in has_it if r["policy"] == name] for name in (FGD, form)}
                cells.append(f"{100 * (fmean(of_day[form]) / fmean(of_day[FGD]) - 1):+.2f}" if has_it else "")
            lines.append(f"| {group} | {form} | {' | '.join(cells)} |")
    return "\n".join(lines)


def work_table(rows: Sequence[Row]) -> str:
    """Energy per unit of work, differences to FGD in %."""
    names = list(dict.fromkeys(row["policy"] for row in rows if row["policy"] != FGD))
    lines = [f"| fleet | load | `fgd`, kWh per A100-hour | {' | '.join(names)} |", "|---" * (len(names) + 3) + "|"]
    for group, own in grouped(rows).items():
        fgd = mean(own, FGD, "kwh_per_work")
        cells = [f"{100 * (mean(own, name, 'kwh_per_work') / fgd - 1):+.2f}" for name in names]
        lines.append(f"| {group} | {fgd:.3f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def grouped(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """By fleet and tasks, then load; seeds together."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["tasks"], row["fleet"], row["load"])):
        fleet = row["fleet"] if row["tasks"] == BATCH else f"{row['fleet']}, {row['tasks']}"
        found.setdefault(f"{fleet} | {row['load']}", []).append(row)
    return found


def mean(rows: Sequence[Row], policy: str, number: str) -> float:
    return fmean(row[number] for row in rows if row["policy"] == policy)
