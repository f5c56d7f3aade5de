"""One decision in six steps. The simulator, the live service and `explain` all call this.

    1 filter     which nodes fit the class: bits that follow every change of a node (state.py)
    2 score      the terms of each node, one slice a component: cached until the node changes (scores.py)
    3 normalise  each component's scores, over the rows that take part (combine.py)
    4 combine    their weighted sum (combine.py)
    5 choose     the row with the largest total, the first node in node order at equal totals (choose.py); a policy may
                 declare another rule for ties, and that only some of the nodes are looked at (look.py)
    6 pick       the GPUs of that node (pick.py), once it is known

Rows are nodes. Where nodes of equal terms are kept in buckets (buckets.py), rows are buckets: there are fewer, and the
choice is the same.
"""

from __future__ import annotations

from typing import Any

from wattpack.engine.core.choose import choose_bucket, choose_node, choose_open_bucket, first_feasible
from wattpack.engine.core.columns import fits_class
from wattpack.engine.core.combine import combine_open_buckets, rank_buckets, rank_nodes
from wattpack.engine.core.faults import FLAG, KIND, NO_FAULT, NOT_FINITE, refuse_column
from wattpack.engine.core.look import HEAP, WINDOW, look_round
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.scores import filter_and_score, scatter, scattered, write_terms
from wattpack.engine.core.state import NOWHERE, State
from wattpack.jit import inner, step
from wattpack.model.fit import FITS, fits


@inner
def decide(state: State, plan: Plan, scores: Scores, k: int, luck: float) -> int:
    """The node for a task of class `k`, or NOWHERE. `luck` in [0, 1) is for policies that draw."""
    column = state.columns.of[k].column
    filter_and_score(state, plan, scores, column)  # steps 1 and 2
    asked, scratch = scores.cache.asked[column], scores.scratch
    if not scattered(plan, asked):
        return decide_over_buckets(state, plan, scores, k, column)  # 3, 4 and 5
    if asked.overflow == NOT_FINITE:
        refuse_column(state, asked, k)
        return NOWHERE
    if state.columns.all[column].classes == 1:
        return decide_over_nodes(state, plan, scores, k, luck, scores.cache.bucket[column], asked.feasible, True, True)
    feasible = 0
    for n in range(len(scratch.mask)):
        scratch.mask[n] = 0 if fits_class(state, k, n) else -1
        feasible += scratch.mask[n] >= 0
    return decide_over_nodes(state, plan, scores, k, luck, scratch.mask, feasible, True, True)


@step
def decide_among(state: State, plan: Plan, scores: Scores, k: int, luck: float, offered: Any) -> int:
    """`decide` among the nodes n with offered[n]: a live scheduler may have refused the others already.

    Afterwards mask[n] >= 0 in the scratch for the nodes that took part; taking_part[0] is their number.
    """
    column = state.columns.of[k].column
    filter_and_score(state, plan, scores, column)  # steps 1 and 2
    asked, scratch = scores.cache.asked[column], scores.scratch
    scratch.taking_part[0] = 0
    if state.world.tally[FLAG, 0] != 0 or asked.overflow == NOT_FINITE:
        refuse_column(state, asked, k)
        return NOWHERE
    if not scattered(plan, asked):
        scatter(scores, column)
    feasible = 0
    for n in range(len(scratch.mask)):
        scratch.mask[n] = 0 if offered[n] and fits_class(state, k, n) else -1
        feasible += scratch.mask[n] >= 0
    scratch.taking_part[0] = feasible
    return decide_over_nodes(state, plan, scores, k, luck, scratch.mask, feasible, True, False)


@step
def decide_among_closed(state: State, plan: Plan, scores: Scores, k: int, luck: float, low: int, high: int) -> int:
    """`decide` among the nodes with low <= `closed` <= high, as if they were open.

    Afterwards taking_part[0] is the number of nodes that took part; mask[n] >= 0 in the scratch for those that can be
    chosen. Their scores are in no cache. Empty nodes of one type have the same, so the first of them stands for all.
    """
    column, scratch = state.columns.of[k].column, scores.scratch
    filter_and_score(state, plan, scores, column)  # a column that was never asked for has no place for terms
    if state.world.tally[FLAG, 0] != 0 or scores.cache.asked[column].overflow == NOT_FINITE:
        refuse_column(state, scores.cache.asked[column], k)
        return NOWHERE
    for node_type in range(len(scratch.like)):
        scratch.like[node_type] = -1
    feasible = 0
    for n in range(len(scratch.mask)):
        scratch.mask[n] = -1
        node = state.nodes[n]
        if low <= node.closed <= high:
            like = scratch.like[node.type] if node.tasks == 0 else -1
            if like < 0 and fits(node, state.tasks[k]) != FITS:
                continue
            feasible += 1
            if like >= 0 and plan.bucketed:  # it could only tie with the first of them; policies that draw need all
                continue
            write_terms(state, plan, scores, column, n, like)
            if node.tasks == 0:
                scratch.like[node.type] = n
            scratch.mask[n] = 0
    scratch.taking_part[0] = feasible
    return decide_over_nodes(state, plan, scores, k, luck, scratch.mask, feasible, False, False)


@inner
def decide_over_buckets(state: State, plan: Plan, scores: Scores, k: int, column: int) -> int:
    """Steps 3 to 5 over the buckets of a column."""
    if plan.priced:
        rows = rank_buckets(state, plan, scores, k)  # 3 and 4
        return choose_bucket(scores, column, rows)  # 5
    rows = combine_open_buckets(plan, scores, column, state.columns.of[k].bit)  # 3 and 4
    return choose_open_bucket(scores, column, rows)  # 5


@step
def decide_over_nodes(
    state: State,
    plan: Plan,
    scores: Scores,
    k: int,
    luck: float,
    mask: Any,
    feasible: int,
    window: bool,
    goes_on: bool,
) -> int:
    """Steps 3 to 5 over the nodes n with mask[n] >= 0, `feasible` in number. A single node is taken unscored.

    window, goes_on: as in `look_round`. Afterwards taking_part[0] in the scratch is the number of nodes looked at.
    """
    if feasible == 0:
        return NOWHERE
    if feasible == 1:
        return first_feasible(mask)
    looked, rows = feasible, mask
    if plan.look == WINDOW or plan.ties == HEAP:
        looked = look_round(state, plan, scores, mask, feasible, window, goes_on)
        scores.scratch.taking_part[0] = looked
        if looked < feasible:
            rows = scores.scratch.mask
    rank_nodes(state, plan, scores, k, luck, rows, looked)  # 3 and 4
    if state.fault[KIND] != NO_FAULT:
        return NOWHERE
    return choose_node(plan, scores, rows, looked, luck)  # 5
