"""How fast `ocs` learns the lengths of tasks: its survival curves against those of the tasks to come, by time.

The error is that of the probability that a new task still runs after 45 s, 90 s, ... up to 17 days: mean absolute
difference over these times and over the tasks that arrive in the run.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.sleep_runs import OCS, ONE_MODEL, OWN, TWO_HOURS, fleet_of, trace_of
from wattpack.datasets import alibaba2023
from wattpack.datasets.generators import generate
from wattpack.datasets.inflation import node_order, seeded
from wattpack.engine.moments.busy_run import BINS, FIRST_S, BusyRun
from wattpack.engine.moments.options import BACKFILL, LEARNT, Sleep, TimeOptions
from wattpack.engine.moments.simulate import new_simulation
from wattpack.model.durations import DAY_S
from wattpack.model.target import Target
from wattpack.model.timed_tasks import TimedTasks
from wattpack.policies.expression import parse

LOAD, SEEDS, MOST_DAYS = 0.5, (203, 204, 205), 3.0
AFTER_H = (1.0, 6.0, 24.0, 72.0)
LATER_S = 0.75 * FIRST_S * 2.0 ** np.arange(BINS)  # the times of `BusyRun.gone`


def measure() -> dict[str, object]:
    rows: list[dict[str, Any]] = []
    for fleet, tasks in ((ONE_MODEL, OWN), (ONE_MODEL, TWO_HOURS), (alibaba2023.NAME, OWN)):
        for hours in AFTER_H:
            error = fmean(error_after(fleet, tasks, hours, seed) for seed in SEEDS)
            rows.append({"fleet": fleet, "tasks": tasks, "hours": hours, "error": round(error, 4)})
            print(rows[-1], flush=True)
    return {"load": LOAD, "seeds": SEEDS, "rows": rows}


def error_after(fleet: str, kind: str, hours: float, seed: int) -> float:
    datacenter, profile = fleet_of(fleet)
    tasks = generate(trace_of(kind), datacenter.gpu_milli, LOAD, MOST_DAYS, seeded(seed).workload)
    datacenter = datacenter.ordered(node_order(datacenter, seeded(seed).node_order))
    options = TimeOptions(BACKFILL, horizon_s=hours / 24 * DAY_S, sleep=Sleep(), durations=LEARNT)
    target = Target.of(alibaba2023.trace("default"))
    run = new_simulation(datacenter, tasks, parse(OCS), target, seeded(seed).policy, profile, options)
    run.to_end()
    return survival_error(run.run.busy, tasks)


def survival_error(busy: BusyRun, tasks: TimedTasks) -> float:
    """Groups that have not been seen yet have no curve and do not count; nor do the tasks that are there at time 0."""
    arriving = np.flatnonzero(tasks.arrival_s > 0)
    total, count = 0.0, 0
    for group in np.unique(busy.group[arriving]):
        if busy.seen[group, 0] >= 0:
            own = arriving[busy.group[arriving] == group]
            true = (tasks.duration_s[own][:, None] > LATER_S).mean(axis=0)
            total += len(own) * float(np.abs(1 - busy.gone[group, 0] - true).mean())
            count += len(own)
    return total / max(count, 1)
