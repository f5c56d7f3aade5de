"""What sleep, and lengths of tasks, cost the loop: processor time a task, `ocs` and FGD, two fleets, load 0.6.

The runs of a fleet take turns, and the least of several rounds counts: other work on the machine only adds time.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from benchmarks.sleep_runs import FGD, OCS
from wattpack.datasets import alibaba2023, alibaba2026
from wattpack.datasets.alibaba2023_times import timed_trace
from wattpack.datasets.generators import generate
from wattpack.datasets.inflation import node_order, seeded
from wattpack.datasets.sources import load_datacenter
from wattpack.engine.moments.options import BACKFILL, KNOWN, LEARNT, NOT_USED, Sleep, TimeOptions
from wattpack.engine.moments.simulate import new_simulation
from wattpack.model.durations import DAY_S
from wattpack.model.target import Target
from wattpack.policies.expression import parse

LOAD, SEED, ROUNDS = 0.6, 1, 7
DAYS = {alibaba2023.NAME: 4.0, alibaba2026.NAME: 1.0}  # as many tasks on both


class Way(NamedTuple):
    policy: str
    sleep: bool
    durations: str = NOT_USED


WAYS = (
    Way(FGD, False),
    Way(FGD, True),
    Way(OCS, False),
    Way(OCS, True),
    Way(OCS, True, KNOWN),
    Way(OCS, True, LEARNT),
)


def measure(rounds: int = ROUNDS) -> dict[str, object]:
    rows: list[dict[str, Any]] = []
    for fleet, days in DAYS.items():
        datacenter = load_datacenter(fleet, name=fleet)
        tasks = generate(timed_trace("default"), datacenter.gpu_milli, LOAD, days, seeded(SEED).workload)
        datacenter = datacenter.ordered(node_order(datacenter, seeded(SEED).node_order))
        target, least = Target.of(alibaba2023.trace("default")), dict.fromkeys(WAYS, float("inf"))
        for _ in range(rounds + 1):  # the first compiles, or loads
            for way in WAYS:
                options = TimeOptions(
                    BACKFILL,
                    horizon_s=days * DAY_S,
                    sample_s=600.0,
                    sleep=Sleep() if way.sleep else None,
                    durations=way.durations,
                )
                run = new_simulation(datacenter, tasks, parse(way.policy), target, options=options)
                start_s = time.process_time()
                run.to_end()
                least[way] = min(least[way], time.process_time() - start_s)
        for way, took_s in least.items():
            rows.append(
                {
                    "fleet": fleet,
                    "nodes": len(datacenter),
                    "tasks": len(tasks),
                    **way._asdict(),
                    "us_a_task": round(took_s / len(tasks) * 1e6, 2),
                    "times_awake": round(took_s / least[Way(way.policy, False)], 2),
                }
            )
    return {"what": f"processor time of the loop, load {LOAD}, the least of {rounds} rounds", "rows": rows}
