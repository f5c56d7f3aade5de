"""Options of a scenario that have fields of their own: the load that is offered, and moves of placed tasks.

The third one, batch windows, is the engine's (`wattpack.engine.windows.batch.Batch`). A scenario holds each of them as
a whole object, or None; `spec/sections.py` reads them from an experiment file.
"""

from __future__ import annotations

from typing import NamedTuple

from wattpack.errors import UserError

ARRIVALS = 60_000
MAX_LOAD = 10.0
MAX_LOADS = 1_000  # offered loads of one command
MAX_MOVING = 10**9  # arrivals, moves
MAX_PAUSE_S = 1e6


class Offered(NamedTuple):
    """The load of a steady state: tasks arrive and leave such that `load` of the datacenter's GPUs are requested."""

    load: float  # GPU requested / GPU of the datacenter
    arrivals: int = ARRIVALS  # tasks in all; the second half is measured


class Moving(NamedTuple):
    """Defragmentation during a run: after every `every` arrivals at most `moves` placed tasks are moved."""

    every: int
    moves: int
    pause_s: float = 0.0  # each moved task is paused for this long


def new_moving(every: int, moves: int, pause_s: float = 0.0) -> Moving:
    """Checks the values of the options --defrag-every, --defrag-moves and --defrag-pause-seconds."""
    if every < 1 or moves < 1:
        raise UserError(f"--defrag-every {every} --defrag-moves {moves}, expected 1 or more")
    if not 0 <= pause_s <= MAX_PAUSE_S:
        raise UserError(f"--defrag-pause-seconds {pause_s:g}, expected 0 to {MAX_PAUSE_S:g}")
    return Moving(every, moves, float(pause_s))


def parse_loads(text: str) -> tuple[float, ...]:
    """The offered loads of `--steady 0.5,0.8,0.9`."""
    texts = text.split(",")
    if len(texts) > MAX_LOADS:
        raise UserError(f"--steady: {len(texts):,} loads, expected at most {MAX_LOADS:,}")
    try:
        loads = tuple(float(part) for part in texts)
    except ValueError:
        loads = ()
    if not loads or not all(0 < load <= MAX_LOAD for load in loads):
        raise UserError(f"--steady {text!r}, expected loads above 0 like 0.5,0.8,0.9")
    return tuple(dict.fromkeys(loads))
