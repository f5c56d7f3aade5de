"""`python -m benchmarks month [--month FILE]`: what policies cost in time, and whether saving watts saves energy.

The 13 built-in traces, and the real month where its file is given (disaggregated_DLRM_trace.csv of
cluster-trace-gpu-v2025). Finished runs are kept in `out/month`: the same command goes on after Ctrl-C. About 25 minutes
on one core.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.future import write_tables
from benchmarks.machine import machine
from benchmarks.month_runs import SEEDS, Row, experiment, rows_of
from benchmarks.month_table import tables
from wattpack.experiments.runner import run_experiment
from wattpack.files import make_folder, write_text

PAGE = Path("docs/research/month.md")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks month", description=__doc__)
    parser.add_argument("--month", type=Path, help="file of the real month; default: that part is left out")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help=f"of drawn tasks; default {len(SEEDS)}")
    parser.add_argument("--kept", type=Path, default=Path("out/month"), help="folder of finished runs")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder of month.json")
    parser.add_argument("--page", type=Path, help=f"also write the tables between the marks of this page, like {PAGE}")
    parser.add_argument("--workers", type=int, default=1, help="runs at once; default 1")
    chosen = parser.parse_args(arguments)
    on, start = machine(), time.perf_counter()
    if chosen.month is None:
        print("the real month is left out: no --month FILE")

    def report(done: int, everything: int, what: str) -> None:
        if done % 50 == 0 or done == everything:
            print(f"{done} of {everything} after {time.perf_counter() - start:.0f} s {what}", flush=True)

    wanted = experiment(chosen.month, tuple(range(SEEDS[0], SEEDS[0] + chosen.seeds)))
    folder, scenarios, outcome = run_experiment(wanted, chosen.kept, report, workers=chosen.workers)
    for scenario, fault in outcome.failed:
        print(f"failed: {scenario}: {fault}")
    gpus = {name: float(nodes.gpus.sum()) for name, nodes in wanted.inputs.datacenters.items()}
    rows = rows_of(folder.read_timed(scenarios), gpus)
    said = {"benchmark": "month", "machine": on, "took_s": round(time.perf_counter() - start, 1)}
    said |= {"runs": outcome.done + outcome.skipped, "runs_kept_from_before": outcome.skipped}
    write_text(make_folder(chosen.out) / "month.json", json_text(said, rows))
    found = tables(rows)
    if chosen.page is not None:
        write_tables(chosen.page, found)
    else:
        for name, text in found.items():
            print(f"\n{name}\n\n{text}")
    print(f"\n{chosen.out / 'month.json'}")


def json_text(said: dict[str, Any], rows: Sequence[Row]) -> str:
    """A row a line: a thousand rows are read by eye and by diff."""
    lines = ",\n  ".join(json.dumps(row, separators=(",", ":")) for row in rows)
    head = json.dumps(said, indent=1).removesuffix("\n}")
    return f'{head},\n "rows": [\n  {lines}\n ]\n}}\n'
