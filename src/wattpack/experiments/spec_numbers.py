"""The axes of an experiment file that are numbers: what each may be, in words and as a check."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from wattpack.datasets.inflation import UP_TO
from wattpack.engine.windows.batch import MAX_BATCH, MAX_MILP_SECONDS, MAX_SECONDS
from wattpack.experiments.regime import MAX_LOAD, MAX_MOVING, MAX_PAUSE_S


class Numbers(NamedTuple):
    """An axis: the type of its values, what one is, which are good (a NaN never is), and what is expected."""

    kind: type | tuple[type, ...]
    what: str
    good: Callable[[float], bool]
    expected: str


REAL = (int, float)
NUMBERS = {
    "up_to": Numbers(
        REAL, "a load", lambda x: 0 < x <= UP_TO, f"a load above 0 and at most {UP_TO}, where readings end"
    ),
    "batch": Numbers(int, "a number of tasks", lambda x: 1 <= x <= MAX_BATCH, f"1 (no windows) to {MAX_BATCH} tasks"),
    "batch_milp_seconds": Numbers(
        REAL, "seconds", lambda x: 0 <= x <= MAX_MILP_SECONDS, f"0 (without the MILP) to {MAX_MILP_SECONDS:g} seconds"
    ),
    "batch_seconds": Numbers(
        REAL,
        "seconds",
        lambda x: 0 < x <= MAX_SECONDS or x == inf,
        f"above 0 and at most {MAX_SECONDS:g} seconds, or inf (no limit)",
    ),
    "steady": Numbers(
        REAL, "an offered load", lambda x: 0 < x <= MAX_LOAD, f"an offered load above 0 and at most {MAX_LOAD:g}"
    ),
    "defrag_every": Numbers(
        int, "a number of arrivals", lambda x: 0 <= x <= MAX_MOVING, f"0 (no moves) to {MAX_MOVING} arrivals"
    ),
    "defrag_moves": Numbers(int, "a number of moves", lambda x: 1 <= x <= MAX_MOVING, f"1 to {MAX_MOVING} moves"),
    "defrag_pause_seconds": Numbers(REAL, "seconds", lambda x: 0 <= x <= MAX_PAUSE_S, f"0 to {MAX_PAUSE_S:g} seconds"),
}
# An axis that says nothing without another one.
NEEDS = {
    "batch_milp_seconds": "batch",
    "batch_seconds": "batch",
    "defrag_every": "steady",
    "defrag_moves": "defrag_every",
    "defrag_pause_seconds": "defrag_every",
}
