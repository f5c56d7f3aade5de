"""How the cost of a decision grows with the datacenter: the built-in one repeated 1, 10, 100 times.

Each size in a process of its own, so that the peak memory is its own. `plain` is the scan over all nodes that the
buckets replace; `churn` is the same engine with departures: at a load of 0.8 a task leaves for each that comes;
`place` and `release` are these two alone, on nodes all over the datacenter.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import node_order, run_workload, seeded
from wattpack.engine.core.decide import decide
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.faults import NOWHERE
from wattpack.engine.core.pick import pick
from wattpack.engine.core.state import arrive, place, release
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.jit import kernel
from wattpack.model.target import Target
from wattpack.policies.expression import parse

TIMES = (1, 10, 100)
POLICIES = ("fgd", "pwr:0.1+fgd:0.9", "ocs")
PLAIN_TASKS = 20_000  # the scan is slow at 100 times: measured over its first tasks
CHURN_TASKS = 200_000


@kernel
def churn(state: Any, plan: Any, scores: Any, classes: Any, leaves: Any, held: Any, luck: Any) -> int:
    """For each class in turn: the task in slot leaves[i] departs, a task of the class comes into the slot.

    held: int64[slots, 3] class, node, GPUs of each placed task; class -1: the slot is empty.
    """
    placed = 0
    for i in range(len(classes)):
        slot = held[leaves[i]]
        if slot[0] >= 0:
            release(state, plan, slot[0], slot[1], slot[2])
            slot[0] = -1
        k = classes[i]
        arrive(state, plan, k)
        n = decide(state, plan, scores, k, luck[0])
        if n != NOWHERE:
            gpus = pick(state, plan, scores, k, n, luck[1])
            place(state, plan, k, n, gpus)
            slot[0], slot[1], slot[2] = k, n, gpus
            placed += 1
    return placed


@kernel
def change_each(state: Any, plan: Any, k: int, nodes: Any, sign: int) -> None:
    """Place (1) a sharing task of class `k` on GPU 0 of each of `nodes`, or release (-1) it."""
    for i in range(len(nodes)):
        if sign > 0:
            place(state, plan, k, nodes[i], 1)
        else:
            release(state, plan, k, nodes[i], 1)


def measure_changes(times: int, policy: str, how: str) -> dict[str, Any]:
    """Best of 20 passes over 1,000 nodes drawn at random; the passes that undo them are not timed."""
    trace = alibaba2023.trace("default")
    datacenter = alibaba2023.datacenter().repeated(times)
    engine = Engine(datacenter, trace.classes, parse(policy), Target.of(trace))
    k = np.int64(next(i for i, task in enumerate(trace.classes) if 0 < task.gpu_milli < 1000))
    nodes = np.random.default_rng(0).permutation(len(datacenter))[:1000].astype(np.int64)
    best = np.inf
    for _ in range(20):
        for sign in (1, -1):
            start = time.perf_counter()
            change_each(engine.state, engine.plan, k, nodes, sign)
            if (sign > 0) == (how == "place"):
                best = min(best, time.perf_counter() - start)
    return {"times": times, "nodes": len(datacenter), "policy": policy, "how": how, "us_a_change": round(best * 1e3, 3)}


def measure_one(times: int, policy: str, how: str) -> dict[str, Any]:
    if how in ("place", "release"):
        return measure_changes(times, policy, how)
    trace = alibaba2023.trace("default")
    seeds = seeded(42)
    datacenter = alibaba2023.datacenter().repeated(times)
    up_to = 0.8 if how == "churn" else 1.3
    workload = run_workload(trace, datacenter.gpu_milli, seeds.workload, up_to)
    shuffled = datacenter.ordered(node_order(datacenter, seeds.node_order))
    target, mix, luck = Target.of(trace), parse(policy), draw_luck(workload, None)
    small = alibaba2023.datacenter()
    run_arrivals(
        Engine(small, workload.classes, mix, target), workload.with_sequence(workload.sequence[:100]), luck
    )  # compile

    start = time.perf_counter()
    engine = Engine(shuffled, workload.classes, mix, target)
    started = time.perf_counter() - start
    if how == "plain":
        engine.plan = engine.plan._replace(bucketed=False)
        workload = workload.with_sequence(workload.sequence[:PLAIN_TASKS])
    start = time.perf_counter()
    run = run_arrivals(engine, workload, luck)
    seconds, tasks = time.perf_counter() - start, len(workload)
    if how == "churn":
        rng = np.random.default_rng(1)
        classes = trace.sequence[rng.integers(len(trace), size=CHURN_TASKS)]
        leaves = rng.integers(len(workload), size=CHURN_TASKS)
        held = np.stack([np.where(run.node >= 0, workload.sequence, -1), run.node, run.gpus], axis=1).astype(np.int64)
        arguments = (engine.state, engine.plan, engine.scores)
        churn(*arguments, classes[:1000], leaves[:1000], held, luck[0])
        start = time.perf_counter()
        churn(*arguments, classes, leaves, held, luck[0])
        seconds, tasks = time.perf_counter() - start, CHURN_TASKS
    return {
        "times": times,
        "nodes": len(shuffled),
        "gpus": int(shuffled.gpus.sum()),
        "policy": policy,
        "how": how,
        "tasks": tasks,
        "start_s": round(started, 3),
        "us_a_decision": round(seconds / tasks * 1e6, 2),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def measure() -> dict[str, object]:
    rows = []
    for policy in POLICIES:
        for how in ("buckets", "churn", "place", "release", "plain"):
            of_one = None
            for times in TIMES:
                command = [sys.executable, "-m", "benchmarks.scaling", str(times), policy, how]
                row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                cost = row.get("us_a_decision") or row["us_a_change"]
                of_one = of_one or cost
                row["ratio_to_1"] = round(cost / of_one, 2)
                rows.append(row)
    return {"what": "mean cost of a decision, arrival run to 1.3 times the GPU capacity", "rows": rows}


if __name__ == "__main__":
    print(json.dumps(measure_one(int(sys.argv[1]), sys.argv[2], sys.argv[3])))
