"""The record of a run: every decision and the state after it, as columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.state import ALLOCATED, COLUMNS, CPU_POWER, FAILED, FRAGMENTATION, GPU_POWER, MICRO, REQUESTED
from wattpack.model.fit import FITS, VERDICTS
from wattpack.model.fragmentation import REASONS
from wattpack.model.nodes import MAX_GPUS, Datacenter
from wattpack.model.tasks import Workload


@dataclass(frozen=True)
class Run:
    """Columns with one row a task, in order of arrival; `start` is the empty datacenter."""

    datacenter: Datacenter
    workload: Workload
    start: NDArray[np.int64]  # [COLUMNS]
    node: NDArray[np.int32]  # index of the node, -1 if the task failed
    gpus: NDArray[np.int32]  # bit g: GPU g
    reason: NDArray[np.uint8]  # why a task failed, a verdict of model/fit.py; 0 if placed
    series: NDArray[np.int64]  # [tasks, COLUMNS], in the order in which the tasks were placed
    # Of batch windows: the tasks in the order in which they were placed (None: as they came), and the seconds that each
    # was held (None: without times).
    order: NDArray[np.int64] | None = None
    wait_s: NDArray[np.float64] | None = None

    @classmethod
    def empty(cls, datacenter: Datacenter, workload: Workload, start: NDArray[np.int64]) -> Run:
        tasks = len(workload)
        return cls(
            datacenter,
            workload,
            start.copy(),
            np.full(tasks, -1, dtype=np.int32),
            np.zeros(tasks, dtype=np.int32),
            np.full(tasks, FITS, dtype=np.uint8),
            np.zeros((tasks, COLUMNS), dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.node)

    def with_windows(self, order: NDArray[np.int64], wait_s: NDArray[np.float64] | None) -> Run:
        return replace(self, order=order, wait_s=wait_s)

    @property
    def load(self) -> NDArray[np.float64]:
        """GPU requested so far / GPU of the datacenter."""
        return self.series[:, REQUESTED] / max(1, self.datacenter.gpu_milli)

    @property
    def requested_milli(self) -> NDArray[np.int64]:
        return self.series[:, REQUESTED]

    @property
    def allocated_milli(self) -> NDArray[np.int64]:
        return self.series[:, ALLOCATED]

    @property
    def failed(self) -> NDArray[np.int64]:
        """Failed tasks so far."""
        return self.series[:, FAILED]

    @property
    def cpu_power_w(self) -> NDArray[np.float64]:
        return self.series[:, CPU_POWER] / 1000

    @property
    def gpu_power_w(self) -> NDArray[np.float64]:
        return self.series[:, GPU_POWER] / 1000

    @property
    def power_w(self) -> NDArray[np.float64]:
        """EOPC: estimated overall power consumption."""
        return (self.series[:, CPU_POWER] + self.series[:, GPU_POWER]) / 1000

    @property
    def grar(self) -> NDArray[np.float64]:
        """GPU allocated / GPU requested; 1 while nothing was requested."""
        return grar(self.series)

    @property
    def fragmentation_milli(self) -> NDArray[np.float64]:
        """F of the datacenter, milli-GPU."""
        return self.series[:, FRAGMENTATION:].sum(axis=1) / MICRO

    def fragmentation_by_reason(self) -> dict[str, NDArray[np.float64]]:
        return {reason: self.series[:, FRAGMENTATION + i] / MICRO for i, reason in enumerate(REASONS)}

    def failures_by_reason(self) -> dict[str, int]:
        """Failed tasks by the condition at which the last candidate nodes dropped out."""
        counts = np.bincount(self.reason, minlength=len(VERDICTS))
        return {verdict: int(counts[i]) for i, verdict in enumerate(VERDICTS) if i != FITS and counts[i] > 0}

    def node_name(self, task: int) -> str:
        """Name of the task's node, empty if it failed."""
        return self.datacenter.names[self.node[task]] if self.node[task] >= 0 else ""

    def gpu_index(self, task: int) -> str:
        """GPUs of the task like `0-3-4`; empty without GPU."""
        return gpu_index_text(int(self.gpus[task]))


def grar(series: NDArray[np.int64]) -> NDArray[np.float64]:
    requested = series[..., REQUESTED]
    return np.where(requested > 0, series[..., ALLOCATED] / np.maximum(requested, 1), 1.0)


def gpu_index_text(gpus: int) -> str:
    return "-".join(str(g) for g in range(MAX_GPUS) if gpus >> g & 1)
