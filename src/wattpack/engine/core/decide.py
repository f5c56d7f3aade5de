"""One decision: filter, score, normalise, combine, choose, pick. The simulator, the services and `explain` call this.

Filter and score are in scores.py (kept until a node changes), normalise and combine in pricing.py, choose in choose.py.
"""

from __future__ import annotations

from typing import Any

from wattpack.engine.core.choose import choose_bucket, choose_priced_bucket, scan
from wattpack.engine.core.columns import fits_class
from wattpack.engine.core.faults import FLAG, NOT_FINITE, NOWHERE, refuse_column
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.scores import Scores, filter_and_score, scatter, scattered, score_component
from wattpack.engine.core.state import State
from wattpack.jit import inner, step
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.policy import Pick
from wattpack.model.power import GPU_MILLI

__all__ = ["NOWHERE", "decide", "decide_among", "pick"]

PICK_OWN = int(Pick.OWN)
PICK_TIGHTEST = int(Pick.TIGHTEST)


@inner
def decide(state: State, plan: Plan, scores: Scores, k: int, luck: float) -> int:
    """The node for a task of class `k`, or NOWHERE. `luck` in [0, 1) is used by policies that draw."""
    task = state.columns.of[k]
    asked = scores.asked[task.column]
    filter_and_score(state, plan, scores, task.column)
    if not scattered(plan, asked):
        if plan.priced:
            return choose_priced_bucket(state, plan, scores, k)
        return choose_bucket(plan.parts, scores, task.column, task.bit)
    if asked.overflow == NOT_FINITE:
        return refuse_column(state, asked, k)
    if state.columns.all[task.column].classes == 1:
        return scan(state, plan, scores, k, scores.bucket[task.column], asked.feasible, luck)
    feasible = 0
    for n in range(len(scores.mask)):
        scores.mask[n] = 0 if fits_class(state, k, n) else -1
        feasible += scores.mask[n] >= 0
    return scan(state, plan, scores, k, scores.mask, feasible, luck)


@step
def decide_among(state: State, plan: Plan, scores: Scores, k: int, luck: float, offered: Any) -> int:
    """`decide` among the nodes n with offered[n], as a live scheduler asks it: others may have refused some.

    Leaves in `scores.mask` which nodes took part (>= 0), in `scores.taking_part[0]` how many.
    """
    column = state.columns.of[k].column
    filter_and_score(state, plan, scores, column)
    scores.taking_part[0] = 0
    if state.world.tally[FLAG, 0] != 0 or scores.asked[column].overflow == NOT_FINITE:
        return refuse_column(state, scores.asked[column], k)
    if not scattered(plan, scores.asked[column]):
        scatter(scores, column)
    feasible = 0
    for n in range(len(scores.mask)):
        scores.mask[n] = 0 if offered[n] and fits_class(state, k, n) else -1
        feasible += scores.mask[n] >= 0
    scores.taking_part[0] = feasible
    return scan(state, plan, scores, k, scores.mask, feasible, luck)


@inner
def pick(state: State, plan: Plan, scores: Scores, k: int, n: int, luck: float) -> int:
    """Step 6: the GPUs of node `n` for a task of class `k`, as a bit set."""
    node = state.nodes[n]
    task = state.tasks[k]
    if task.kind != 0:
        return free_gpus(node, task.num_gpu)
    how = plan.parts[plan.picker].pick
    if how == PICK_OWN:
        wish = score_component(state, plan, plan.picker, node, task, scores.one)
        if 0 <= wish < MAX_GPUS and node.gpu_left[wish] >= task.gpu_milli:
            return 1 << wish
        how = PICK_TIGHTEST  # the policy has no wish of its own
    if how == PICK_TIGHTEST:
        return tightest_gpu(node, task.gpu_milli)
    return drawn_gpu(node, task.gpu_milli, luck)


@step
def free_gpus(node: Any, wanted: int) -> int:
    """The first wholly free GPUs by index."""
    gpus = 0
    taken = 0
    for g in range(MAX_GPUS):
        if taken < wanted and node.gpu_left[g] == GPU_MILLI:
            gpus |= 1 << g
            taken += 1
    return gpus


@step
def tightest_gpu(node: Any, gpu_milli: int) -> int:
    """The GPU with the least left that fits, first of equals."""
    tightest = -1
    for g in range(node.gpus):
        left = node.gpu_left[g]
        if left >= gpu_milli and (tightest < 0 or left < node.gpu_left[tightest]):
            tightest = g
    return 1 << tightest


@step
def drawn_gpu(node: Any, gpu_milli: int, luck: float) -> int:
    """Any GPU that fits."""
    fitting = 0
    for g in range(node.gpus):
        fitting += node.gpu_left[g] >= gpu_milli
    drawn = int(luck * fitting)
    for g in range(node.gpus):
        if node.gpu_left[g] >= gpu_milli:
            if drawn == 0:
                return 1 << g
            drawn -= 1
    return 0
