"""Engine entry points for the live service: one decision with its reasons, and single changes of the state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.combine import combine_nodes, component_scores, normalise
from wattpack.engine.core.decide import decide_among
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.faults import KIND, NO_FAULT
from wattpack.engine.core.pick import pick
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import NOWHERE, State, arrive, log_change, place, release
from wattpack.jit import inner, kernel, step
from wattpack.model.fit import VERDICTS, fits
from wattpack.model.sleeping import added_by_waking_mw

BEST = 6  # nodes that are described: the chosen one and the next best
TOP_SCORE = 10  # of the chosen node; the other nodes that take part have 0 to 9
GPUS, OFFERED, FITTING, TOLD = 0, 1, 2, 3  # columns of `Choice.counts`


class Choice(NamedTuple):
    """One decision in numbers, filled by `consider`; the next decision overwrites it."""

    offered: NDArray[np.bool_]  # [nodes]
    verdict: NDArray[np.int64]  # [nodes] of model/fit.py; 0 where not offered
    score: NDArray[np.int64]  # [nodes] 0 to TOP_SCORE by total
    refused: NDArray[np.int64]  # [verdicts] offered nodes by verdict
    best: NDArray[np.int64]  # [BEST] the chosen node, then the next best by total, first in node order at equal totals
    total: NDArray[np.float64]  # [BEST]
    raw: NDArray[np.float64]  # [components, BEST]
    normal: NDArray[np.float64]  # [components, BEST]
    counts: NDArray[np.int64]  # GPUs as a bit set, nodes offered, nodes that take part, nodes in `best`


def new_choice(engine: Engine) -> Choice:
    nodes, components = len(engine.datacenter), len(engine.mix.components)
    return Choice(
        np.zeros(nodes, dtype=np.bool_),
        np.zeros(nodes, dtype=np.int64),
        np.zeros(nodes, dtype=np.int64),
        np.zeros(len(VERDICTS), dtype=np.int64),
        np.zeros(BEST, dtype=np.int64),
        np.zeros(BEST),
        np.zeros((components, BEST)),
        np.zeros((components, BEST)),
        np.zeros(4, dtype=np.int64),
    )


@kernel
def consider(state: State, plan: Plan, scores: Scores, k: int, luck: Any, numbers: Any, choice: Choice) -> int:
    """Decide for class `k` among the nodes with these `numbers` (int64[]), and fill `choice`. Nothing is placed.

    One kernel for all of it: sorting whole arrays in Python took half the time of a request.
    """
    scratch = scores.scratch
    note_offered(state, k, numbers, choice)
    chosen = decide_among(state, plan, scores, k, luck[0], choice.offered)
    fitting = scratch.taking_part[0]
    choice.counts[GPUS], choice.counts[FITTING], choice.counts[TOLD] = 0, fitting, 0
    if chosen == NOWHERE:  # or a fault: the caller looks
        return chosen
    choice.counts[GPUS], choice.counts[TOLD] = pick(state, plan, scores, k, chosen, luck[1]), 1
    choice.best[0], choice.total[0], choice.score[chosen] = chosen, 0.0, TOP_SCORE
    if fitting == 1:  # taken unscored
        return chosen
    combine_nodes(state, plan, scores, k, luck[0], scratch.mask, fitting)
    if state.fault[KIND] != NO_FAULT:
        return NOWHERE
    rank(scratch.mask, scratch.total, chosen, choice)
    for component in range(len(plan.parts)):
        component_scores(state, plan, scores, k, component, scratch.mask)
        for i in range(choice.counts[TOLD]):
            choice.raw[component, i] = scratch.raw[choice.best[i]]
        normalise(plan.parts[component].normalise, scratch.mask, scratch.raw, fitting, luck[0])
        for i in range(choice.counts[TOLD]):
            choice.normal[component, i] = scratch.raw[choice.best[i]]
    return chosen


@inner
def note_offered(state: State, k: int, numbers: Any, choice: Choice) -> None:
    """Write down which nodes are offered, and the verdict on each."""
    for n in range(len(choice.offered)):
        choice.offered[n] = False
        choice.verdict[n] = 0
        choice.score[n] = 0
    for verdict in range(len(choice.refused)):
        choice.refused[verdict] = 0
    choice.counts[OFFERED] = 0
    task = state.tasks[k]
    for i in range(len(numbers)):
        n = numbers[i]
        if not choice.offered[n]:
            choice.offered[n] = True
            choice.counts[OFFERED] += 1
            choice.verdict[n] = fits(state.nodes[n], task)
            choice.refused[choice.verdict[n]] += 1


@step
def rank(mask: Any, total: Any, chosen: int, choice: Choice) -> None:
    """Fill in the best nodes by total after the chosen one, and a score from 0 to 9 for all nodes but that one."""
    choice.total[0] = total[chosen]
    told = 1
    low, high = np.inf, -np.inf
    for n in range(len(mask)):
        if mask[n] < 0:
            continue
        low, high = min(low, total[n]), max(high, total[n])
        if n == chosen or (told == BEST and total[n] <= choice.total[BEST - 1]):
            continue
        at = min(told, BEST - 1)
        while at > 1 and choice.total[at - 1] < total[n]:
            choice.total[at] = choice.total[at - 1]
            choice.best[at] = choice.best[at - 1]
            at -= 1
        choice.total[at] = total[n]
        choice.best[at] = n
        told = min(told + 1, BEST)
    choice.counts[TOLD] = told
    for n in range(len(mask)):
        if mask[n] >= 0 and n != chosen and high > low:
            choice.score[n] = int((total[n] - low) * (TOP_SCORE - 1) / (high - low))


@kernel
def arrive_one(state: State, plan: Plan, k: int) -> None:
    """A task of class `k` has arrived."""
    arrive(state, plan, k)


@kernel
def place_one(state: State, plan: Plan, k: int, n: int, gpus: int) -> None:
    """Put a task of class `k` on node `n` and the GPUs of the bit set `gpus`."""
    place(state, plan, k, n, gpus)


@kernel
def release_one(state: State, plan: Plan, k: int, n: int, gpus: int) -> None:
    """Remove it again: the inverse of `place_one`."""
    release(state, plan, k, n, gpus)


@kernel
def sleep_one(state: State, n: int, asleep_mw: int, sleeps: bool) -> None:
    """Node `n` would sleep if nothing were placed on it (`sleeps`), drawing `asleep_mw`; or it would not."""
    node = state.nodes[n]
    wake_mw = added_by_waking_mw(node, asleep_mw) if sleeps else 0
    if node.wake_mw != wake_mw:
        node.wake_mw = wake_mw
        log_change(state, n)
