"""Options of an experiment file that become objects: windows (`Batch`), offered loads (`Offered`), moves (`Moving`).

Runs in time have a table of their own, `[timed]` (`experiments/timed_fields.py`).

Each has its keys, a reader from the file's values to objects, and a writer back to keys for `experiment.json`. A new
knob is a key and a field here. The keys may also stand in a table of their own: `[batch]`, `[defrag]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

from wattpack.engine.windows.batch import MAX_BATCH, MAX_MILP_SECONDS, MAX_SECONDS, Batch
from wattpack.experiments.options import MAX_LOAD, MAX_MOVING, MAX_PAUSE_S, Moving, Offered
from wattpack.experiments.spec.numbers import REAL, UP_TO_KEY, Numbers
from wattpack.experiments.timed_fields import FIELDS

Combine = Callable[[Iterable[str]], Iterable[tuple[Any, ...]]]  # every combination of the values of these keys
Keys = dict[str, tuple[Any, ...]]

BATCH_KEYS = {
    "batch": Numbers(
        int, "a number of tasks", lambda x: 1 <= x <= MAX_BATCH, f"1 (no windows) to {MAX_BATCH} tasks", 1
    ),
    "batch_milp_seconds": Numbers(
        *(REAL, "seconds", lambda x: 0 <= x <= MAX_MILP_SECONDS),
        *(f"0 (without the MILP) to {MAX_MILP_SECONDS:g} seconds", 0.0, "batch"),
    ),
    "batch_seconds": Numbers(
        *(REAL, "seconds", lambda x: 0 < x <= MAX_SECONDS or x == inf),
        *(f"above 0 and at most {MAX_SECONDS:g} seconds, or inf (no limit)", inf, "batch"),
    ),
}
STEADY_KEYS = {
    "steady": Numbers(
        REAL, "an offered load", lambda x: 0 < x <= MAX_LOAD, f"an offered load above 0 and at most {MAX_LOAD:g}", None
    ),
}
MOVING_KEYS = {
    "defrag_every": Numbers(
        *(int, "a number of arrivals", lambda x: 0 <= x <= MAX_MOVING),
        *(f"0 (no moves) to {MAX_MOVING} arrivals", 0, "steady"),
    ),
    "defrag_moves": Numbers(
        *(int, "a number of moves", lambda x: 1 <= x <= MAX_MOVING, f"1 to {MAX_MOVING} moves", 100, "defrag_every")
    ),
    "defrag_pause_seconds": Numbers(
        *(REAL, "seconds", lambda x: 0 <= x <= MAX_PAUSE_S, f"0 to {MAX_PAUSE_S:g} seconds", 0.0, "defrag_every")
    ),
}
NUMBERS = UP_TO_KEY | BATCH_KEYS | STEADY_KEYS | MOVING_KEYS
# Tables whose keys are the same options without the prefix.
TABLES = {
    "batch": {"tasks": "batch", "seconds": "batch_seconds", "milp_seconds": "batch_milp_seconds"},
    "defrag": {"every": "defrag_every", "moves": "defrag_moves", "pause_seconds": "defrag_pause_seconds"},
    "timed": {key: f"timed.{key}" for key in FIELDS},
}
TIMED_KEYS = tuple(TABLES["timed"].values())


def read_batches(combine: Combine) -> tuple[Batch | None, ...]:
    """Each once: without windows there is neither a hold nor a MILP."""
    found = (Batch(tasks, hold_s, milp_s) if tasks > 1 else None for tasks, milp_s, hold_s in combine(BATCH_KEYS))
    return tuple(dict.fromkeys(found))


def read_steady(combine: Combine) -> tuple[Offered, ...]:
    return tuple(Offered(load) for (load,) in combine(STEADY_KEYS))


def read_movings(combine: Combine) -> tuple[Moving | None, ...]:
    """Each once: without moves nothing is paused."""
    found = (Moving(every, moves, pause_s) if every > 0 else None for every, moves, pause_s in combine(MOVING_KEYS))
    return tuple(dict.fromkeys(found))


def batch_keys(batches: Sequence[Batch | None]) -> Keys:
    """The keys that say these windows; only `batch` where there is neither a hold nor a MILP."""
    windows = [batch for batch in batches if batch is not None]
    milp_s, hold_s = _once(batch.milp_seconds for batch in windows), _once(batch.seconds for batch in windows)
    found: Keys = {"batch": _once(1 if batch is None else batch.tasks for batch in batches)}
    found |= {"batch_milp_seconds": milp_s} if milp_s not in ((), (0.0,)) else {}
    return found | ({"batch_seconds": hold_s} if hold_s not in ((), (inf,)) else {})


def steady_keys(steady: Sequence[Offered]) -> Keys:
    return {"steady": _once(offered.load for offered in steady)} if steady else {}


def moving_keys(movings: Sequence[Moving | None]) -> Keys:
    moves = [moving for moving in movings if moving is not None]
    if not moves:
        return {}
    return {
        "defrag_every": _once(0 if moving is None else moving.every for moving in movings),
        "defrag_moves": _once(moving.moves for moving in moves),
        "defrag_pause_seconds": _once(moving.pause_s for moving in moves),
    }


def _once(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))
