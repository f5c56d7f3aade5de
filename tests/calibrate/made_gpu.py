"""A made-up GPU with a clock of its own: a meter and a load whose true curve is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

COUNTER_STEP_S = 0.1


@dataclass
class MadeGpu:
    """Clock, meter and load in one. `curve(time share, multiprocessor share)`: its watts under load."""

    curve: Callable[[float, float], float]
    idle_w: float = 76.0
    context_w: float = 118.5
    has_counter: bool = True
    picks_multiprocessors: bool = True
    warm_w: float = 0.0  # further watts at the start, which fall by half every 5 s
    others: int = 0  # processes of other people
    fails_at: float = 2.0  # time share at which the load breaks
    name: str = "NVIDIA H200"
    uuid: str = "GPU-0"
    limit_w: float = 700.0
    now_s: float = 0.0
    joules: float = 1000.0
    is_open: bool = False
    work: tuple[float, float] | None = None
    worked_s: float = 0.0
    calls: list[str] = field(default_factory=list)

    def watts(self) -> float:
        if self.work is not None:
            return self.curve(*self.work)
        idle = self.context_w if self.is_open else self.idle_w
        return idle + self.warm_w * 0.5 ** (self.now_s / 5)

    # the clock
    def now(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.joules += self.watts() * seconds
        self.worked_s += seconds * (self.work[0] if self.work else 0.0)
        self.now_s += seconds

    # the meter
    def energy_j(self) -> float:
        """In whole millijoules, and known only every 0.1 s, as on a real GPU."""
        behind_s = self.now_s - math.floor(self.now_s / COUNTER_STEP_S + 1e-6) * COUNTER_STEP_S
        return round(1000 * (self.joules - self.watts() * behind_s)) / 1000

    def power_w(self) -> float:
        return self.watts()

    def clock_mhz(self) -> int:
        return 1980

    def temperature_c(self) -> int:
        return 40

    def processes(self) -> int:
        return self.others + self.is_open

    def is_divided(self) -> bool:
        return False

    # the load
    def open(self) -> None:
        self.is_open = True
        self.calls.append("open")

    def start(self, time_share: float, multiprocessor_share: float) -> float:
        self.work, self.worked_s = (time_share, multiprocessor_share), 0.0
        return multiprocessor_share

    def busy_s(self) -> float:
        if self.work is not None and self.work[0] >= self.fails_at:
            raise RuntimeError("the load broke")
        return self.worked_s

    def stop(self) -> None:
        self.work = None

    def close(self) -> None:
        self.is_open = False
