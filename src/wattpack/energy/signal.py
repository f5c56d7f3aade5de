"""A carbon intensity, a price or a power budget over clock time, and the same on the clock of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.model.durations import DAY_S
from wattpack.model.steps import Steps

# Quantities.
CARBON = "carbon"  # g CO2e per kWh
PRICE = "price"  # money per kWh
BUDGET = "budget"  # kW of IT power

# Kinds of carbon intensity. They answer different questions and are never mixed.
AVERAGE = "average"  # emissions of all generation, divided by it
MARGINAL = "marginal"  # emissions of the next kWh
NOT_SAID = ""  # a plain number, or a file that does not tell

MAX_STAMPS = 10_000_000  # of a series, also when it is repeated


@dataclass(frozen=True)
class Signal:
    """A series in steps: a value holds until the next time stamp. A single value holds throughout."""

    time_s: NDArray[np.float64]  # UTC, seconds since 1970; seconds from the start of the run if `from_start`
    value: NDArray[np.float64]
    quantity: str
    kind: str = NOT_SAID
    zone: str = ""
    currency: str = ""
    source: str = ""  # where the numbers come from, with the attribution that is due
    shape: str = ""  # of the file, as it was recognised
    notes: tuple[str, ...] = ()  # what was assumed when it was read
    from_start: bool = False
    number: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # line or entry of a value
    counted: str = "value"  # what `number` counts
    name: str = ""  # what errors name: the file

    @classmethod
    def constant(cls, value: float, quantity: str, **about: str) -> Signal:
        return cls(np.zeros(1), np.array([value], dtype=np.float64), quantity, **about)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        Steps(self.time_s, self.value)  # checks both
        if len(self.number) == 0:
            object.__setattr__(self, "number", np.arange(1, len(self.time_s) + 1))

    @property
    def is_constant(self) -> bool:
        return len(self.time_s) == 1

    @property
    def first(self) -> datetime:
        return datetime.fromtimestamp(float(self.time_s[0]), UTC)

    @cached_property
    def step_s(self) -> float:
        """The length of more than half of the steps; 0 where none is so common, as in a tariff of day and night."""
        if self.is_constant:
            return 0.0
        lengths, counts = np.unique(np.round(np.diff(self.time_s), 3), return_counts=True)
        most = int(counts.argmax())
        return float(lengths[most]) if 2 * counts[most] > len(self.time_s) - 1 else 0.0

    @cached_property
    def end_s(self) -> float:
        """When the last value ends: one usual step after its time stamp; without a usual step, one mean step."""
        mean_s = (self.time_s[-1] - self.time_s[0]) / max(len(self.time_s) - 1, 1)
        return float(self.time_s[-1] + (self.step_s or mean_s))

    @cached_property
    def gaps(self) -> NDArray[np.int64]:
        """Places of the values after which time stamps are missing: the step is longer than the usual one."""
        if self.step_s == 0.0 or self.quantity == BUDGET:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(np.diff(self.time_s) > self.step_s + 1.0)

    def begins_at(self, start: datetime | None) -> float:
        """UTC seconds of the start of the run; without a clock time, the run begins at the first time stamp."""
        if start is None:
            return float(self.time_s[0])
        if start.tzinfo is None:
            raise UserError(f"start of the run {start.isoformat()} has no time zone, expected one, like +00:00")
        return start.timestamp()

    @property
    def needs_clock(self) -> bool:
        """Whether it matters when the run begins."""
        return not (self.is_constant or self.from_start)

    def clock_note(self, start: datetime | None) -> str:
        """What to tell the user where the tasks have no clock time; empty where nothing was assumed."""
        if start is not None or not self.needs_clock:
            return ""
        return f"{self.name}: the tasks have no clock time; the run begins at its first time stamp, {_text(self.first)}"

    def on_run_clock(
        self,
        start: datetime | None,
        horizon_s: float | None = None,
        repeat: bool = False,
        hold_gaps: bool = False,
    ) -> Steps:
        """The series in seconds from the start of the run.

        `start` is the clock time of the first arrival. A run that goes beyond the last value is refused, because the
        accounting would rest on one number for the rest of it, unless `repeat` is set: then the series is repeated in
        whole days, so that hours of the day stay in place. Before the first time stamp the first value holds, but a
        run that ends before it is refused. Time stamps missing inside the run are refused unless `hold_gaps` is set:
        then the last value before holds. Without `horizon_s` the end is not checked.
        """
        if self.is_constant:
            return Steps.constant(float(self.value[0]))
        if self.from_start:
            return Steps(self.time_s, self.value)
        begin_s = self.begins_at(start)
        times = self.time_s - begin_s
        if self.quantity == BUDGET:  # a limit that somebody wrote down holds until the next one
            return Steps(times, self.value)
        if repeat and horizon_s is not None:
            return self._repeated(begin_s, horizon_s, hold_gaps)
        end_s = self.end_s - begin_s
        if horizon_s is not None and (horizon_s > end_s or horizon_s < times[0]):
            raise UserError(
                f"{self.name}: has values from {_text(self.first)} to {_text_of(self.end_s)}, the run is from "
                f"{_text_of(begin_s)} to {_text_of(begin_s + horizon_s)}, expected a longer series, or repeat_signals"
            )
        if not hold_gaps:
            self._refuse_gaps(begin_s, begin_s + horizon_s if horizon_s is not None else np.inf)
        return Steps(times, self.value)

    def _refuse_gaps(self, from_s: float, to_s: float) -> None:
        inside = self.gaps[(self.time_s[self.gaps + 1] > from_s) & (self.time_s[self.gaps] < to_s)]
        if len(inside) > 0:
            after = int(inside[0]) + 1
            step = self.time_s[after] - self.time_s[after - 1]
            raise UserError(
                f"{self.name}, {self.counted} {self.number[after]}: {_text_of(self.time_s[after])} is {step:g} s after "
                f"the time stamp before, expected {self.step_s:g} s, or hold_gaps"
            )

    def _repeated(self, begin_s: float, horizon_s: float, hold_gaps: bool) -> Steps:
        length_s = self.end_s - self.time_s[0]
        days = floor(length_s / DAY_S)
        period_s = days * DAY_S if days >= 1 else length_s
        kept = self.time_s < self.time_s[0] + period_s
        times, values = self.time_s[kept], self.value[kept]
        first = floor((begin_s - times[0]) / period_s)
        last = max(ceil((begin_s + horizon_s - times[0]) / period_s), first + 1)
        if (last - first) * len(times) > MAX_STAMPS:
            raise UserError(f"{self.name}: {last - first:,} repeats of {len(times):,} values, expected a longer series")
        if not hold_gaps:
            self._refuse_gaps(float(times[0]), float(times[0]) + period_s)
        shifts = np.arange(first, last) * period_s - begin_s
        return Steps((shifts[:, None] + times[None, :]).ravel(), np.tile(values, last - first))


def run_start(signals: Iterable[Signal], start: datetime | None) -> datetime | None:
    """The clock time at which the run begins, one for all signals.

    Without a clock time of the tasks it is the latest of the first time stamps, so that every signal has values then.
    None if no signal needs one.
    """
    firsts = [signal.first for signal in signals if signal.needs_clock]
    return start if start is not None or not firsts else max(firsts)


def one_kind(signals: Iterable[Signal]) -> str:
    """The kind of carbon intensity of all these signals; average beside marginal is refused."""
    known = {signal.kind: signal for signal in signals if signal.quantity == CARBON and signal.kind != NOT_SAID}
    if len(known) > 1:
        names = " and ".join(f"{signal.name or signal.zone} ({kind})" for kind, signal in sorted(known.items()))
        raise UserError(f"carbon intensities of different kinds: {names}, expected only average or only marginal")
    return next(iter(known), NOT_SAID)


def signal_marks(steps: Steps, horizon_s: float) -> tuple[float, ...]:
    """The time stamps inside the run, at which energy must be read (`TimeOptions.more_marks_s`)."""
    return tuple(steps.time_s[(steps.time_s > 0) & (steps.time_s < horizon_s)].tolist())


def _text(clock: datetime) -> str:
    return clock.isoformat(timespec="minutes").replace("+00:00", "Z")


def _text_of(time_s: float) -> str:
    try:
        return _text(datetime.fromtimestamp(float(time_s), UTC))
    except (OverflowError, ValueError, OSError):  # beyond the year 9999
        return f"{time_s:g} s"
