"""What a timed run is told beside its tasks: the queue, patience, the power budget, the horizon, speeds of GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.model.steps import Steps

# Disciplines: what becomes of a task that cannot start now.
DROP = "drop"  # it leaves, counted as failed
FIFO = "fifo"  # it waits, and nobody overtakes it
BACKFILL = "backfill"  # it waits, and later tasks may start before it
DISCIPLINES = (DROP, FIFO, BACKFILL)

# What policies that let nodes run empty know of how long tasks run, where nodes sleep.
LEARNT = "learnt"  # what was seen of tasks alike
KNOWN = "known"  # every duration, or the estimates in `expected_s`
NOT_USED = "unused"
DURATIONS = (LEARNT, KNOWN, NOT_USED)


@dataclass(frozen=True)
class Speeds:
    """How long batch tasks run: duration * reference / by_model[model of the node]."""

    reference: float
    by_model: NDArray[np.float64]  # by the datacenter's models

    @property
    def slowness(self) -> NDArray[np.float64]:
        """How many times longer batch tasks run, by model; 1 where no model is (nodes without GPU)."""
        return np.where(self.by_model > 0, self.reference / np.where(self.by_model > 0, self.by_model, 1.0), 1.0)


def with_caps(speeds: Speeds | None, under_cap: NDArray[np.float64]) -> Speeds:
    """`speeds`, or equal ones, times the speed that each model has under its power cap."""
    if speeds is None:
        return Speeds(1.0, under_cap)
    return Speeds(speeds.reference, speeds.by_model * under_cap)


@dataclass(frozen=True)
class Sleep:
    """Nodes that are empty for long go to sleep, and wake when a task is placed there."""

    idle_s: float | None = None  # empty for so long; None: ski rental, by node
    shutdown_s: float = 60.0
    wake_s: float = 300.0
    sleep_w: float = 10.0  # of a node asleep; at most its idle watts
    reserve_gpus: int | None = None  # that stay free and awake; None: 2 % of the datacenter's
    wake_for_reserve: bool = False  # nodes also wake when the reserve is short, as in a live cluster

    def __post_init__(self) -> None:
        for name in ("idle_s", "shutdown_s", "wake_s", "sleep_w"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value >= 0):
                raise UserError(f"sleep: {name} of {value:g}, expected 0 or more")
        if self.reserve_gpus is not None and self.reserve_gpus < 0:
            raise UserError(f"sleep: a reserve of {self.reserve_gpus} GPUs, expected 0 or more")


@dataclass(frozen=True)
class TimeOptions:
    """Times are seconds from the first arrival."""

    discipline: str = DROP
    patience_s: float = inf  # a task that waits this long leaves
    budget_w: Steps | None = None  # IT power that no start may exceed
    horizon_s: float | None = None  # length of the run; None: until the last arrival
    sample_s: float = 60.0  # between two samples of the series
    more_marks_s: tuple[float, ...] = ()  # further times at which energy is read: time stamps of signals
    speeds: Speeds | None = None
    sleep: Sleep | None = None  # None: all nodes stay awake
    note_sleep: bool = False  # note every change of a node's state (`TimeRecord.sleep_changes`)
    durations: str = LEARNT  # what policies know of them, where nodes sleep
    expected_s: NDArray[np.float64] | None = None  # estimates by task; None: the durations themselves
    move_every_s: float = inf  # between two rounds in which running tasks are moved (moves.py); inf: none is

    def __post_init__(self) -> None:
        if self.discipline not in DISCIPLINES:
            raise UserError(f"queue {self.discipline!r}, expected one of {', '.join(DISCIPLINES)}")
        if self.durations not in DURATIONS:
            raise UserError(f"durations {self.durations!r}, expected one of {', '.join(DURATIONS)}")
        if not self.patience_s > 0:
            raise UserError(f"patience of {self.patience_s:g} s, expected more than 0")
        if not (isfinite(self.sample_s) and self.sample_s > 0):
            raise UserError(f"a sample every {self.sample_s:g} s, expected more than 0")
        if not self.move_every_s > 0:
            raise UserError(f"moves every {self.move_every_s:g} s, expected more than 0")
        if self.sleep is not None and self.sleep.wake_for_reserve and self.budget_w is not None:
            raise UserError("sleep: wake_for_reserve with a power budget, expected one of them")
        if self.horizon_s is not None and not (isfinite(self.horizon_s) and self.horizon_s >= 0):
            raise UserError(f"horizon of {self.horizon_s:g} s, expected 0 or more")
