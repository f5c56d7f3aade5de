"""The choice with the least extension of a node's busy time (extension.py), without a look at most nodes.

A busy node that is awake costs its bucket's total and what the extension adds, which is never negative: buckets whose
total is below the best value so far have no better node. Empty nodes of a type are equal, so that the first stands
for all. Of equal values the first node in node order wins: as in a choice that looks at every node (tested).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.engine.core.columns import fits_class
from wattpack.engine.core.combine import rank_buckets, rank_nodes
from wattpack.engine.core.decide import decide
from wattpack.engine.core.faults import KIND, NO_FAULT, NOT_FINITE
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.scores import filter_and_score, scattered
from wattpack.engine.core.state import NOWHERE, State
from wattpack.engine.moments.busy_run import BINS, BusyRun
from wattpack.engine.moments.extension import extension_w, own_share, share_told, slowness
from wattpack.engine.moments.lengths import look_again, part_of_share
from wattpack.engine.moments.run import NOBODY, MomentRun
from wattpack.jit import inner, step
from wattpack.model.sleeping import AWAKE

LOOKED_AT = 2  # nodes at each decision whose tasks have grown older
MANY = 32  # where more than one node in so many may win, a walk over all nodes is faster than one over buckets


@step
def decide_with_extension(
    state: State, plan: Plan, scores: Scores, run: MomentRun, k: int, i: int, now_s: float
) -> int:
    """`decide` for task `i` of class `k`, whose only policy scores in watts, with the extension."""
    column = state.columns.of[k].column
    filter_and_score(state, plan, scores, column)
    asked, scratch = scores.cache.asked[column], scores.scratch
    if asked.overflow == NOT_FINITE:
        return decide(state, plan, scores, k, 0.0)
    if run.busy.learnt:
        look_at_some(run, now_s)
    if scattered(plan, asked):
        feasible = 0
        for n in range(len(scratch.mask)):
            scratch.mask[n] = 0 if fits_class(state, k, n) else -1
            feasible += scratch.mask[n] >= 0
        if feasible == 0:
            return NOWHERE
        rank_nodes(state, plan, scores, k, 0.0, scratch.mask, feasible)
        if state.fault[KIND] != NO_FAULT:
            return NOWHERE
        return choose_extended(state, scores, run, i, now_s)
    rows = rank_buckets(state, plan, scores, k)
    return choose_over_buckets(state, scores, run, column, rows, i, now_s)


@step
def choose_over_buckets(
    state: State, scores: Scores, run: MomentRun, column: int, rows: int, i: int, now_s: float
) -> int:
    """The choice among the nodes awake, rows being those of `rank_buckets`."""
    busy, cache, total = run.busy, scores.cache, scores.scratch.bucket_total
    busy.best_value[0], busy.best_node[0] = -np.inf, NOWHERE
    top, largest = NOWHERE, -np.inf
    for b in range(rows):
        if total[b] > largest:
            top, largest = b, total[b]
    if top == NOWHERE:
        return NOWHERE
    try_empty_nodes(state, run, cache.bucket[column], total, i, now_s)
    if total[top] >= busy.best_value[0]:
        try_bucket(state, scores, run, column, top, i, now_s)
    may_win = 0
    for b in range(rows):
        may_win += cache.buckets[column, b].nodes if total[b] >= busy.best_value[0] else 0
    if may_win * MANY > len(busy.first):
        bucket = cache.bucket[column]
        for n in range(len(bucket)):
            if bucket[n] >= 0 and total[bucket[n]] >= busy.best_value[0] and busy.first[n] != NOBODY:
                try_busy_node(state, run, total[bucket[n]], i, n, now_s)
    else:
        for b in range(rows):
            if b != top and total[b] >= busy.best_value[0]:
                try_bucket(state, scores, run, column, b, i, now_s)
    return busy.best_node[0]


@inner
def try_node(busy: BusyRun, value: float, n: int) -> None:
    if value > busy.best_value[0] or (value == busy.best_value[0] and n < busy.best_node[0]):
        busy.best_value[0], busy.best_node[0] = value, n


@step
def try_empty_nodes(state: State, run: MomentRun, bucket: Any, total: Any, i: int, now_s: float) -> None:
    """The first node of each type that is awake and empty."""
    busy = run.busy
    for node_type in range(len(busy.first_empty)):
        place = busy.first_empty[node_type]
        while place < busy.type_end[node_type] and not is_free(state, busy, busy.by_type[place]):
            place += 1
        busy.first_empty[node_type] = place
        if place < busy.type_end[node_type]:
            n = busy.by_type[place]
            if bucket[n] >= 0 and total[bucket[n]] > -np.inf:
                try_node(busy, total[bucket[n]] - extension_w(state, run, i, n, now_s), n)


@inner
def is_free(state: State, busy: BusyRun, n: int) -> bool:
    return busy.first[n] == NOBODY and state.nodes[n].closed == AWAKE


@step
def try_bucket(state: State, scores: Scores, run: MomentRun, column: int, b: int, i: int, now_s: float) -> None:
    """The nodes of a bucket that are in use: by blocks of nodes, as in `first_node`."""
    cache, value = scores.cache, scores.scratch.bucket_total[b]
    block, left = cache.buckets[column, b].first, cache.buckets[column, b].nodes
    while left > 0:
        here, n = cache.members[column, b, block], block << cache.block_bits
        left -= here
        while here > 0:
            if cache.bucket[column, n] == b:
                here -= 1
                if run.busy.first[n] != NOBODY:
                    try_busy_node(state, run, value, i, n, now_s)
            n += 1
        block += 1


@inner
def try_busy_node(state: State, run: MomentRun, total: float, i: int, n: int, now_s: float) -> None:
    """`total` less `extension_w` of a node in use and awake. Given up as soon as that is below the best value."""
    busy, host = run.busy, run.busy.hosts[n]
    longer, own = slowness(run, i, n), own_share(host, state.tasks[run.tasks[i].task_class])
    own_w, rest = own * longer, busy.busy_price * (1 - own)
    value = total - host.saved_w * own_w
    if value < busy.best_value[0]:
        return
    if busy.learnt:
        share, b = 0.0, BINS - 4
        while b >= 0 and value >= busy.best_value[0]:
            share += part_of_share(busy, busy.group[i], n, b)
            value = total - host.saved_w * (own_w + rest * (longer * share))
            b -= 4
    else:
        value = total - host.saved_w * (own_w + rest * share_told(run, i, n, now_s, longer))
    try_node(busy, value, n)


@step
def choose_extended(state: State, scores: Scores, run: MomentRun, i: int, now_s: float) -> int:
    """The choice among the nodes with mask[n] >= 0, whose scores are in `Scratch.total`."""
    mask, total = scores.scratch.mask, scores.scratch.total
    best, chosen = -np.inf, NOWHERE
    for n in range(len(mask)):
        if mask[n] >= 0:
            value = total[n] - extension_w(state, run, i, n, now_s)
            if value > best:
                best, chosen = value, n
    return chosen


@step
def look_at_some(run: MomentRun, now_s: float) -> None:
    """Tasks grow older without an event: look at a few nodes in turn."""
    busy = run.busy
    for _ in range(LOOKED_AT):
        n = busy.next_node[0]
        look_again(busy, n, now_s)
        busy.next_node[0] = (n + 1) % len(busy.first)
