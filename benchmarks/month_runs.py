"""The runs of `python -m benchmarks month`, and their numbers as rows: means over seeds, differences to FGD."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wattpack.datasets import alibaba2023, alibaba2026
from wattpack.datasets.alibaba2023_times import timed_trace
from wattpack.datasets.formats import FORMATS
from wattpack.datasets.formats.imported import import_trace
from wattpack.datasets.sources import load_datacenter
from wattpack.datasets.speed_files import TYPICAL, load_speeds
from wattpack.datasets.timed_trace import TimedTrace
from wattpack.energy.zones import find_zone
from wattpack.experiments.lineup import BASELINE, DEFAULT_POLICIES, MIXES, OWN_BEST, PWR
from wattpack.experiments.scenario import Inputs, Scenario
from wattpack.experiments.spec.axes import Block, Experiment
from wattpack.experiments.timed_options import Timed
from wattpack.experiments.timed_result import TimedNumbers
from wattpack.experiments.timed_table import TimedRow, baseline_of, timed_table
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PROFILES
from wattpack.policies.expression import canonical

WATT_PROFILES = ("paper", "linear", "measured")
COUNTRIES = ("FRA", "DEU")  # yearly means; the policies do not see them, so one run serves both
PUE, LOAD, DAYS, SEEDS = 1.3, 0.7, 2.0, (42, 43)
POLICIES = tuple(canonical(policy) for policy in DEFAULT_POLICIES)
SAVERS = tuple(
    canonical(policy) for policy in (BASELINE, PWR, *MIXES, OWN_BEST)
)  # the question: FGD and those below it
FEW = tuple(canonical(policy) for policy in (BASELINE, PWR, MIXES[1], OWN_BEST))

TWO_MODELS = "A10 and H100"  # the 549 nodes of alibaba2023 with 8 G2, half of them with A10, half with H100
EDITS = (
    "alibaba2023 --remove A10 --remove G3 --remove P100 --remove T4 --remove V100M16 --remove V100M32 "
    "--replace 275xG2=A10 --replace G2=H100"
)
MONTH = "alibaba2025"  # the real month
ALL_BATCH = ", all batch"  # after the name of a trace: every task is work that ends when it is done
SHORT = ", at most 6 h"  # after it: no task runs longer, so that tasks come and go many times within the run
MOST_S = 6 * 3600.0

AT_LOADS = ("default", "multigpu50", "gpuspec33")
BATCH_TRACES = ("default", "multigpu50", "gpushare100", "gpuspec33")
ELSEWHERE = ("default", "multigpu50")
LONG_DAYS, SHORT_DAYS = 28.0, 3.0

Row = dict[str, Any]
MEANS = (
    *("kwh", "facility_kwh", "mean_kw", "gpu_hours", "wh_per_gpu_hour", "work", "kwh_per_work"),
    *("wait_p99_s", "waiting", "refused", "arrived"),
)
DIFFERENCES = ("kwh", "wh_per_gpu_hour", "kwh_per_work", "work")


def experiment(month: Path | None, seeds: tuple[int, ...] = SEEDS) -> Experiment:
    """All runs; the real month only where its file is given. Seeds are outermost, the question comes first."""
    plain, speeds = Timed(load=LOAD, days=DAYS, pue=PUE), Timed(load=LOAD, days=DAYS, pue=PUE, speed=TYPICAL)
    long = (speeds._replace(days=LONG_DAYS),)
    batch = tuple(f"{name}{ALL_BATCH}" for name in BATCH_TRACES)
    elsewhere = (*ELSEWHERE, *(f"{name}{ALL_BATCH}" for name in ELSEWHERE))
    short, turnover = (speeds._replace(days=SHORT_DAYS),), tuple(f"{name}{ALL_BATCH}{SHORT}" for name in ELSEWHERE)
    mixed = tuple(f"{name}{SHORT}" for name in ELSEWHERE)
    places = (alibaba2023.NAME, alibaba2026.NAME, TWO_MODELS)
    loads = tuple(speeds._replace(load=load) for load in (0.5, 0.9))
    here = (alibaba2023.NAME,)

    def block(policies: Iterable[str], traces: Iterable[str], timed: Iterable[Timed], **more: Any) -> Block:
        given = {"datacenters": here, "seeds": seeds[:1], "profiles": WATT_PROFILES, **more}
        return Block(tuple(policies), tuple(traces), up_to=(), timed=tuple(timed), **given)

    blocks = [
        block(SAVERS, alibaba2023.TRACES, (speeds,)),
        block(SAVERS, batch, (speeds,)),
        block(SAVERS, elsewhere, (speeds,), datacenters=(alibaba2026.NAME,)),
        block(SAVERS, elsewhere, (speeds,), datacenters=(TWO_MODELS,)),
        block(SAVERS, AT_LOADS, loads, profiles=("paper", "measured")),
        *(block(FEW, turnover, short, profiles=("paper", "measured"), datacenters=(place,)) for place in places),
        block(FEW, ("default", f"default{ALL_BATCH}"), long, profiles=("paper",)),
        block(FEW, (f"{name}{ALL_BATCH}{SHORT}" for name in alibaba2023.TRACES), short, profiles=("paper",)),
        block(POLICIES, alibaba2023.TRACES, (plain,)),
        *(block(FEW, mixed, short, profiles=("paper",), datacenters=(place,)) for place in places),
        # Further seeds: under one profile, which shows how much they move the differences.
        block(SAVERS, (*alibaba2023.TRACES, *batch), (speeds,), seeds=seeds, profiles=("paper",)),
        block(SAVERS, elsewhere, (speeds,), seeds=seeds, profiles=("paper",), datacenters=(alibaba2026.NAME,)),
        block(SAVERS, elsewhere, (speeds,), seeds=seeds, profiles=("paper",), datacenters=(TWO_MODELS,)),
        block(POLICIES, alibaba2023.TRACES, (plain,), seeds=seeds, profiles=("paper",)),
        *(block(FEW, turnover, short, seeds=seeds, profiles=("paper",), datacenters=(place,)) for place in places),
        block(FEW, (f"{n}{ALL_BATCH}{SHORT}" for n in alibaba2023.TRACES), short, seeds=seeds, profiles=("paper",)),
    ]
    if month is not None:
        at_own_times = Timed(pue=PUE)
        blocks.insert(0, block(POLICIES, (MONTH,), (at_own_times,), datacenters=(alibaba2026.NAME,)))
    return Experiment("month", tuple(blocks), inputs(month))


def inputs(month: Path | None) -> Inputs:
    timed: dict[str, Any] = {name: timed_trace(name) for name in alibaba2023.TRACES}
    traces = {name: alibaba2023.trace(name) for name in alibaba2023.TRACES}
    for name in alibaba2023.TRACES:
        timed[f"{name}{ALL_BATCH}"] = all_batch(timed[name])
        traces[f"{name}{ALL_BATCH}"] = traces[name]
        for own in (name, f"{name}{ALL_BATCH}"):
            timed[f"{own}{SHORT}"] = replace(timed[own], duration_s=np.minimum(timed[own].duration_s, MOST_S))
            traces[f"{own}{SHORT}"] = traces[name]
    if month is not None:
        timed[MONTH] = import_trace(FORMATS[MONTH], month).tasks
        traces[MONTH] = timed[MONTH].workload
    profiles = {name: PROFILES[name] for name in WATT_PROFILES}
    return Inputs(datacenters(), traces, profiles, timed, speeds={TYPICAL: load_speeds(TYPICAL)})


def datacenters() -> dict[str, Datacenter]:
    built_in = {name: load_datacenter(name) for name in (alibaba2023.NAME, alibaba2026.NAME)}
    return built_in | {TWO_MODELS: load_datacenter(EDITS, name=TWO_MODELS)}


def all_batch(trace: TimedTrace) -> TimedTrace:
    return replace(trace, batch=np.ones(len(trace), dtype=bool))


def rows_of(results: Mapping[Scenario, TimedNumbers], datacenter_gpus: Mapping[str, float]) -> list[Row]:
    """A row for each policy in each setting: means over its seeds, and differences to FGD with their spread."""
    found = []
    for group, policies in timed_table(results).items():
        for name in dict.fromkeys(row.datacenter for row in policies):
            own = [row for row in policies if row.datacenter == name]
            fgd = baseline_of(own)
            if fgd is not None:
                found += [_row(row, fgd, group.profile, datacenter_gpus[name]) for row in own]
    return found


def _row(row: TimedRow, fgd: TimedRow, profile: str, gpus: float) -> Row:
    scenario = row.scenarios[0]
    timed = scenario.timed
    assert timed is not None
    means = {name: _short(row.mean(name)) for name in MEANS}
    days = row.mean("horizon_s") / 86400
    said = {
        "datacenter": row.datacenter,
        "trace": scenario.trace,
        "profile": profile,
        "load": timed.load,
        "days": _short(days),
        "speeds": timed.speed,
        "policy": row.policy,
        "seeds": len(row.seeds),
    }
    in_use = _short(row.mean("gpu_hours") / (gpus * days * 24))
    carbon = {f"co2_kg_{name}": _short(row.mean("facility_kwh") * g_per_kwh(name) / 1000) for name in COUNTRIES}
    differences = {f"{name}_to_fgd": [_short(x) for x in row.difference(name, fgd)] for name in DIFFERENCES}
    return {**said, **means, "gpus_in_use": in_use, **carbon, **differences}


def g_per_kwh(country: str) -> float:
    zone = find_zone(country)
    assert zone is not None
    return zone.g_per_kwh


def _short(value: float) -> float | None:
    """Six digits; None where a number does not apply."""
    return None if math.isnan(value) else float(f"{value:.6g}")
