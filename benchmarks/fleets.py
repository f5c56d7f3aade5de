"""`python -m benchmarks fleets [--fleets 0-59] [--policies ...]`: policies on random fleets.

Fleets 0 to 59, 600 to 659 and 700 to 759 are for tuning; 100 to 159, 200 to 259, ... 700 to 759 and 800 to 859 were
held out and judged at the end of a round.
Finished runs are kept in `out/fleets` and used again while the code that decides them is the same, so the same command
goes on after Ctrl-C and only repeats what an edit of a policy changed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.fleet_runs import FILL_UP, OTHER_ORDER, STEADY, has_steady_state, measure_setting
from benchmarks.fleet_table import BASELINE, choices, everything, failures, summarise, table, worst
from benchmarks.future import write_tables
from benchmarks.machine import machine
from benchmarks.random_fleets import parse_numbers, random_fleet
from wattpack.errors import UserError
from wattpack.files import make_folder, write_text

POLICIES = (
    BASELINE,
    OTHER_ORDER,
    "pwr:0.1+fgd:0.9",
    "pwr:0.2+fgd:0.8",
    "pwr",
    "epsilon",
    "fgd:0.7+pwrexpected:0.3",
    "bestfit",
    "ocs",
    "auto",
)


def page_tables(rows: Mapping[str, Sequence[dict[str, Any]]]) -> dict[str, str]:
    """What stands between the marks of the page, from the rows of each regime."""
    tables = {}
    for regime, found in rows.items():
        tables[regime] = table(summarise(found), regime)
        for policy in ("ocs", "auto"):
            tables[f"{regime} {policy}"] = failures(found, policy)
        tables[f"{regime} chosen"] = choices(found)
    return tables


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks fleets", description=__doc__)
    parser.add_argument("--fleets", default="0-59", help="numbers, like 0-59 or 3,7,100-159; default 0-59")
    parser.add_argument("--policies", help=f"separated by commas; {BASELINE} is added; default {','.join(POLICIES)}")
    parser.add_argument(
        "--seeds", type=int, default=2, help="of a fill-up, at least; small fleets get up to 8; default 2"
    )
    parser.add_argument("--no-bound", action="store_true", help="without the LP")
    parser.add_argument("--steady", action="store_true", help="the steady state instead of the fill-up")
    parser.add_argument("--both", action="store_true", help="fill-up and steady state")
    parser.add_argument("--show", metavar="POLICY", help="also print the settings where POLICY does worst")
    parser.add_argument("--count", type=int, default=8, help="how many of them; default 8")
    parser.add_argument("--page", type=Path, help="also write the tables between the marks of this page")
    parser.add_argument("--kept", type=Path, default=Path("out/fleets"), help="folder of finished runs")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder of fleets-A-B.json")
    chosen = parser.parse_args(arguments)
    try:
        numbers = parse_numbers(chosen.fleets)
    except UserError as fault:
        parser.error(str(fault))
    policies = list(dict.fromkeys([BASELINE, *(chosen.policies.split(",") if chosen.policies else POLICIES)]))
    regimes = (FILL_UP, STEADY) if chosen.both else (STEADY,) if chosen.steady else (FILL_UP,)
    on, start, settings = machine(), time.perf_counter(), list[dict[str, Any]]()
    nodes = {}
    for number in numbers:
        fleet = random_fleet(number)
        nodes[number] = fleet.text
        for place, setting in enumerate(fleet.settings):
            here = [regime for regime in regimes if regime == FILL_UP or has_steady_state(fleet, place)]
            records = measure_setting(fleet, place, policies, here, chosen.seeds, not chosen.no_bound, chosen.kept)
            said = {"fleet": number, "trace": setting.trace.name, "profile": setting.profile}
            settings.append({**said, "nodes": fleet.text, "records": records})
        print(f"fleet {number} after {time.perf_counter() - start:.0f} s", flush=True)
    rows = everything(settings)
    summary = {regime: summarise(found) for regime, found in rows.items()}
    result = {
        "benchmark": "fleets",
        "machine": on,
        "took_s": round(time.perf_counter() - start, 1),
        "fleets": chosen.fleets,
        "summary": summary,
        "rows": [row for found in rows.values() for row in found],
        "nodes": nodes,
    }
    name = f"fleets-{numbers[0]}-{numbers[-1]}{'-steady' if chosen.steady else ''}.json"
    write_text(make_folder(chosen.out) / name, json.dumps(result, indent=1) + "\n")
    for regime, found in rows.items():
        print(f"\n{table(summary[regime], regime)}")
        if chosen.show:
            print(f"\n{worst(found, chosen.show, chosen.count, nodes)}")
    if chosen.page is not None:
        write_tables(chosen.page, page_tables(rows))
    print(f"\n{chosen.out / name}")
