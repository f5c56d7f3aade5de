"""Moves that empty nodes so that they sleep, by the words of users: `moves=60,every=30m,pause=30s,pays=1h,slower=no`.

A text has one spelling, with all knobs: it is a part of a run's id.
"""

from __future__ import annotations

from wattpack.engine.moments.moves import MovesInTime
from wattpack.errors import UserError
from wattpack.experiments.knobs import NO, YES, knobs_of, yes_or_no
from wattpack.model.durations import seconds_of
from wattpack.model.nodes import Datacenter
from wattpack.optimise.consolidate import Consolidation, Consolidator

KNOBS = ("moves", "every", "pause", "pays", "slower")
EXPECTED = "on, or knobs like moves=60,every=30m,pause=30s,pays=1h,slower=no"
MAX_MOVES = 10**6


def consolidate_text(given: object, what: str = "consolidate") -> str:
    """The knobs in one spelling; empty: no task is moved."""
    found = knobs_of(given, KNOBS, EXPECTED, what)
    if found is None:
        return ""
    plain = Consolidation()
    moves = found.get("moves", str(plain.moves_an_hour))
    if not (moves.isascii() and moves.isdigit() and 1 <= int(moves[:12]) <= MAX_MOVES):
        raise UserError(f"{what}: moves {moves!r}, expected moves an hour, 1 to {MAX_MOVES:,}")
    slower = yes_or_no(found.get("slower", NO), what, "slower")
    every, pause, pays = (
        f"{seconds_of(found.get(name, f'{default}'), f'{what}: {name}'):.15g}"
        for name, default in (("every", plain.every_s), ("pause", plain.pause_s), ("pays", plain.pays_back_s))
    )
    if float(every) < 1 or float(pays) <= 0:
        raise UserError(f"{what}: every {every} s, pays {pays} s, expected at least 1 s and more than 0")
    return f"moves={int(moves)},every={every},pause={pause},pays={pays},slower={slower}"


def consolidation_of(text: str) -> Consolidation | None:
    """The knobs of `consolidate_text`; None: no task is moved."""
    if not text:
        return None
    knobs = dict(part.split("=") for part in text.split(","))
    return Consolidation(
        moves_an_hour=int(knobs["moves"]),
        every_s=float(knobs["every"]),
        pause_s=float(knobs["pause"]),
        pays_back_s=float(knobs["pays"]),
        allow_slower=knobs["slower"] == YES,
    )


def moves_in_time(told: Consolidation, datacenter: Datacenter, exact_speeds: bool) -> MovesInTime:
    """For one run. `exact_speeds`: how long tasks run depends on the GPU model, so that they stay on theirs."""
    return MovesInTime(Consolidator(told, tuple(datacenter.models), exact_speeds), told.pause_s)
