"""Tasks with times: when each arrives, how long it runs, whether it is batch work or a service."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.model.tasks import Workload

# Classes of service of batch tasks. All others that are named are services: their end is a time, not an amount of work.
BATCH_CLASSES = ("BE", "Burstable")


def _none() -> NDArray[np.float64]:
    return np.zeros(0)


@dataclass(frozen=True)
class TimedTasks:
    """Tasks in the order of their file, which need not be the order of arrival. Times in seconds, any origin."""

    workload: Workload
    arrival_s: NDArray[np.float64]
    duration_s: NDArray[np.float64]  # work at full speed; inf: the task never leaves
    slack_s: NDArray[np.float64] = field(default_factory=_none)  # the start may wait this long; empty: 0 for all
    batch: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))  # empty: all are batch
    service_class: tuple[str, ...] = ()  # class of service of each task, "" where unknown; empty: all unknown
    owner: tuple[str, ...] = ()  # who runs each task, "" where unknown; empty: all unknown
    start: datetime | None = None  # clock time of the first arrival, with its time zone

    def __post_init__(self) -> None:
        tasks = len(self.workload)
        if len(self.slack_s) == 0:
            object.__setattr__(self, "slack_s", np.zeros(tasks))
        if len(self.batch) == 0:
            object.__setattr__(self, "batch", np.ones(tasks, dtype=bool))
        if not self.service_class:
            object.__setattr__(self, "service_class", ("",) * tasks)
        if not self.owner:
            object.__setattr__(self, "owner", ("",) * tasks)
        name = self.workload.name
        for column in ("arrival_s", "duration_s", "slack_s", "batch", "service_class", "owner"):
            if len(getattr(self, column)) != tasks:
                raise UserError(f"{name}: {len(getattr(self, column))} values of {column}, expected {tasks}")
        if not np.isfinite(self.arrival_s).all():
            raise UserError(f"{name}: an arrival_s is not finite, expected seconds")
        for column in ("duration_s", "slack_s"):
            if not (getattr(self, column) >= 0).all():
                raise UserError(f"{name}: a {column} is negative or not a number, expected seconds from 0")

    def __len__(self) -> int:
        return len(self.workload)

    @property
    def first_s(self) -> float:
        """The first arrival, on the clock of `arrival_s`."""
        return float(self.arrival_s.min()) if len(self) else 0.0


def is_batch(service_class: str) -> bool:
    """Whether tasks of this class of service are batch work; those of no known class are."""
    return service_class == "" or service_class in BATCH_CLASSES
