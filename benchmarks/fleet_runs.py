"""Measures policies on one setting of a random fleet: fill-up and steady state. What is finished is kept in a file."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

import wattpack
from benchmarks.random_fleets import Fleet, Setting
from wattpack.choose.choice import resolve
from wattpack.choose.search import BASELINE
from wattpack.datasets.inflation import node_order, seeded
from wattpack.experiments.bound.curves import arrived_by, with_bound
from wattpack.experiments.checked_json import read_checked, write_checked
from wattpack.experiments.curves import CPU_ONLY, LEAST, Curves, Results, at, read_at_loads
from wattpack.experiments.digests import digest
from wattpack.experiments.fill_up import run_seed
from wattpack.experiments.steady import run_steady
from wattpack.files import make_folder
from wattpack.jit.sources import source_digest
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PROFILES
from wattpack.optimise.bound.fill_up_lp import FillUpLp, Served
from wattpack.policies.expression import FILL_UP, STEADY, is_auto

FIRST_SEED = 42
UP_TO = 0.92  # load at which a run ends; it is read up to 0.9
GRAR_AT = tuple(round(0.05 * step, 2) for step in range(2, 19))  # 0.1 to 0.9
WATTS_AT = tuple(round(0.1 * step, 1) for step in range(2, 10))  # 0.2 to 0.9
BOUND_AT = (0.5, 0.8)  # an LP takes longer than a run
GRAR_LOSS = 0.002  # below FGD's GRAR by more than this at any load up to 0.9: the policy serves too little
STEADY_AT = (0.6, 0.9)
# One task of eight GPUs that is refused in a small fleet is above 0.002 of GRAR: small fleets get more seeds.
GPUS_FILLED, MOST_SEEDS = 4000, 8
# A steady state takes ten times as long as a fill-up: fewer seeds, and one of the fleet's two settings.
STEADY_DURATIONS = 6  # mean durations that it runs for; the second half is measured
STEADY_GPUS_FILLED, MOST_STEADY_SEEDS = 1000, 2
LEAST_ARRIVALS, MOST_ARRIVALS = 2000, 30_000
# FGD on the same nodes in another order: how often a policy misses FGD's GRAR by chance alone, with these seeds.
OTHER_ORDER = "fgd (other order)"
OTHER_ORDER_SEED = 41

PACKAGE = Path(wattpack.__file__).parent
ALL_ROOMS = ("model", "engine", "datasets")
# "seeds", "grar", "w_per_gpu" and, with the bound, "gap_w": watts per GPU above the bound. Of FGD with the bound also
# "least_fill_up_w": no fill-up that serves as much and moves nothing draws less, in the mean over the loads.
Record = dict[str, Any]


def policy_code_digest(policy: str) -> str:
    """Of the code that decides the runs of a policy: an edit of `ocs` leaves the finished runs of the others."""
    parts = [source_digest(PACKAGE, ALL_ROOMS)]
    files = [
        file for file in sorted((PACKAGE / "policies").rglob("*.py")) if "ocs" in policy or "ocs" not in file.parts
    ]
    if is_auto(policy):
        files = [*sorted((PACKAGE / "policies").rglob("*.py")), *sorted((PACKAGE / "choose").rglob("*.py"))]
    return digest("".join(parts).encode() + b"".join(file.read_bytes() for file in files))


def seeds_of(fleet: Fleet, regime: str, least: int) -> tuple[int, ...]:
    gpus = fleet.datacenter.gpu_milli // 1000
    if regime == STEADY:
        count = min(MOST_STEADY_SEEDS, ceil(STEADY_GPUS_FILLED / gpus))
    else:
        count = max(least, min(MOST_SEEDS, ceil(GPUS_FILLED / gpus)))
    return tuple(range(FIRST_SEED, FIRST_SEED + count))


def has_steady_state(fleet: Fleet, place: int) -> bool:
    return fleet.number % len(fleet.settings) == place


def measure_setting(
    fleet: Fleet, place: int, policies: Sequence[str], regimes: Sequence[str], seeds: int, bound: bool, kept: Path
) -> dict[str, Record]:
    """Records by `REGIME POLICY`; those that are in the folder `kept` already are taken from there."""
    file = make_folder(kept) / f"fleet{fleet.number}-{place}.json"
    found: dict[str, Record] = read_checked(file) or {}
    own = {regime: seeds_of(fleet, regime, seeds) for regime in regimes}
    setting = fleet.settings[place]

    def is_missing(regime: str, policy: str) -> bool:
        record = found.get(f"{regime} {policy}", {})
        done = record.get("code") == policy_code_digest(policy) and record.get("seeds") == len(own[regime])
        bounds = ("gap_w", "least_fill_up_w") if policy == BASELINE else ("gap_w",)
        return not done or (bound and regime == FILL_UP and any(name not in record for name in bounds))

    changed = False
    curves: list[Curves] = []
    for policy in policies:
        if FILL_UP in regimes and is_missing(FILL_UP, policy):
            curves.append(fill_ups(fleet, setting, policy, own[FILL_UP]))
        if STEADY in regimes and is_missing(STEADY, policy):
            code = policy_code_digest(policy)
            found[f"{STEADY} {policy}"] = {"code": code, **steady_states(fleet, setting, policy, own[STEADY])}
            changed = True
    for record, policy in _records(fleet, setting, curves, bound, kept):
        found[f"{FILL_UP} {policy}"] = {"code": policy_code_digest(policy), **record}
        changed = True
    if changed:
        write_checked(file, found)
    return {f"{regime} {policy}": found[f"{regime} {policy}"] for regime in regimes for policy in policies}


def nodes_for(fleet: Fleet, policy: str) -> tuple[Datacenter, str]:
    """The nodes in the order that a run shuffles, and the expression."""
    if policy != OTHER_ORDER:
        return fleet.datacenter, policy
    return fleet.datacenter.ordered(node_order(fleet.datacenter, seeded(OTHER_ORDER_SEED).node_order)), BASELINE


def fill_ups(fleet: Fleet, setting: Setting, policy: str, seeds: Sequence[int]) -> Curves:
    profile = PROFILES[setting.profile]
    nodes, expression = nodes_for(fleet, policy)
    mix, _ = resolve(expression, nodes, setting.trace, profile, FILL_UP)
    runs = [read_at_loads(run_seed(nodes, setting.trace, mix, seed, profile, UP_TO), UP_TO) for seed in seeds]
    values = {column: np.stack([run[column] for run in runs]) for column in runs[0]}
    return Curves(setting.trace.name, policy, tuple(seeds), values, fleet.datacenter.name, setting.profile)


def _records(
    fleet: Fleet, setting: Setting, curves: Sequence[Curves], bound: bool, kept: Path
) -> list[tuple[Record, str]]:
    """Of fill-ups: GRAR, watts per GPU served, and the gap to the least power at the policy's own service."""
    gpus, trace = fleet.datacenter.gpu_milli / 1000, setting.trace
    results = Results({(trace.name, own.policy): own for own in curves})
    if bound and curves:
        profile, folder = PROFILES[setting.profile], make_folder(kept / "bounds")
        results = with_bound(
            results, fleet.datacenter, {trace.name: trace}, BOUND_AT, folder, profile, whole_nodes=True
        )
    found = []
    for one in curves:
        own = results[trace.name, one.policy]
        served, power_w = own.mean("allocated") * gpus, own.mean("eopc_w")
        record: Record = {
            "seeds": len(own.seeds),
            "grar": [float(own.mean("grar")[at(load)]) for load in GRAR_AT],
            "w_per_gpu": [float(power_w[at(load)] / served[at(load)]) for load in WATTS_AT],
        }
        _, choice = resolve(
            nodes_for(fleet, own.policy)[1], fleet.datacenter, trace, PROFILES[setting.profile], FILL_UP
        )
        if choice is not None:
            record["chosen"] = choice.expression
        if bound:
            above_w = power_w - own.mean(LEAST)
            record["gap_w"] = [float(above_w[at(load)] / served[at(load)]) for load in BOUND_AT]
            if own.policy == BASELINE:
                record["least_fill_up_w"] = least_fill_up_w(fleet, setting, own)
        found.append((record, own.policy))
    return found


