"""What a power meter can tell, and mean watts over a time window. `nvml.py` is the meter of NVIDIA GPUs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from wattpack.errors import RunError

POLL_S = 0.002
COUNTER_STEP_S = 0.5  # longest wait for the counter's next value; an H200 updates it every 0.1 s
SAMPLE_S = 0.05  # between samples where there is no counter


class Meter(Protocol):
    """One GPU. Reads only: no setting of the GPU is changed."""

    name: str  # as the driver calls the product
    uuid: str
    limit_w: float  # power limit in force
    has_counter: bool  # whether the GPU counts its energy

    def energy_j(self) -> float:
        """Joules since some time in the past."""

    def power_w(self) -> float:
        """Watts now."""

    def clock_mhz(self) -> int:
        """Of the multiprocessors."""

    def temperature_c(self) -> int: ...

    def processes(self) -> int:
        """Processes that hold a context on the GPU."""


class Clock:
    """Time as it is; tests have one of their own."""

    def now(self) -> float:
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Window:
    """Start of a time window and what was read there; `end` gives seconds and mean watts.

    Both ends wait for the energy counter to change, so that its step of 0.1 s does not count: 2 % of 5 s otherwise.
    Without a counter, call `sample` during the window: the mean of the samples is used.
    """

    def __init__(self, meter: Meter, clock: Clock) -> None:
        self.meter, self.clock = meter, clock
        self.samples: list[float] = []
        self.start_s, self.start_j = self._edge()

    def _edge(self) -> tuple[float, float]:
        if not self.meter.has_counter:
            self.samples.append(self.meter.power_w())
            return self.clock.now(), 0.0
        first = self.meter.energy_j()
        begun = self.clock.now()
        while (energy := self.meter.energy_j()) == first and self.clock.now() - begun < COUNTER_STEP_S:
            self.clock.sleep(POLL_S)
        return self.clock.now(), energy

    def wait(self, seconds: float) -> None:
        if self.meter.has_counter:
            self.clock.sleep(seconds)
            return
        until = self.clock.now() + seconds
        while self.clock.now() < until:
            self.clock.sleep(SAMPLE_S)
            self.samples.append(self.meter.power_w())

    def end(self) -> tuple[float, float]:
        """Seconds of the window and mean watts in it."""
        end_s, end_j = self._edge()
        seconds = end_s - self.start_s
        if not self.meter.has_counter:
            return seconds, sum(self.samples) / len(self.samples)
        if end_j <= self.start_j or seconds <= 0:
            raise RunError(f"{self.meter.name}: its energy counter stands still, expected a counter that runs")
        return seconds, (end_j - self.start_j) / seconds


def mean_watts(meter: Meter, clock: Clock, seconds: float) -> float:
    window = Window(meter, clock)
    window.wait(seconds)
    return window.end()[1]


def settled_watts(
    meter: Meter, clock: Clock, seconds: float, longest_s: float, say: Callable[[str], None] = lambda text: None
) -> float:
    """Mean watts once two windows in a row differ by at most 0.5 %, or of the last window after `longest_s`.

    A GPU cools for a minute after work: an H200 fell from 120 to 81 W within 10 s, to 76 W later.
    """
    begun = clock.now()
    before = mean_watts(meter, clock, seconds)
    while True:
        now_w = mean_watts(meter, clock, seconds)
        if abs(now_w - before) <= 0.005 * before:
            return now_w
        if clock.now() - begun >= longest_s:
            say(f"power still changes after {longest_s:.0f} s: {before:.1f} to {now_w:.1f} W")
            return now_w
        before = now_w
