"""The runs of `python -m benchmarks sleep`: fleets, tasks and policies, and what came of each run as a row."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from benchmarks.month_runs import EDITS, TWO_MODELS
from wattpack.datasets import alibaba2023, alibaba2026
from wattpack.datasets.alibaba2023_times import timed_trace
from wattpack.datasets.generators import generate
from wattpack.datasets.inflation import node_order, seeded
from wattpack.datasets.sources import load_datacenter
from wattpack.datasets.speed_files import TYPICAL, load_speeds, speeds_by_model
from wattpack.datasets.timed_trace import TimedTrace
from wattpack.engine.moments.options import BACKFILL, KNOWN, LEARNT, NOT_USED, Sleep, Speeds, TimeOptions
from wattpack.engine.moments.record import TimeRecord
from wattpack.engine.moments.simulate import new_simulation
from wattpack.model.durations import DAY_S
from wattpack.model.nodes import Datacenter
from wattpack.model.power import MEASURED, PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.timed_tasks import TimedTasks
from wattpack.optimise.bound.least_energy import EnergyBound
from wattpack.policies.expression import parse

Row = dict[str, Any]
FGD, MIX, PWR, OCS = "fgd", "pwr:0.1+fgd:0.9", "pwr", "ocs"
ONE_MODEL = "400 x 8 H100"
LOADS = (0.3, 0.5, 0.7)
SEEDS = (203,)  # for judging; 201 and 202 were seen before the last change: docs/research/sleep.md
SIGMA = 0.7  # of the logarithm of estimate / duration: a factor of 2
ESTIMATES = "estimates"

# Tasks of a setting.
OWN = "own durations"
TWO_HOURS = "2 h on average"  # log-normal (sigma 1.5), the same for all classes: nothing can be told from the class
BATCH = "own durations up to 6 h, all batch, with speeds"
MOST_S = 6 * 3600.0


class Setting(NamedTuple):
    fleet: str
    tasks: str
    load: float
    seed: int
    days: float


class Competitor(NamedTuple):
    policy: str
    durations: str = NOT_USED  # what it knows of them

    @property
    def name(self) -> str:
        said = {NOT_USED: ", as before", KNOWN: ", known", LEARNT: ", learnt", ESTIMATES: ", within a factor of 2"}
        return self.policy + (said[self.durations] if self.policy == OCS else "")


OTHERS = (Competitor(FGD), Competitor(MIX), Competitor(PWR))
OWN_FORMS = tuple(Competitor(OCS, durations) for durations in (NOT_USED, KNOWN, ESTIMATES, LEARNT))


def settings(seeds: tuple[int, ...], days: float) -> Iterator[Setting]:
    """The largest fleet last: what is done when time runs out is then most of it."""
    for seed in seeds:
        for fleet, tasks, most_days in (
            (TWO_MODELS, OWN, days),
            (ONE_MODEL, OWN, days),
            (alibaba2023.NAME, OWN, days),
            (ONE_MODEL, TWO_HOURS, 2.0),
            (TWO_MODELS, BATCH, 1.0),
            (alibaba2023.NAME, BATCH, 1.0),
            (alibaba2026.NAME, OWN, days),
            (alibaba2026.NAME, BATCH, 1.0),
        ):
            for load in LOADS:
                yield Setting(fleet, tasks, load, seed, min(days, most_days))


def fleet_of(name: str) -> tuple[Datacenter, PowerProfile]:
    if name == ONE_MODEL:
        # Base power of 80 W and 15 % of the GPUs' limits; the watts of readings.
        nodes, base_w = 400, 80 + 0.15 * 8 * 700
        names = [f"h100-{i:03d}" for i in range(nodes)]
        given = ([128_000] * nodes, [2**21] * nodes, [8] * nodes, ["H100-80GB-HBM3"] * nodes)
        return Datacenter.of(names, *given, name=name, base_w=[base_w] * nodes), MEASURED
    return load_datacenter(EDITS if name == TWO_MODELS else name, name=name), PAPER


def trace_of(tasks: str) -> TimedTrace:
    trace = timed_trace("default")
    if tasks == BATCH:
        short = np.minimum(trace.duration_s, MOST_S)
        return replace(trace, duration_s=short, batch=np.ones(len(trace), dtype=bool))
    if tasks == TWO_HOURS:
        parts = 20
        drawn = np.exp([1.5 * NormalDist().inv_cdf((part + 0.5) / parts) for part in range(parts)])
        return replace(
            trace,
            class_index=np.repeat(trace.class_index, parts),
            service_class=tuple(name for name in trace.service_class for _ in range(parts)),
            batch=np.repeat(trace.batch, parts),
            slack_s=np.repeat(trace.slack_s, parts),
            weight=np.repeat(trace.weight, parts),
            duration_s=np.tile(7200 * drawn / drawn.mean(), len(trace)),
        )
    return trace


def run_setting(setting: Setting) -> list[Row]:
    """All competitors on the same tasks and node order, and the least energy for the tasks as FGD ran them."""
    datacenter, profile = fleet_of(setting.fleet)
    seeds = seeded(setting.seed)
    tasks = generate(trace_of(setting.tasks), datacenter.gpu_milli, setting.load, setting.days, seeds.workload)
    datacenter = datacenter.ordered(node_order(datacenter, seeds.node_order))
    speeds = speeds_of(datacenter) if setting.tasks == BATCH else None
    sleep = Sleep()
    rows = []
    for competitor in (*OTHERS, *OWN_FORMS):
        knows = KNOWN if competitor.durations == ESTIMATES else competitor.durations
        wrong = np.exp(SIGMA * np.random.default_rng(setting.seed).standard_normal(len(tasks)))
        options = TimeOptions(
            BACKFILL,
            horizon_s=setting.days * DAY_S,
            sample_s=600.0,
            speeds=speeds,
            sleep=sleep,
            durations=knows,
            expected_s=tasks.duration_s * wrong if competitor.durations == ESTIMATES else None,
        )
        mix, target = parse(competitor.policy), Target.of(alibaba2023.trace("default"))
        simulation = new_simulation(datacenter, tasks, mix, target, seeded(setting.seed).policy, profile, options)
        start = time.perf_counter()
        record = simulation.record()
        took_s = time.perf_counter() - start
        rows.append({**setting._asdict(), "policy": competitor.name, **numbers(record, tasks, datacenter, speeds)})
        rows[-1]["took_s"] = round(took_s, 2)
        if competitor.policy == FGD and speeds is None:
            reserve = int(simulation.run.sleep.reserve_gpus)
            bound = EnergyBound(datacenter, tasks.workload.classes, profile, sleep.sleep_w)
            least = bound.of(record, tasks, reserve, samples=20)
            rows[-1]["least_mwh"] = round(least.kwh / 1000, 4)
    return rows


def mwh_by_day(record: TimeRecord) -> list[float]:
    """Of each whole day."""
    days = np.arange(int(record.horizon_s // DAY_S) + 1) * DAY_S
    mwh = np.interp(days, record.mark_s, record.energy_j.sum(axis=1)) / 3.6e9
    return [round(each, 4) for each in np.diff(mwh).tolist()]


def speeds_of(datacenter: Datacenter) -> Speeds:
    by_model = speeds_by_model(load_speeds(TYPICAL), datacenter.models, TYPICAL)
    return Speeds(float(np.average(by_model[datacenter.model], weights=datacenter.gpus)), by_model)


def numbers(record: TimeRecord, tasks: TimedTasks, datacenter: Datacenter, speeds: Speeds | None) -> Row:
    mwh = float(record.energy_j[-1].sum()) / 3.6e9
    waits = record.wait_s[np.isfinite(record.wait_s)]
    found: Row = {
        "mwh": round(mwh, 4),
        "asleep_nodes": round(record.asleep_node_s / record.horizon_s, 1),
        "wakes": record.wakes,
        "wait_p99_s": round(float(np.percentile(waits, 99)), 1) if len(waits) else None,
        "gpu_hours": round(float(record.gpu_s[-1]) / 3600, 1),
        "mwh_by_day": mwh_by_day(record),
    }
    if speeds is not None:
        ran_s = np.nan_to_num(np.minimum(record.end_s, record.horizon_s) - record.start_s)
        speed = speeds.by_model[datacenter.model[np.maximum(record.node, 0)]]
        work = float((ran_s * tasks.workload.gpu_request_milli() * speed)[tasks.batch].sum()) / 3.6e6
        found["kwh_per_work"] = round(1000 * mwh / work, 5)
    return found
