"""The measurement: bare idle, idle context, a sweep of time share and one of occupied multiprocessors."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from wattpack.calibrate.duty import Load
from wattpack.calibrate.meter import Clock, Meter, Window, settled_watts
from wattpack.errors import UserError

IDLE, CONTEXT, TIME, SPACE = "idle", "context", "time", "multiprocessors"
KINDS = (IDLE, CONTEXT, TIME, SPACE)
SETTLE_S = 2.0  # after a change of load, before reading
LONGEST_IDLE_S = 90.0  # for an idle GPU to cool down

Say = Callable[[str], None]


class Reading(NamedTuple):
    kind: str  # of KINDS
    share: float  # of the time, or of the multiprocessors; 0 for the idle ones
    watts: float
    clock_mhz: int
    temperature_c: int
    load: str  # what made the work; "" for bare idle


def steps(count: int) -> list[float]:
    """Shares from 1 / count to 1."""
    return [step / count for step in range(1, count + 1)]


def sweep(
    meter: Meter, by_time: Load, by_space: Load, clock: Clock, seconds: float, shares: int, say: Say
) -> list[Reading]:
    """All readings of one GPU. `by_time` may be the same load as `by_space`; contexts are made after bare idle is read.

    Where no load can pick multiprocessors, that sweep is skipped, which is said.
    """
    if meter.processes():
        raise UserError(f"{meter.name}: {meter.processes()} processes use it, expected a GPU that nothing else uses")
    readings: list[Reading] = []

    def note(kind: str, share: float, watts: float, load: str) -> None:
        reading = Reading(kind, round(share, 4), round(watts, 2), meter.clock_mhz(), meter.temperature_c(), load)
        readings.append(reading)
        say(f"{kind:<16}{share:>6.1%}  {watts:7.1f} W  {reading.clock_mhz} MHz  {reading.temperature_c} C  {load}")

    note(IDLE, 0.0, settled_watts(meter, clock, seconds, LONGEST_IDLE_S, say), "")
    by_time.open()
    note(CONTEXT, 0.0, settled_watts(meter, clock, seconds, LONGEST_IDLE_S, say), by_time.name)
    for share in steps(shares):
        by_time.start(share, 1.0)
        watts, used = _loaded(meter, by_time, clock, seconds)
        note(TIME, min(used, 1.0), watts, by_time.name)
    if by_space is not by_time:
        by_space.open()
    if by_space.picks_multiprocessors:
        for share in steps(shares):
            occupied = by_space.start(1.0, share)
            watts, _ = _loaded(meter, by_space, clock, seconds)
            note(SPACE, occupied, watts, by_space.name)
    else:
        say(f"{by_space.name} cannot pick multiprocessors: that sweep is skipped")
    if meter.processes() > 1:
        raise UserError(f"{meter.name}: another process began to use it, expected a GPU that nothing else uses")
    return readings


def _loaded(meter: Meter, load: Load, clock: Clock, seconds: float) -> tuple[float, float]:
    """Mean watts under a load that has been started, and the share of the time it was busy; ends the load."""
    clock.sleep(SETTLE_S)
    window = Window(meter, clock)
    busy_before, now_before = load.busy_s(), clock.now()
    window.wait(seconds)
    used = (load.busy_s() - busy_before) / (clock.now() - now_before)
    _, watts = window.end()
    load.stop()
    return watts, used
