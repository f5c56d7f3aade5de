"""`python -m benchmarks.windows [--out FOLDER] [--page FILE]`: windows with the MILP, for docs/research/future-work.md.

One run at a time; seconds are those of a core, so that others on the machine do not count. What is finished in the
folder is kept; the table between the marks `<!-- milp -->` and `<!-- end -->` of the page is written from it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.future import write_tables
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import node_order, run_workload, seeded
from wattpack.engine.runs.arrivals import simulate
from wattpack.engine.windows.batch import ALONE, Batch, simulate_windows
from wattpack.experiments.curves import at, read_at_loads
from wattpack.model.target import Target
from wattpack.policies.expression import parse

POLICIES = ("fgd", "pwr:0.1+fgd:0.9", "ocs")
TRACES = ("default", "multigpu50", "gpuspec33")
SEEDS = (101, 102, 103)
PLAIN = "one by one"
WAYS = {PLAIN: ALONE, "batch 16": Batch(16), "batch 16 milp": Batch(16, milp_seconds=60.0)}
SAVING_AT = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95)
GRAR_AT = (0.9, 0.95, 1.0)
UP_TO = 1.01


def fill_up(trace_name: str, policy: str, batch: Batch, seed: int, up_to: float = UP_TO) -> dict[str, Any]:
    datacenter, trace, seeds = alibaba2023.datacenter(), alibaba2023.trace(trace_name), seeded(seed)
    workload = run_workload(trace, datacenter.gpu_milli, seeds.workload, up_to)
    shuffled = datacenter.ordered(node_order(datacenter, seeds.node_order))
    run_on = (shuffled, workload, parse(policy), Target.of(trace), seeds.policy)
    started = process_time()
    run = simulate(*run_on) if batch == ALONE else simulate_windows(*run_on, batch=batch)
    seconds = process_time() - started
    read = read_at_loads(run)
    return {
        "eopc_w": [float(read["eopc_w"][at(load)]) for load in SAVING_AT],
        "grar": [float(read["grar"][at(load)]) for load in GRAR_AT],
        "seconds": seconds,
        "windows": -(-len(workload) // batch.tasks),
    }


def table(found: Mapping[str, dict[str, Any]]) -> str:
    """Savings against FGD one by one, in %, GRAR, seconds a run and windows a second: means over the seeds."""
    lines = [
        f"| trace | policy | {' | '.join(f'{load:g}' for load in SAVING_AT)} |"
        f" {' | '.join(f'GRAR {load:g}' for load in GRAR_AT)} | s a run | windows a s | seeds |",
        "|" + "---|" * (5 + len(SAVING_AT) + len(GRAR_AT)),
    ]
    before = ""
    for trace, policy, way in product(TRACES, POLICIES, WAYS):
        runs = [
            (found[f"{trace} {policy} {way} {seed}"], found[f"{trace} {POLICIES[0]} {PLAIN} {seed}"])
            for seed in SEEDS
            if f"{trace} {policy} {way} {seed}" in found
        ]
        if not runs:
            continue
        saving = np.mean([1 - np.array(run["eopc_w"]) / np.array(base["eopc_w"]) for run, base in runs], axis=0)
        grar = np.mean([run["grar"] for run, _ in runs], axis=0)
        seconds = float(np.mean([run["seconds"] for run, _ in runs]))
        rate = float(np.mean([run["windows"] for run, _ in runs])) / seconds
        cells = [*(f"{100 * one:.1f}" for one in saving), *(f"{one:.4f}" for one in grar)]
        cells += [f"{seconds:.2g}", "" if way == PLAIN else f"{rate:,.0f}", str(len(runs))]
        name = f"`{policy}`" + ("" if way == PLAIN else f" {way}")
        lines.append(f"| {trace if trace != before else ''} | {name} | {' | '.join(cells)} |")
        before = trace
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.windows", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/windows"), help="folder of finished runs")
    parser.add_argument(
        "--page", type=Path, default=Path("docs/research/future-work.md"), help="page whose table is written"
    )
    parser.add_argument("--finished", action="store_true", help="only write the table, from what is finished")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, Any]] = {}
    # Seeds outermost: whoever stops early has everything of some seeds.
    for seed, trace, policy, way in product(SEEDS, TRACES, POLICIES, WAYS):
        name = f"{trace} {policy} {way} {seed}"
        file = chosen.out / f"{name.replace(':', '_').replace(' ', '-')}.json"
        if not file.is_file() and not chosen.finished:
            fill_up(trace, policy, WAYS[way], 1, 0.02)  # compiles: no part of a run's seconds
            file.write_text(json.dumps(fill_up(trace, policy, WAYS[way], seed)), encoding="utf-8")
            print(name, file.read_text(encoding="utf-8"), flush=True)
        if file.is_file():
            found[name] = json.loads(file.read_text(encoding="utf-8"))
    write_tables(chosen.page, {"milp": table(found)})


if __name__ == "__main__":
    main()
