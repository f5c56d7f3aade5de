"""The least energy of any schedule that runs the same tasks at each moment as a run in time did, and the gap to it.

The LP is solved at sampled moments. Each solve also gives a linear floor under the least power at every other moment
(weak duality), so the bound is an integral over all moments, without a sampling error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, nan

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.moments.record import TimeRecord
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.tasks import TaskClass
from wattpack.model.timed_tasks import TimedTasks
from wattpack.optimise.bound.asleep import AsleepLp, Floor
from wattpack.optimise.bound.lp import Floats
from wattpack.optimise.bound.merged import merged_classes

J_PER_KWH = 3.6e6
SAMPLES = 50
MAX_SAMPLES = 100_000


@dataclass(frozen=True)
class LeastEnergy:
    """IT energy over the horizon that no schedule with the same tasks running at each moment goes below."""

    kwh: float  # with the reserve kept at each moment: the integral of the best floor
    kwh_without_reserve: float  # the same floors with no reserve: holds for every run
    sampled_kwh: float  # mean least power at the sampled moments, times the horizon: at least `kwh` but for sampling
    sampled_error_kwh: float  # standard error of `sampled_kwh`
    samples: int
    horizon_s: float
    sleep_w: float  # inf: no node sleeps
    reserve_gpus: float

    @property
    def mean_w(self) -> float:
        return self.kwh * J_PER_KWH / self.horizon_s if self.horizon_s > 0 else nan


class EnergyBound:
    """The bound for runs with the same datacenter, task classes, power profile and sleep watts.

    What one run needed of the LP is used again for the next. `sleep_w` as in `least_power_w`; `profile` is that of the
    runs, with their power caps.
    """

    def __init__(
        self, datacenter: Datacenter, classes: Sequence[TaskClass], profile: PowerProfile = PAPER, sleep_w: float = inf
    ) -> None:
        self.sleep_w = sleep_w
        self._lp = self._solved = AsleepLp(datacenter, classes, profile, sleep_w)
        merged, self._merged_to = merged_classes(classes)
        if len(merged) < len(classes):
            self._solved = AsleepLp(datacenter, merged, profile, sleep_w)

    def of(
        self, record: TimeRecord, tasks: TimedTasks, reserve_gpus: float = 0.0, samples: int = SAMPLES
    ) -> LeastEnergy:
        """The least energy for the tasks that ran in `record`, a run of `tasks`."""
        if not 1 <= samples <= MAX_SAMPLES:
            raise UserError(f"{samples} samples of the least energy, expected 1 to {MAX_SAMPLES:,}")
        lp, running = self._lp, Running.of(record, tasks)
        kept, awake, sampled_w = [], [lp.all_idle()], []
        for time_s in (np.arange(samples) + 0.5) * (record.horizon_s / samples):
            counts = running.counts(float(time_s))
            with_reserve, all_awake = self._floors(counts, reserve_gpus)
            least_w = []
            if with_reserve is not None:
                kept.append(with_reserve)
                least_w.append(with_reserve.power_w(counts, reserve_gpus))
            if all_awake is not None:
                awake.append(all_awake)
                least_w.append(all_awake.power_w(counts, 0.0))
            sampled_w.append(min(least_w))
        kept = kept or [lp.floor(np.zeros(len(lp.classes)))]
        without_w, least_w_at = running.highest_w(kept, (0.0, reserve_gpus))
        lacking = running.total(lp.most_in_use) + reserve_gpus > lp.gpus
        if reserve_gpus > 0 and lacking.any():
            (awake_w,) = running.highest_w(awake, (0.0,))
            least_w_at = np.where(lacking, np.minimum(least_w_at, awake_w), least_w_at)
        to_kwh = record.horizon_s / J_PER_KWH
        return LeastEnergy(
            kwh=float(running.seconds @ least_w_at) / J_PER_KWH,
            kwh_without_reserve=float(running.seconds @ without_w) / J_PER_KWH,
            sampled_kwh=float(np.mean(sampled_w)) * to_kwh,
            sampled_error_kwh=standard_error(np.array(sampled_w)) * to_kwh,
            samples=samples,
            horizon_s=record.horizon_s,
            sleep_w=self.sleep_w,
            reserve_gpus=reserve_gpus,
        )

    def _floors(self, counts: Floats, reserve_gpus: float) -> tuple[Floor | None, Floor | None]:
        """As `AsleepLp.floors`. Of many classes, similar ones are solved as one, and all are charged at its prices."""
        if self._solved is self._lp:
            return self._lp.floors(counts, reserve_gpus)
        fewer = np.bincount(self._merged_to, counts, minlength=len(self._solved.classes))
        kept, awake = self._solved.floors(fewer, reserve_gpus)
        kept, awake = (None if floor is None else self._lp.at_prices_of(floor) for floor in (kept, awake))
        return kept, awake


def least_energy(
    record: TimeRecord,
    tasks: TimedTasks,
    datacenter: Datacenter,
    profile: PowerProfile = PAPER,
    *,
    sleep_w: float = inf,
    reserve_gpus: float = 0.0,
    samples: int = SAMPLES,
) -> LeastEnergy:
    """The least energy for the tasks of one run; `EnergyBound` is faster for several."""
    return EnergyBound(datacenter, tasks.workload.classes, profile, sleep_w).of(record, tasks, reserve_gpus, samples)


@dataclass(frozen=True)
class Running:
    """Which tasks run when: changes in order of time, and the time from each until the next."""

    classes: int
    change_s: Floats
    changed_class: NDArray[np.int64]
    change: Floats  # 1: a task starts, -1: it ends
    seconds: Floats  # from a moment to the next; one more than changes, as the run begins without tasks

    @classmethod
    def of(cls, record: TimeRecord, tasks: TimedTasks) -> Running:
        sequence = tasks.workload.sequence
        began = np.isfinite(record.start_s) & (record.start_s < record.horizon_s)
        ends = began & (record.end_s < record.horizon_s)
        change_s = np.concatenate([record.start_s[began], record.end_s[ends]])
        of_class = np.concatenate([sequence[began], sequence[ends]]).astype(np.int64)
        change = np.concatenate([np.ones(int(began.sum())), -np.ones(int(ends.sum()))])
        order = np.argsort(change_s, kind="stable")
        seconds = np.diff(np.concatenate([[0.0], change_s[order], [record.horizon_s]]))
        return cls(len(tasks.workload.classes), change_s[order], of_class[order], change[order], seconds)

    def counts(self, time_s: float) -> Floats:
        """Running tasks by class."""
        past = slice(0, int(np.searchsorted(self.change_s, time_s, side="right")))
        return np.bincount(self.changed_class[past], self.change[past], minlength=self.classes).astype(np.float64)

    def total(self, per_task: Floats) -> Floats:
        """Sum of `per_task` (by class) over the tasks that run, at each moment."""
        return np.concatenate([[0.0], np.cumsum(self.change * per_task[self.changed_class])])

    def highest_w(self, floors: Iterable[Floor], reserves_gpus: tuple[float, ...]) -> list[Floats]:
        """The highest of the floors at each moment, for each reserve."""
        highest = [np.full(len(self.seconds), -np.inf) for _ in reserves_gpus]
        for floor in floors:
            above_none_w = self.total(floor.per_task_w)
            for reserve_gpus, found in zip(reserves_gpus, highest, strict=True):
                np.maximum(found, above_none_w + floor.power_w(np.zeros(self.classes), reserve_gpus), out=found)
        return highest


def standard_error(sampled: Floats) -> float:
    """Of the mean of one value in each of equal strata in order: from differences of neighbours, so that a swing over
    the day, which strata take out of the error, is not counted as one. NaN for a single sample."""
    if len(sampled) < 2:
        return nan
    return float(np.sqrt(np.mean(np.diff(sampled) ** 2) / 2 / len(sampled)))


def gap_to_least(run_kwh: float, least: LeastEnergy) -> float:
    """How much more energy a run used than the least, in percent; NaN for a run without energy.

    Slightly below 0 is possible with a reserve: arrivals may use it up in a run, never in the bound.
    """
    return (run_kwh / least.kwh - 1) * 100 if least.kwh > 0 else nan


def note_on_least(least: LeastEnergy) -> str:
    """What the bound is and what it leaves out, for a note below a table."""
    if np.isinf(least.sleep_w):
        nodes, ignored = "all nodes awake", " and moves them at no cost"
    else:
        nodes = f"empty nodes asleep at {least.sleep_w:g} W"
        if least.reserve_gpus > 0:
            nodes += f" and {least.reserve_gpus:g} free GPUs kept awake"
        ignored = ", moves them at no cost, and lets nodes fall asleep and wake at once and for nothing"
    return (
        f"Least: no schedule that runs the same tasks at each moment uses less energy, with {nodes}. The bound knows "
        f"all tasks beforehand{ignored}, so a part of the gap is out of reach."
    )
