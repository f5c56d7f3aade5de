"""Which of the feasible nodes are looked at, and the order in which they are met: between filter and normalise.

Only for policies that say so (`Look`, `Ties.HEAP` in model/policy.py); for all others every feasible node takes part.
"""

from __future__ import annotations

from typing import Any

from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import NEXT_LOOK, State
from wattpack.jit import inner, inner_kernel, step
from wattpack.model.policy import Look, Ties

WINDOW = int(Look.WINDOW)
HEAP = int(Ties.HEAP)
BLOCK = 8  # nodes that are met between two looks at whether there are enough
LEAST_WINDOW = 100  # feasible nodes that kube-scheduler looks at in any case


@inner_kernel
def window_size(nodes: int) -> int:
    """How many feasible nodes kube-scheduler looks at in a cluster of `nodes` nodes, with its default settings."""
    if nodes < LEAST_WINDOW:
        return nodes
    percent = max(5, 50 - nodes // 125)
    return max(LEAST_WINDOW, nodes * percent // 100)


@step
def look_round(state: State, plan: Plan, scores: Scores, mask: Any, feasible: int, window: bool, goes_on: bool) -> int:
    """Meet the nodes with mask[n] >= 0, `feasible` in number, into `Scratch.met`. Returns how many are looked at.

    `window`: no more than the policy looks at. Where these are fewer than `feasible`, `Scratch.mask` becomes theirs.
    `goes_on`: the next decision looks on from the node that ended this one; a question leaves that as it is.
    """
    scratch, nodes = scores.scratch, len(mask)
    want = window_size(nodes) if window and plan.look == WINDOW else nodes
    start = state.totals[NEXT_LOOK]
    met, stopped = meet(plan.order, mask, start, nodes, want, scratch.met, 0)
    if met <= want:
        met, stopped = meet(plan.order, mask, 0, start, want, scratch.met, met)
    if met <= want:
        return feasible
    if goes_on:
        state.totals[NEXT_LOOK] = stopped
    for n in range(nodes):
        scratch.mask[n] = -1
    for i in range(want):
        scratch.mask[scratch.met[i]] = 0
    return want


@inner
def meet(order: Any, mask: Any, start: int, end: int, want: int, met: Any, count: int) -> tuple[int, int]:
    """Append the nodes with mask[n] >= 0 from place `start` to `end` of `order` to `met`, which has `count` already.

    Returns the new number, and where it stopped: at the first node that was one more than wanted, or at the end.
    Branch-free append: a branch for nodes that do not fit would mispredict.
    """
    at = start
    while at + BLOCK <= end and count + BLOCK <= want:
        for _ in range(BLOCK):
            n = order[at]
            met[count] = n
            count += mask[n] >= 0
            at += 1
    while at < end:
        n = order[at]
        met[count] = n
        count += mask[n] >= 0
        if count > want:
            break
        at += 1
    return count, at
