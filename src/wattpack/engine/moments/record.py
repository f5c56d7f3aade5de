"""The record of a timed run: what became of each task, energy and use over time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.moments.rows import SLEEP_CHANGE

# Outcomes of tasks, in the words of `--tasks-out`.
DONE = 0
RUNNING = 1  # at the end of the horizon
WAITING = 2  # at the end of the horizon
FAILED = 3  # could not start at once, under `drop`
REFUSED = 4  # fits no node of the empty datacenter
GAVE_UP = 5  # waited as long as its patience
NO_PART = -1  # arrived after the end of the horizon: no part of the run
OUTCOMES = ("done", "running", "waiting", "failed", "refused", "gave_up")

# Parts of the energy: columns of `TimeRecord.energy_j`.
GPU = 0
CPU = 1
BASE = 2
ASLEEP = 3
TRANSITION = 4
PARTS = ("gpu", "cpu", "base", "asleep", "transition")


@dataclass(frozen=True)
class TimeRecord:
    """Times are seconds from the first arrival; `end_s` of a task that never started is NaN, `node` is NOWHERE."""

    # By task, in the order of the file.
    node: NDArray[np.int32]
    gpus: NDArray[np.int32]  # bit set
    joined_s: NDArray[np.float64]  # when it joined the queue: its arrival, or later within its slack
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]  # may lie after the horizon
    outcome: NDArray[np.int8]

    # By mark: every `sample_s`, the time stamps of signals, and the end of the horizon.
    mark_s: NDArray[np.float64]
    energy_j: NDArray[np.float64]  # [marks, PARTS] since the start
    gpu_s: NDArray[np.float64]  # GPU-seconds delivered since the start
    # What holds from the mark on.
    power_w: NDArray[np.float64]
    allocated_gpus: NDArray[np.float64]
    queued: NDArray[np.int64]  # tasks
    running: NDArray[np.int64]  # tasks

    # By moment: an instant at which something happened.
    moment_s: NDArray[np.float64]
    moment_w: NDArray[np.float64]  # IT power from the moment on

    horizon_s: float
    patience_s: float

    # Of nodes that sleep.
    busy_nodes: NDArray[np.int64]  # by mark: those awake with a task
    asleep_nodes: NDArray[np.int64]  # by mark
    transition_nodes: NDArray[np.int64]  # by mark: those that wake or shut down
    wakes: int
    asleep_node_s: float

    # Of running tasks that were moved.
    moves: int = 0
    paused_gpu_s: float = 0.0  # GPU-seconds for which they were paused

    # Changes of the nodes' states in order: time_s, node, state (of sleep_run.py). Empty unless asked for.
    sleep_changes: NDArray[np.void] = field(default_factory=lambda: np.zeros(0, dtype=SLEEP_CHANGE))

    def percentile_w(self, percent: float) -> float:
        """The IT power that is not exceeded for `percent` of the time."""
        seconds = np.diff(np.append(self.moment_s, self.horizon_s))
        order = np.argsort(self.moment_w, kind="stable")
        passed_s = np.cumsum(seconds[order])
        if len(passed_s) == 0 or passed_s[-1] <= 0:
            return float("nan")
        place = np.searchsorted(passed_s, percent / 100 * passed_s[-1], side="left")
        return float(self.moment_w[order][min(place, len(order) - 1)])

    @property
    def peak_w(self) -> float:
        """The largest IT power that held for some time."""
        held = np.diff(np.append(self.moment_s, self.horizon_s)) > 0
        return float(self.moment_w[held].max()) if held.any() else float("nan")

    @property
    def mean_w(self) -> float:
        return float(self.energy_j[-1].sum() / self.horizon_s) if self.horizon_s > 0 else float("nan")

    @property
    def wait_s(self) -> NDArray[np.float64]:
        """By task: from joining the queue until the start, leaving or the end of the horizon; NaN where none waited."""
        until = np.where(np.isnan(self.start_s), self.horizon_s, self.start_s)
        waited = np.where(self.outcome == GAVE_UP, self.patience_s, until - self.joined_s)
        waits = np.isin(self.outcome, (DONE, RUNNING, WAITING, GAVE_UP))
        return np.where(waits, np.maximum(waited, 0.0), np.nan)
