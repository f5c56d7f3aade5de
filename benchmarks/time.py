"""Runs in time: a million tasks over four weeks on the built-in datacenter, with sleep, ten times that, a long queue.

Each run in a process of its own on one core, so that the peak memory is its own. Tasks are those of the Default trace,
with the daily and weekly rhythm, at mean load 0.9; their durations are scaled so that a million of them come in four
weeks. Power is sampled every minute. The time is that of the whole run with its start, kernels compiled: the best of
ROUNDS, in which the cases take turns, since other users of the machine can only add to it. All times are kept.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from wattpack.datasets import alibaba2023
from wattpack.datasets.alibaba2023_times import timed_trace
from wattpack.datasets.generators import generate
from wattpack.datasets.inflation import node_order, seeded
from wattpack.engine.moments.options import BACKFILL, Sleep, TimeOptions
from wattpack.engine.moments.simulate import new_simulation
from wattpack.model.nodes import Datacenter
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.model.timed_tasks import TimedTasks
from wattpack.policies.expression import parse

TASKS, DAYS, LOAD = 1_000_000, 28.0, 0.9
POLICIES = ("fgd", "pwr:0.1+fgd:0.9")
FULL_MODEL = "G3"  # all of it is taken for ever, so that tasks for it wait for ever
WAITING, WAITING_CLASSES, BESIDE = 10_000, 200, 200_000
OVERLOAD = 1.2
CASES = ("million", "million with sleep", "ten times", "nobody waits", "10,000 wait", "overload")
ROUNDS = 3


def drawn(datacenter: Datacenter, count: int, load: float) -> TimedTasks:
    """About `count` tasks over DAYS at `load`: those that arrive, and half a percent that is there at the start."""
    trace = timed_trace("default")
    seconds_a_task = load * datacenter.gpu_milli / 1000 * DAYS * 86400 / (0.994 * count)
    scaled = replace(trace, duration_s=trace.duration_s * (seconds_a_task / trace.mean_gpu_s()))
    return generate(scaled, datacenter.gpu_milli, load, DAYS, seeded(1).workload)


def part_of(tasks: TimedTasks, kept: Any) -> TimedTasks:
    return TimedTasks(
        Workload(tasks.workload.classes, tasks.workload.sequence[kept], None, tasks.workload.name),
        tasks.arrival_s[kept],
        tasks.duration_s[kept],
    )


def with_full_model(tasks: TimedTasks, datacenter: Datacenter, waiting: int) -> TimedTasks:
    """Tasks that take all of one GPU model for ever, `waiting` tasks that wait for it, then `tasks`."""
    place = datacenter.models.index(FULL_MODEL)
    taken = [TaskClass(0, 0, int(gpus), 1000, FULL_MODEL) for gpus in datacenter.gpus[datacenter.model == place]]
    wanted = [TaskClass(1000 + i % WAITING_CLASSES, 1024, 1, 1000, FULL_MODEL) for i in range(waiting)]
    classes = list(dict.fromkeys([*tasks.workload.classes, *taken, *wanted]))
    places = {one: k for k, one in enumerate(classes)}
    first = [places[one] for one in (*taken, *wanted)]
    sequence = np.concatenate([np.array(first, dtype=np.int32), tasks.workload.sequence])
    return TimedTasks(
        Workload(tuple(classes), sequence.astype(np.int32), None, "full model"),
        np.concatenate([np.zeros(len(first)), tasks.arrival_s]),
        np.concatenate([np.full(len(first), np.inf), tasks.duration_s]),
    )


def measure_one(case: str, policy: str) -> dict[str, Any]:
    times = 10 if case == "ten times" else 1
    datacenter = alibaba2023.datacenter()
    datacenter = datacenter.repeated(times) if times > 1 else datacenter
    datacenter = datacenter.ordered(node_order(datacenter, seeded(1).node_order))
    if case in ("million", "million with sleep", "ten times"):
        tasks = drawn(datacenter, TASKS * times, LOAD)
    elif case == "overload":
        tasks = drawn(datacenter, BESIDE, OVERLOAD)
    else:
        tasks = with_full_model(drawn(datacenter, BESIDE, 0.6), datacenter, WAITING if case == "10,000 wait" else 0)
    mix, target = parse(policy), Target.of(alibaba2023.trace("default"))
    sleep = Sleep() if case == "million with sleep" else None
    options = TimeOptions(discipline=BACKFILL, sample_s=60.0, horizon_s=DAYS * 86400, sleep=sleep)
    few = part_of(tasks, np.arange(min(1000, len(tasks))))
    new_simulation(datacenter, few, mix, target, None, options=options).record()  # compile or load
    start = time.perf_counter()
    record = new_simulation(datacenter, tasks, mix, target, None, options=options).record()
    seconds = time.perf_counter() - start
    return {
        "case": case,
        "policy": policy,
        "nodes": len(datacenter),
        "tasks": len(tasks),
        "run_s": round(seconds, 2),
        "us_a_task": round(seconds / len(tasks) * 1e6, 2),
        "moments": len(record.moment_s),
        "us_a_moment": round(seconds / len(record.moment_s) * 1e6, 2),
        "longest_queue": int(record.queued.max()),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def in_a_process(case: str, policy: str) -> dict[str, Any]:
    code = f"import json; from benchmarks.time import measure_one; print(json.dumps(measure_one({case!r}, {policy!r})))"
    said = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


def best_of(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The fastest of the runs of one case, with the times of all."""
    return {**min(rounds, key=lambda row: row["run_s"]), "all_run_s": [row["run_s"] for row in rounds]}


def measure() -> dict[str, object]:
    rows = []
    for policy in POLICIES:
        found = [{case: in_a_process(case, policy) for case in CASES} for _ in range(ROUNDS)]
        by_case = {case: best_of([row[case] for row in found]) for case in CASES}
        for case in ("million with sleep", "ten times"):
            by_case[case]["times_as_long"] = round(by_case[case]["run_s"] / by_case["million"]["run_s"], 2)
        for case in ("10,000 wait", "overload"):
            dear = by_case[case]["us_a_moment"] / by_case["nobody waits"]["us_a_moment"]
            by_case[case]["a_moment_is_times_as_dear"] = round(dear, 2)
        rows += list(by_case.values())
    return {"what": "runs in time, backfill, power sampled every minute, one core", "rows": rows}
