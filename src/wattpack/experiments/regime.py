"""How a steady state of a scenario is run: the offered load, how long tasks are held, whether they are moved."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from wattpack.errors import UserError

MAX_LOAD = 10.0
MAX_MOVING = 10**9  # arrivals, moves
MAX_PAUSE_S = 1e6


class Moving(NamedTuple):
    """After every so many arrivals at most so many moves of tasks that are placed already, each paused for a while."""

    every: int
    moves: int
    pause_s: float = 0.0


def new_moving(every: int, moves: int, pause_s: float = 0.0) -> Moving:
    """As a user says it; what makes no sense is refused."""
    if every < 1 or moves < 1:
        raise UserError(f"--defrag-every {every} --defrag-moves {moves}, expected 1 or more")
    if not 0 <= pause_s <= MAX_PAUSE_S:
        raise UserError(f"--defrag-pause-seconds {pause_s:g}, expected 0 to {MAX_PAUSE_S:g}")
    return Moving(every, moves, float(pause_s))


class Regime(NamedTuple):
    """One steady state of a scenario."""

    load: float  # GPU asked for / GPU of the datacenter
    batch_seconds: float = inf  # that the first task of a window waits at most
    moving: Moving | None = None
