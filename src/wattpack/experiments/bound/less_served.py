"""Solves the LP also at the service that policies reach below the most, so that the planes are close to it there.

At every tenth of load, and no oftener than it takes: the least power is convex in the service, so between two services
that were solved it is at most on the chord.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.bound.service import Planes, expected_counts
from wattpack.experiments.bound.solved import Solved
from wattpack.experiments.curves import STEP, Curves, at
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import Workload
from wattpack.optimise.bound.lp import ConfigurationLp

TENTH = round(0.1 / STEP)
SHARE_STEP = 0.005  # shares are rounded down to multiples: policies that serve about the same need one solve
NEAR = 0.002  # relative: how far the planes may be below the LP
FOLLOWED = 1.0  # load; beyond it one solve a load does


def follow_service(
    solved: Solved,
    found: Sequence[Curves],
    datacenter: Datacenter,
    trace: Workload,
    new_lp: Callable[[], ConfigurationLp],
) -> Solved:
    """The same, solved also at shares of the request that the policies found serve."""
    lp: ConfigurationLp | None = None
    vcpu = np.array([0.0 if task.num_gpu else task.cpu_milli / 1000 for task in trace.classes])
    for load, allocated, most_w, *_, cpu_only_share in solved.rows:
        if load <= 0 or round(load / STEP) % TENTH != 0:
            continue
        counts, gpus = expected_counts(trace, datacenter.gpu_milli, load), load * datacenter.gpu_milli / 1000
        cpu_only = cpu_only_share * float(counts @ vcpu)
        served = [float(curves.mean("allocated")[at(load)]) / load for curves in found]
        shares = sorted({int(share / SHARE_STEP) * SHARE_STEP for share in served if np.isfinite(share)})
        shares = [share for share in shares if 0 < share < allocated / load - SHARE_STEP]
        while shares:
            points = {share: power_w for at_load, share, power_w in solved.less if at_load == load}
            points[allocated / load] = most_w
            gap = _gap(solved.planes, points, shares, counts, gpus, cpu_only)
            farthest = int(gap.argmax())
            if gap[farthest] <= NEAR or (np.isfinite(gap[farthest]) and load > FOLLOWED):
                break
            lp = new_lp() if lp is None else lp
            solved = solved.also(load, shares[farthest], lp.least_power(counts, shares[farthest] * gpus, cpu_only))
    return solved


def _gap(
    planes: Planes,
    points: Mapping[float, float],
    shares: Sequence[float],
    counts: NDArray[np.float64],
    gpus: float,
    cpu_only: float,
) -> NDArray[np.float64]:
    """How far the planes may be below the LP at each share, relative; infinite below the least that was solved."""
    at_shares = np.array(shares)
    chord_w = np.interp(at_shares, sorted(points), [points[share] for share in sorted(points)])
    rows = planes.least_w
    plane_w = (rows[:, 0] + rows[:, 3:] @ counts + rows[:, 2] * cpu_only + np.outer(at_shares * gpus, rows[:, 1])).max(
        axis=1
    )
    return np.where(at_shares < min(points), np.inf, 1 - plane_w / chord_w)
