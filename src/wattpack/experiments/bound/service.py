"""The bound for the tasks that really came and at the service that a policy reached, from planes of the LP.

A policy that refuses more draws less: power is only compared at equal service. And the tasks of a few seeds differ from
the trace's shares. Solving the LP for every seed, load and policy would take hours; planes that touch the bound at a
few demands and services hold for all others (measured on gpuspec33 with two seeds: within 0.3 % of the LP itself).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.inflation import run_workload, seeded
from wattpack.experiments.curves import CPU_ONLY, LOADS, Curves
from wattpack.model.tasks import Workload
from wattpack.optimise.bound.lp import Plane

Floats = NDArray[np.float64]

SAFE = 1e-6  # relative: what the solver's tolerances may have put a plane too high


@dataclass(frozen=True)
class Planes:
    """Rows [fixed, per GPU, per vCPU, per task of each class]: power is above the first, GPUs served below the second.

    One plane of each kind is there at least.
    """

    least_w: Floats
    most_gpus: Floats

    @classmethod
    def of(cls, least: Sequence[Plane], most: Sequence[Plane]) -> Planes:
        return cls(_rows(least), _rows(most))

    def also(self, least: Plane) -> Planes:
        return Planes(np.concatenate([self.least_w, _rows([least])]), self.most_gpus)


def _rows(planes: Sequence[Plane]) -> Floats:
    return np.array([[plane.fixed, plane.per_gpu, plane.per_vcpu, *plane.per_task] for plane in planes])


def expected_counts(trace: Workload, capacity_gpu_milli: int, load: float) -> NDArray[np.float64]:
    """Tasks of each class when the trace's shares ask for `load` of the GPU capacity: fractions, not a draw.

    The bound of the mean demand bounds the mean over draws: the most service is concave in the counts, the least power
    convex. A trace that asks for no GPU has no load: it is taken once.
    """
    requested = int(trace.gpu_request_milli().sum())
    scale = load * capacity_gpu_milli / requested if requested > 0 else 1.0
    return trace.counts().astype(np.float64) * scale


class Demand:
    """The tasks of one seed that have come by each load, and the bounds of any service of them."""

    def __init__(self, planes: Planes, trace: Workload, capacity_gpu_milli: int, seed: int, window: int = 1) -> None:
        """window: a policy that holds `window` tasks may have placed later tasks of a window before earlier ones.

        Then all tasks of the window count as there: more to choose from, so the bound stays one.
        """
        workload = run_workload(trace, capacity_gpu_milli, seeded(seed).workload)
        request = np.array([task.num_gpu * task.gpu_milli for task in trace.classes], dtype=np.int64)
        vcpu = np.array([0.0 if task.num_gpu else task.cpu_milli / 1000 for task in trace.classes])
        requested = np.cumsum(request[workload.sequence])
        limits = np.floor(LOADS * capacity_gpu_milli + 0.5)
        after = np.searchsorted(requested, limits, side="right")  # as `read_at_loads`
        self.gpu_requested = np.append(0, requested)[after] / 1000
        counts = _counts(workload, after)
        self.cpu_only_requested = counts @ vcpu
        self._most = planes.most_gpus[:, 0] + counts @ planes.most_gpus[:, 3:].T
        if window > 1:
            counts = _counts(workload, np.minimum((after // window + 1) * window, len(workload)))
        self._planes = planes.least_w
        self._without_service = planes.least_w[:, 0] + counts @ planes.least_w[:, 3:].T

    def most_gpus(self) -> Floats:
        """The most GPUs that any placement serves, at LOADS."""
        return np.minimum(self._most.min(axis=1) * (1 + SAFE), self.gpu_requested)

    def least_w(self, gpu_served: Floats, cpu_only_served: Floats) -> Floats:
        """The least power of any placement with this service, at LOADS; NaN where the service is."""
        served_w = np.outer(gpu_served, self._planes[:, 1]) + np.outer(cpu_only_served, self._planes[:, 2])
        found: Floats = (self._without_service + served_w).max(axis=1) * (1 - SAFE)
        return found


def _counts(workload: Workload, after: NDArray[np.int64]) -> Floats:
    """Tasks of each class among the first `after` ones: [loads, classes]."""
    counts = np.zeros((len(after) + 1, len(workload.classes)))
    np.add.at(counts, (np.searchsorted(after, np.arange(len(workload)), side="right"), workload.sequence), 1)
    found: Floats = counts[:-1].cumsum(axis=0)
    return found


def window_of(policy: str) -> int:
    """Tasks of a window of a policy as results name it: `ocs batch 16`; 1 without windows."""
    match = re.search(r" batch (\d+)", policy)
    return int(match[1]) if match else 1


class Demands:
    """The demands of all seeds, each made once: the policies of a seed see the same tasks."""

    def __init__(self, planes: Planes, trace: Workload, capacity_gpu_milli: int) -> None:
        self._what, self._gpus, self._found = (planes, trace, capacity_gpu_milli), capacity_gpu_milli / 1000, {}

    _found: dict[tuple[int, int], Demand]

    def of(self, seed: int, window: int = 1) -> Demand:
        if (seed, window) not in self._found:
            self._found[seed, window] = Demand(*self._what, seed, window)
        return self._found[seed, window]

    def least_w(self, curves: Curves) -> Floats:
        """The least power at the service of each seed's run at each load: [seeds, loads]."""
        window, rows = window_of(curves.policy), []
        for place, seed in enumerate(curves.seeds):
            gpus = curves.values["allocated"][place] * self._gpus
            # Without that column (runs of an earlier version) none of it counts as served: lower, so still a bound.
            vcpu = curves.values[CPU_ONLY][place] if CPU_ONLY in curves.values else 0 * gpus
            rows.append(self.of(seed, window).least_w(gpus, vcpu))
        return np.stack(rows)

    def bound(self, seeds: Sequence[int], cpu_only_share: Floats) -> dict[str, Floats]:
        """The bound of these seeds' tasks, mean over the seeds: most service, and least power at that service.

        cpu_only_share: of the vCPU of tasks without GPU, what can be served beside the most GPU, at LOADS.
        """
        allocated, grar, eopc_w = [], [], []
        for demand in map(self.of, seeds):
            gpus = demand.most_gpus()
            allocated.append(gpus / self._gpus)
            grar.append(np.where(demand.gpu_requested > 0, gpus / np.maximum(demand.gpu_requested, 1e-9), 1.0))
            eopc_w.append(demand.least_w(gpus, demand.cpu_only_requested * cpu_only_share))
        named = {"allocated": allocated, "grar": grar, "eopc_w": eopc_w}
        return {name: np.mean(rows, axis=0) for name, rows in named.items()}
