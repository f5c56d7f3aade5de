"""The record of a run: every decision and the state after it, as columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.state import (
    ALLOCATED,
    BASE_POWER,
    COLUMNS,
    CPU_POWER,
    FAILED,
    FRAGMENTATION,
    GPU_POWER,
    MICRO,
    REQUESTED,
)
from wattpack.frames import new_frame
from wattpack.model.fit import FITS, VERDICTS
from wattpack.model.fragmentation import REASONS
from wattpack.model.nodes import MAX_GPUS, Datacenter
from wattpack.model.power import total_power
from wattpack.model.tasks import Workload

if TYPE_CHECKING:
    from pandas import DataFrame

# The columns of a run, with their units; `Run.columns` gives them to the user.
DECISION_COLUMNS = {
    "node": "index of the task's node in datacenter.names; -1: the task failed",
    "gpus": "GPUs of the task as bits: bit g is GPU g of the node; gpu_lists() gives lists",
    "reason": "why the task failed, a number; failures_by_reason() counts them by name; 0: placed",
}
STATE_COLUMNS = {
    "load": "GPU requested so far / GPU of the datacenter, a fraction",
    "requested_milli": "GPU requested so far, milli-GPU",
    "allocated_milli": "GPU allocated, milli-GPU",
    "failed": "tasks that failed so far",
    "power_w": "power of the datacenter (EOPC), W",
    "cpu_power_w": "power of its CPUs, W",
    "gpu_power_w": "power of its GPUs, W",
    "base_power_w": "power of its nodes beside CPUs and GPUs (base power), W",
    "grar": "GPU allocated / GPU requested, a fraction; 1 while nothing was requested",
    "fragmentation_milli": "GPU that tasks like those of the target workload cannot use (F), milli-GPU",
}
WINDOW_COLUMNS = {
    "order": "with batch windows: index of the task after which the state in this row holds",
    "wait_s": "with batch windows and arrival times: how long the task was held, s",
}


@dataclass(frozen=True, repr=False)
class Run:
    """One run, as columns with one row a task in order of arrival.

    Where a task went:

    - `node`: index into `datacenter.names`, -1 if the task failed; `node_name(task)`
    - `gpus`: bits, bit g is GPU g of the node; `gpu_lists()`, `gpu_index(task)`
    - `reason`: why it failed, 0 if placed; `failures_by_reason()`

    The datacenter after it:

    - `load`: GPU requested so far / GPU of the datacenter
    - `requested_milli`, `allocated_milli`: milli-GPU
    - `failed`: failed tasks so far
    - `power_w` (EOPC), `cpu_power_w`, `gpu_power_w`, `base_power_w`: W
    - `grar`: GPU allocated / GPU requested
    - `fragmentation_milli`: F, milli-GPU; `fragmentation_by_reason()`

    With batch windows:

    - `order`: the tasks in the order in which they were placed. The second group is in this order too: row i is the
      state after task `order[i]`
    - `wait_s`: seconds that each task was held, where tasks have times of arrival

    `columns` explains each by name, `to_pandas()` gives them as a frame. `start` is the state of the empty
    datacenter; `series` is the second group as the engine's integers (columns: engine/core/state.py). `chosen` says
    what `auto` chose.
    """

    datacenter: Datacenter
    workload: Workload
    start: NDArray[np.int64]  # [COLUMNS]
    node: NDArray[np.int32]  # index of the node, -1 if the task failed
    gpus: NDArray[np.int32]  # bit g: GPU g
    reason: NDArray[np.uint8]  # why a task failed, a verdict of model/fit.py; 0 if placed
    series: NDArray[np.int64]  # [tasks, COLUMNS], in the order in which the tasks were placed
    # Batch windows only: the tasks in placement order (None: order of arrival), and the seconds each was held (None:
    # no arrival times).
    order: NDArray[np.int64] | None = None
    wait_s: NDArray[np.float64] | None = None
    chosen: str = ""  # what `auto` chose, and why; empty for other policies

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

    def __repr__(self) -> str:
        placed = int((self.node >= 0).sum())
        text = f"Run: {len(self):,} tasks on {len(self.datacenter):,} nodes, {placed:,} placed"
        if len(self) == 0:
            return text
        last = f"load {self.load[-1]:.3f}, {self.power_w[-1] / 1000:,.1f} kW, GRAR {self.grar[-1]:.3f}"
        chosen = f"; {self.chosen}" if self.chosen else ""
        return f"{text}, {len(self) - placed:,} failed; at the end {last}{chosen}"

    @property
    def columns(self) -> dict[str, str]:
        """What each column of this run holds, and its unit, by name."""
        windows = {name: text for name, text in WINDOW_COLUMNS.items() if getattr(self, name) is not None}
        return DECISION_COLUMNS | STATE_COLUMNS | windows

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
    def base_power_w(self) -> NDArray[np.float64]:
        """What nodes draw beside CPUs and GPUs."""
        return self.series[:, BASE_POWER] / 1000

    @property
    def power_w(self) -> NDArray[np.float64]:
        """EOPC: estimated overall power consumption."""
        return total_power(*(self.series[:, column] for column in (CPU_POWER, GPU_POWER, BASE_POWER))) / 1000

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

    def gpu_lists(self) -> list[list[int]]:
        """Indices of the GPUs of each task, ascending; empty without GPU, and for a task that failed."""
        found = self.gpus.tolist()
        lists = {bits: [g for g in range(MAX_GPUS) if bits >> g & 1] for bits in set(found)}
        return [list(lists[bits]) for bits in found]

    def to_pandas(self) -> DataFrame:
        """A frame with one row a task: its name, node and GPUs, and the state after it.

        `task` and `node` are names (`node` is empty if the task failed), `gpus` are lists, `reason` is a text (empty if
        placed). Rows are in order of arrival; with batch windows in the order in which tasks were placed.
        """
        rows = range(len(self)) if self.order is None else self.order.tolist()
        lists = self.gpu_lists()
        columns: dict[str, Any] = {
            "task": [self.workload.task_name(i) for i in rows],
            "node": [self.node_name(i) for i in rows],
            "gpus": [lists[i] for i in rows],
            "reason": ["" if self.reason[i] == FITS else VERDICTS[self.reason[i]] for i in rows],
        }
        columns |= {name: getattr(self, name) for name in STATE_COLUMNS}
        if self.wait_s is not None:
            columns["wait_s"] = self.wait_s[list(rows)]
        return new_frame(columns)


def grar(series: NDArray[np.int64]) -> NDArray[np.float64]:
    requested = series[..., REQUESTED]
    return np.where(requested > 0, series[..., ALLOCATED] / np.maximum(requested, 1), 1.0)


def gpu_index_text(gpus: int) -> str:
    return "-".join(str(g) for g in range(MAX_GPUS) if gpus >> g & 1)
