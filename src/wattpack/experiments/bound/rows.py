"""The rows of `wattpack bound`: the bound of a trace at one load, with a saving and a search beside it on request."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.inflation import node_order, seeded
from wattpack.experiments.bound.curves import arrived_by, expected_counts
from wattpack.experiments.curves import CPU_ONLY, LOADS, Curves
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.optimise.bound.asleep import AsleepLp
from wattpack.optimise.bound.lp import Bound, ConfigurationLp, InfeasibleError
from wattpack.optimise.bound.offline import Search


@dataclass(frozen=True)
class BoundRow:
    """One load of one trace. None: not requested; NaN in `saving_most`: FGD's runs did not reach the load."""

    trace: str
    load: float
    gpu_requested: float
    gpu_served_most: float
    grar_most: float
    cpu_only_vcpu_requested: float
    cpu_only_vcpu_served_most: float
    power_least_w: float
    saving_most: float | None = None
    offline_gpu_served: float | None = None
    offline_power_w: float | None = None
    offline_bound_w: float | None = None  # least power at the service of the offline placement
    # of all tasks but those that fit no node, with empty nodes asleep; NaN: they do not fit together
    power_least_asleep_w: float | None = None


def bound_row(
    name: str,
    load: float,
    lp: ConfigurationLp,
    nodes: Datacenter,
    trace: Workload,
    seed: int | None,
    profile: PowerProfile,
    baseline: Curves | None,
    offline_s: float | None,
    asleep: tuple[AsleepLp, int] | None = None,
) -> BoundRow:
    """The bound at one load: of the tasks that a seed brings, or without a seed of the trace's shares.

    asleep: the LP where empty nodes sleep, and the GPUs that stay free and awake.
    """
    arrived = None if seed is None else arrived_by(trace, nodes.gpu_milli, load, seed)
    counts = expected_counts(trace, nodes.gpu_milli, load) if arrived is None else arrived.counts()
    bound = lp.solve(counts)
    saving = None if baseline is None else _saving_most(lp, counts, bound, baseline, load)
    found: dict[str, float | None] = {"saving_most": saving}
    if asleep is not None:
        found["power_least_asleep_w"] = _least_asleep_w(*asleep, counts)
    if offline_s is not None and arrived is not None and seed is not None:
        shuffled = nodes.ordered(node_order(nodes, seeded(seed).node_order))
        best = Search(shuffled, arrived, profile).best(bound, Target.of(trace), offline_s)[-1]
        same = lp.least_power(counts, best.gpu_served, best.cpu_only_served)
        found |= {
            "offline_gpu_served": best.gpu_served,
            "offline_power_w": best.power_w,
            "offline_bound_w": same.power_w,
        }
    return BoundRow(
        name,
        load,
        bound.gpu_requested,
        bound.gpu_served,
        bound.grar,
        bound.cpu_only_requested,
        bound.cpu_only_served,
        bound.power_w,
        **found,
    )


def _least_asleep_w(lp: AsleepLp, reserve_gpus: int, counts: NDArray[Any]) -> float:
    try:
        return lp.least_power_w(counts * lp.fits_some_node, reserve_gpus)
    except InfeasibleError:
        return math.nan


def _saving_most(lp: ConfigurationLp, counts: NDArray[Any], bound: Bound, baseline: Curves, load: float) -> float:
    """Against the baseline's power, at the baseline's service: refusing more tasks saves nothing."""

    def read(column: str) -> float:
        return float(np.interp(load, LOADS, baseline.mean(column)))

    gpus, vcpu = min(read("grar") * bound.gpu_requested, bound.gpu_served), bound.cpu_only_served
    if read("failed") > 0 and CPU_ONLY in baseline.values:
        vcpu = min(vcpu, read(CPU_ONLY))
    if np.isnan(gpus):
        return math.nan
    serves_all = gpus >= bound.gpu_served * (1 - 1e-6) and vcpu >= bound.cpu_only_served
    least_w = bound.power_w if serves_all else lp.least_power(counts, gpus, vcpu).power_w
    return 1 - least_w / read("eopc_w")
