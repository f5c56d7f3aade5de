"""One run of the paper's experiment: Default trace, 1,213 nodes, about 10.8k tasks, every sample recorded, one core."""

from __future__ import annotations

import statistics
import time

from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import node_order, run_workload, seeded
from wattpack.engine.runs.arrivals import simulate
from wattpack.experiments.lineup import DEFAULT_POLICIES
from wattpack.model.target import Target
from wattpack.policies.expression import parse

REPEATS = 15


def measure() -> dict[str, object]:
    trace = alibaba2023.trace("default")
    target = Target.of(trace)
    seeds = seeded(42)
    datacenter = alibaba2023.datacenter()
    workload = run_workload(trace, datacenter.gpu_milli, seeds.workload)
    shuffled = datacenter.ordered(node_order(datacenter, seeds.node_order))
    rows = []
    for policy in DEFAULT_POLICIES:
        mix = parse(policy)
        simulate(shuffled, workload, mix, target)  # compile or load
        seconds = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            simulate(shuffled, workload, mix, target)
            seconds.append(time.perf_counter() - start)
        rows.append(
            {
                "policy": policy,
                "tasks": len(workload),
                "run_ms_median": round(statistics.median(seconds) * 1e3, 2),
                "run_ms_best": round(min(seconds) * 1e3, 2),
                "us_a_decision_best": round(min(seconds) / len(workload) * 1e6, 2),
            }
        )
    return {"what": "whole run, start included, warm", "repeats": REPEATS, "rows": rows}
