"""Curves of one policy on one trace: what the runs of all seeds measured, read at a grid of loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.inflation import UP_TO
from wattpack.engine.core.state import ALLOCATED, BASE_POWER, CPU_POWER, FAILED, FRAGMENTATION, GPU_POWER, MICRO
from wattpack.engine.runs.record import Run, grar
from wattpack.experiments.lineup import BOUND
from wattpack.experiments.saving import DEFAULT_AGAINST, saved, unbeaten
from wattpack.model.fragmentation import REASONS
from wattpack.model.power import total_power

STEP = 0.005
LOADS = np.round(np.arange(261) * STEP, 3)  # 0, 0.005, ..., 1.3: GPU requested / GPU of the datacenter

# What a curve holds at every load. `allocated` is GPU allocated / GPU of the datacenter.
FRAGMENTATION_COLUMNS = tuple(f"fragmentation_{reason}_milli" for reason in REASONS)
COLUMNS = ("eopc_w", "cpu_w", "gpu_w", "grar", "allocated", "failed", "fragmentation_milli", *FRAGMENTATION_COLUMNS)
CPU_ONLY = "cpu_only_vcpu"  # vCPU of the placed tasks that ask for no GPU; run files of earlier versions lack it
BASE = "base_w"  # what nodes draw beside CPUs and GPUs; run files of earlier versions lack it
LEAST = "least_w"  # the least power at the curve's own service; where the bound was computed


def read_at_loads(run: Run, up_to: float = UP_TO) -> dict[str, NDArray[np.float64]]:
    """The state at each of LOADS: after the last task that arrived at or below that load; NaN where none came near it.

    A run with an end at `up_to` ends before the first task that would exceed it: it is read up to there, also
    where that task was a large one.
    """
    capacity = max(1, run.datacenter.gpu_milli)
    limits = np.floor(LOADS * capacity + 0.5)
    after = np.searchsorted(run.requested_milli, limits, side="right")  # tasks that arrived by then
    rows = np.vstack([run.start[None, :], run.series])[after]
    cpu_w, gpu_w, base_w = (rows[:, column] / 1000 for column in (CPU_POWER, GPU_POWER, BASE_POWER))
    columns = {
        "eopc_w": total_power(cpu_w, gpu_w, base_w),
        "cpu_w": cpu_w,
        "gpu_w": gpu_w,
        "grar": grar(rows),
        "allocated": rows[:, ALLOCATED] / capacity,
        "failed": rows[:, FAILED].astype(np.float64),
        "fragmentation_milli": rows[:, FRAGMENTATION:].sum(axis=1) / MICRO,
    }
    columns.update({name: rows[:, FRAGMENTATION + i] / MICRO for i, name in enumerate(FRAGMENTATION_COLUMNS)})
    columns[CPU_ONLY] = _cpu_only_vcpu(run)[after]
    columns[BASE] = base_w
    # Loads that the workload did not reach have no reading.
    last_milli = run.requested_milli[-1] if len(run) else 0
    unreached = unreached_loads(last_milli, capacity)
    if up_to < UP_TO and last_milli > 0:
        unreached = up_to + STEP / 2 < LOADS
    for values in columns.values():
        values[unreached] = np.nan
    return columns


def unreached_loads(last_milli: int, capacity_milli: int) -> NDArray[np.bool_]:
    """Which of LOADS a run has no reading at that ends when `last_milli` have been requested."""
    return np.floor(LOADS * capacity_milli + 0.5) >= last_milli + capacity_milli * STEP * 2


def _cpu_only_vcpu(run: Run) -> NDArray[np.float64]:
    """After 0, 1, ... tasks, in the order of placing: vCPU of the tasks without GPU that were placed."""
    vcpu = np.array([0.0 if task.num_gpu else task.cpu_milli / 1000 for task in run.workload.classes] or [0.0])
    placed = np.where(run.node >= 0, vcpu[run.workload.sequence], 0.0)
    return np.append(0.0, np.cumsum(placed if run.order is None else placed[run.order]))


@dataclass(frozen=True)
class Curves:
    """`values[column]` is float64[seeds, loads]; NaN where a run did not reach the load."""

    trace: str
    policy: str
    seeds: tuple[int, ...]
    values: dict[str, NDArray[np.float64]]
    datacenter: str = ""  # as the user named it; `trace` says it too where an experiment has several
    profile: str = ""  # the power profile

    def mean(self, column: str) -> NDArray[np.float64]:
        """Mean over the seeds at each load."""
        return self.values[column].mean(axis=0)

    def base_w(self) -> NDArray[np.float64]:
        """Mean base power at each load; 0 where there is none."""
        return self.mean(BASE) if BASE in self.values else 0 * self.mean("eopc_w")

    def spread(self, column: str) -> NDArray[np.float64]:
        """Standard deviation over the seeds at each load (0 for one seed)."""
        ddof = 1 if len(self.seeds) > 1 else 0
        return self.values[column].std(axis=0, ddof=ddof)

    def saving(self, against: Curves) -> NDArray[np.float64]:
        """The share of watts per GPU served that is saved (`saved`), of the means over the seeds.

        GRAR is what is served: at the same load both see the same requests. Before anything is requested, all of it
        is served, so that load 0 compares the watts of idle nodes.
        """
        return _array(
            saved(self.mean("eopc_w"), self.mean("grar"), against.mean("eopc_w"), against.mean("grar")),
        )

    def saving_by_seed(self, against: Curves) -> NDArray[np.float64]:
        """The saving seed by seed, float64[seeds, loads], over the seeds that both have."""
        common = [seed for seed in self.seeds if seed in against.seeds]
        columns = [
            one.values[column][[one.seeds.index(seed) for seed in common]]
            for one in (self, against)
            for column in ("eopc_w", "grar")
        ]
        return _array(saved(*columns))

    def eopc_saving(self, against: Curves) -> NDArray[np.float64]:
        """As the paper has it: 1 - EOPC / EOPC of FGD, of the means over the seeds, whatever the two serve."""
        return 1 - self.mean("eopc_w") / against.mean("eopc_w")


class Results(dict[tuple[str, str], Curves]):
    """Curves by (trace, policy), and the policies that savings are against: the first where one is shown."""

    def __init__(
        self, curves: Mapping[tuple[str, str], Curves] | None = None, against: Sequence[str] = DEFAULT_AGAINST
    ) -> None:
        super().__init__(curves or {})
        self.against = tuple(against)

    def with_curves(self, curves: Mapping[tuple[str, str], Curves]) -> Results:
        """Other curves, savings against the same policies."""
        return Results(curves, self.against)

    def __or__(self, curves: Mapping[tuple[str, str], Curves]) -> Results:  # type: ignore[override]
        """These and other curves."""
        return self.with_curves(dict(self) | dict(curves))

    def base(self, trace: str, against: str | None = None) -> Curves | None:
        """The curves that savings on a trace are against; None where that policy was not run."""
        return self.get((trace, against or self.against[0]))

    def saving(self, trace: str, policy: str, against: str | None = None) -> NDArray[np.float64]:
        """The saving of a policy over load, as a fraction; NaN where the other policy was not run.

        The bound, which serves the most, limits only policies that refuse no task they could serve: NaN where one
        saves more.
        """
        base = self.base(trace, against)
        if base is None:
            return np.full(len(LOADS), np.nan)
        own = self[trace, policy].saving(base)
        return unbeaten(own, [row.saving(base) for row in self.of_policies(trace)]) if policy == BOUND else own

    def saving_spread(self, trace: str, policy: str, against: str | None = None) -> NDArray[np.float64]:
        """Standard deviation over the seeds of the saving seed by seed; 0 for one seed, NaN without a common one."""
        base = self.base(trace, against)
        by_seed = self[trace, policy].saving_by_seed(base) if base is not None else np.empty((0, len(LOADS)))
        if len(by_seed) == 0:
            return np.full(len(LOADS), np.nan)
        return by_seed.std(axis=0, ddof=1 if len(by_seed) > 1 else 0)

    def of_policies(self, trace: str) -> list[Curves]:
        """The curves of a trace without the bound."""
        return [curves for (name, policy), curves in self.items() if name == trace and policy != BOUND]


def _array(values: object) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64)


def at(load: float) -> int:
    """Index of `load` in LOADS."""
    return round(load / STEP)