def least_fill_up_w(fleet: Fleet, setting: Setting, fgd: Curves) -> float:
    """The least mean watts per GPU of fill-ups that serve as much as FGD less `GRAR_LOSS`, whoever places.

    Tasks without GPU are served as FGD serves them: they count nowhere in GRAR, and leaving them out saves power.
    """
    capacity, loads = fleet.datacenter.gpu_milli, [at(load) for load in WATTS_AT]
    came = [[arrived_by(setting.trace, capacity, load, seed).counts() for load in WATTS_AT] for seed in fgd.seeds]
    counts = np.mean(came, axis=0)
    lp = FillUpLp(fleet.datacenter, setting.trace.classes, PROFILES[setting.profile])
    requested = counts @ lp.request_gpus
    served = fgd.mean("allocated")[loads] * capacity / 1000 - GRAR_LOSS * requested
    return lp.least_w_per_gpu(counts, Served(served, fgd.mean(CPU_ONLY)[loads]))


def steady_states(fleet: Fleet, setting: Setting, policy: str, seeds: Sequence[int]) -> Record:
    profile, capacity = PROFILES[setting.profile], fleet.datacenter.gpu_milli
    nodes, expression = nodes_for(fleet, policy)
    mix, choice = resolve(expression, nodes, setting.trace, profile, STEADY)
    mean_milli = float(setting.trace.gpu_request_milli().mean())
    grar, w_per_gpu = [], []
    for load in STEADY_AT:
        arrivals = int(STEADY_DURATIONS * load * capacity / mean_milli)
        arrivals = min(MOST_ARRIVALS, max(LEAST_ARRIVALS, arrivals))
        runs = [run_steady(nodes, setting.trace, mix, load, seed, profile, arrivals) for seed in seeds]
        grar.append(float(np.mean([run.grar for run in runs])))
        w_per_gpu.append(float(sum(run.eopc_w for run in runs) / sum(run.allocated_gpus for run in runs)))
    chosen = {} if choice is None else {"chosen": choice.expression}
    return {"seeds": len(seeds), "grar": grar, "w_per_gpu": w_per_gpu, **chosen}
