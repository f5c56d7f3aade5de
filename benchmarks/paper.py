"""The whole paper from one command, and what the machinery around the engine costs.

`whole`: `wattpack paper`, 10 seeds, in a process of its own, after the compile. `machinery`: one seed of all its
scenarios through runner and results folder, against the bare engine on the same scenarios, in one run; then with more
workers.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.startup import wattpack
from wattpack.datasets.inflation import node_order, run_workload, seeded
from wattpack.engine.runs.arrivals import simulate
from wattpack.experiments.executors import usable_cores
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.runner import run_all
from wattpack.experiments.scenario import Inputs, Scenario
from wattpack.experiments.spec.axes import resolve
from wattpack.model.target import Target
from wattpack.paper.experiment import load_paper
from wattpack.policies.expression import parse


def engine_seconds(scenarios: tuple[Scenario, ...], inputs: Inputs) -> float:
    """What the engine alone takes: workload, node order and target are made before the clock starts."""
    total = 0.0
    for scenario in scenarios:
        datacenter, trace = inputs.datacenters[scenario.datacenter], inputs.traces[scenario.trace]
        seeds = seeded(scenario.seed)
        workload = run_workload(trace, datacenter.gpu_milli, seeds.workload)
        shuffled = datacenter.ordered(node_order(datacenter, seeds.node_order))
        mix, target = parse(scenario.policy), Target.of(trace)
        start = time.perf_counter()
        simulate(shuffled, workload, mix, target, seeds.policy)
        total += time.perf_counter() - start
    return total


def through_machinery(scenarios: tuple[Scenario, ...], inputs: Inputs, workers: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run_all(scenarios, inputs, ResultsFolder(Path(folder)), lambda done, everything, what: None, workers=workers)
        return time.perf_counter() - start


def measure() -> dict[str, Any]:
    inputs, scenarios = resolve(load_paper().with_seeds(1))
    engine_seconds(scenarios[:20], inputs)  # load the kernels
    machinery = through_machinery(scenarios, inputs, 1)
    engine = engine_seconds(scenarios, inputs)
    again = through_machinery(scenarios, inputs, 1)
    one = min(machinery, again)
    rows: list[dict[str, Any]] = [
        {"what": "engine alone", "runs": len(scenarios), "seconds": round(engine, 2)},
        {
            "what": "machinery, 1 worker",
            "seconds": round(one, 2),
            "overhead_percent": round(100 * (one / engine - 1), 1),
        },
    ]
    for workers in range(2, usable_cores() + 1):
        seconds = through_machinery(scenarios, inputs, workers)
        rows.append(
            {"what": f"machinery, {workers} workers", "seconds": round(seconds, 2), "speed_up": round(one / seconds, 2)}
        )
    with tempfile.TemporaryDirectory() as folder:
        seconds, memory = wattpack(["paper", "--out", folder])
    rows.append(
        {"what": "whole, 10 seeds, figures and report", "seconds": round(seconds, 1), "peak_mib": round(memory)}
    )
    return {"rows": rows}
