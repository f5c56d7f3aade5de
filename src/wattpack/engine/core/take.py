"""Take in one task: arrive, decide, pick, place. Every run takes its tasks in by one of these functions."""

from __future__ import annotations

from typing import Any

from wattpack.engine.core.decide import decide
from wattpack.engine.core.pick import pick
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import FAILED, NOWHERE, State, arrive, place
from wattpack.jit import inner, kernel

NO_WISH = NOWHERE


@inner
def take_task(state: State, plan: Plan, scores: Scores, k: int, luck: Any, wish: int) -> tuple[int, int]:
    """Take in a task of class `k`. Returns its node and its GPUs (bit set); NOWHERE and 0 if it failed.

    A failure is counted in the totals; the caller asks `faulty` about faults. luck: float64[2], for policies that
    draw. wish: a node that has room for the task, or NO_WISH to let the policy decide.
    """
    arrive(state, plan, k)
    n = wish
    if wish == NO_WISH:
        n = decide(state, plan, scores, k, luck[0])
    if n == NOWHERE:
        state.totals[FAILED] += 1
        return NOWHERE, 0
    gpus = pick(state, plan, scores, k, n, luck[1])
    place(state, plan, k, n, gpus)
    return n, gpus


@inner
def take_decided(state: State, plan: Plan, k: int, n: int, gpus: int) -> None:
    """Take in a task of class `k` that was decided before: onto these GPUs of node `n`, or NOWHERE."""
    arrive(state, plan, k)
    if n == NOWHERE:
        state.totals[FAILED] += 1
    else:
        place(state, plan, k, n, gpus)


@kernel
def place_many(state: State, plan: Plan, k: Any, n: Any, gpus: Any) -> None:
    """`take_decided` for many tasks that are placed already, in order of arrival: int64[tasks] each."""
    for i in range(len(k)):
        take_decided(state, plan, k[i], n[i], gpus[i])
