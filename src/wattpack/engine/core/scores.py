"""Steps 1 and 2 of a decision, filter and score: cached per (column, node), refreshed when the node changes.

A node's scores for a class depend on that node alone. So when a task arrives, only the nodes are scored that have
changed since its column was last asked for, and of these only those that fitted before or fit now (`State.touched`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.engine.core.buckets import find_bucket, join, leave, note_used_terms
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.records import ColumnState
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import CHANGES, State
from wattpack.jit import call_for_int, inner, step

REFUSED = -1  # in place of a bucket: the node fits no class of the column


@inner
def filter_and_score(state: State, plan: Plan, scores: Scores, column: int) -> None:
    """Steps 1 and 2: bring `column` up to date."""
    classes, asked = state.columns.all[column], scores.cache.asked[column]
    seen, now, ring = asked.seen, state.totals[CHANGES], len(state.changed)
    if seen < 0:
        for node_type in range(len(scores.scratch.like)):
            scores.scratch.like[node_type] = -1
    if seen < 0 or now - seen > ring:  # the column is new, or the ring has overwritten changes
        for n in range(len(state.nodes)):
            if state.nodes[n].changed_at > seen:
                look_at_node(state, plan, scores, column, n)
    else:
        touched = state.touched[classes.word]
        start = seen % ring
        hits = find_touched(touched, classes.mask, start, min(start + now - seen, ring), scores.scratch.hits, 0)
        hits = find_touched(touched, classes.mask, 0, start + now - seen - ring, scores.scratch.hits, hits)
        fetch_buckets(state, scores, column, hits)
        for i in range(hits):
            at = scores.scratch.hits[i]
            changed: Any = np.int64(state.changed[at])  # another type would be another compile
            look_at_node(state, plan, scores, column, changed)
    asked.seen = now


@inner
def find_touched(touched: Any, mask: int, start: int, end: int, hits: Any, found: int) -> int:
    """Append the places from `start` to `end` with a bit of `mask` to `hits`, which has `found` places already.

    Returns the new number of places. Branch-free append: about 10 % of the places match, unpredictably; a branch would
    mispredict.
    """
    for at in range(start, end):
        hits[found] = at
        found += touched[at] & mask != 0
    return found


@inner
def fetch_buckets(state: State, scores: Scores, column: int, hits: int) -> None:
    """Read something of all nodes that are looked at next, so that memory answers in parallel.

    In a datacenter of 12,130 nodes they lie far apart: a run in time of a mix took 8.3 us a task and now takes 6.5.
    """
    bucket, word, fetched = scores.cache.bucket[column], state.columns.all[column].word, 0
    for i in range(hits):
        n = state.changed[scores.scratch.hits[i]]
        node = state.nodes[n]  # a field of each line of the cache that scores read
        fetched ^= node.gpu_left[0] ^ node.cpu_left ^ node.type ^ node.sockets  # a sum of bit sets could overflow
        fetched ^= bucket[n] ^ state.fit[n, word] ^ state.held[n, word]
    scores.scratch.fetched[0] = fetched  # nobody reads it; without a use the loop would be left out


@inner
def look_at_node(state: State, plan: Plan, scores: Scores, column: int, n: int) -> None:
    """Move node `n` to the bucket of `column` that it belongs to now."""
    first_time = scores.cache.asked[column].seen < 0
    classes = state.columns.all[column]
    fitting = state.fit[n, classes.word] & classes.mask
    state.held[n, classes.word] = (state.held[n, classes.word] & ~classes.mask) | fitting
    bucket = REFUSED
    if fitting != 0:
        bucket = score_node(state, plan, scores, column, n, fitting)
    if first_time:
        scores.cache.bucket[column, n] = bucket
        join(scores.cache, column, n)
    elif bucket != scores.cache.bucket[column, n]:
        leave(scores.cache, column, n)
        scores.cache.bucket[column, n] = bucket
        join(scores.cache, column, n)


@inner
def score_node(state: State, plan: Plan, scores: Scores, column: int, n: int, fitting: int) -> int:
    """Score node `n`, which fits the classes `fitting` of `column`. Returns its bucket.

    The first time a column is asked for, empty nodes of one type are scored once and copied.
    """
    node, asked = state.nodes[n], scores.cache.asked[column]
    share = asked.seen < 0 and node.tasks == 0
    like = scores.scratch.like[node.type] if share else -1
    if like >= 0:
        if scattered(plan, asked):
            for term in range(len(scores.scratch.term_values)):
                scores.cache.terms[column, term, n] = scores.cache.terms[column, term, like]
        return int(scores.cache.bucket[column, like])
    for component in range(len(plan.parts)):
        score_component(
            state, plan, component, node, state.tasks[state.columns.all[column].like], scores.scratch.term_values
        )
    if share:
        scores.scratch.like[node.type] = n
    bucket = 0
    if plan.bucketed and asked.overflow == 0:
        note_used_terms(scores, column)
        bucket = find_bucket(scores, column, fitting, -1 if asked.seen < 0 else scores.cache.bucket[column, n])
        if asked.overflow == 1:
            scatter(scores, column)
    if scattered(plan, asked):
        for term in range(len(scores.scratch.term_values)):
            scores.cache.terms[column, term, n] = scores.scratch.term_values[term]
    return bucket


@inner
def write_terms(state: State, plan: Plan, scores: Scores, column: int, n: int, like: int) -> None:
    """Fill `ScoreCache.terms` of `column` for a node that is in no bucket, or copy those of node `like` (>= 0)."""
    terms, values = scores.cache.terms[column], scores.scratch.term_values
    if like < 0:
        task = state.tasks[state.columns.all[column].like]
        for component in range(len(plan.parts)):
            score_component(state, plan, component, state.nodes[n], task, values)
    for term in range(len(values)):
        terms[term, n] = values[term] if like < 0 else terms[term, like]


@inner
def scattered(plan: Plan, asked: ColumnState) -> bool:
    """Whether `ScoreCache.terms` is filled. With buckets it would only repeat their keys, at 8 bytes per node."""
    return not plan.bucketed or asked.overflow != 0


@step
def scatter(scores: Scores, column: int) -> None:
    """Fill `ScoreCache.terms` of `column` from the keys of its buckets."""
    for term in range(len(scores.scratch.term_values)):
        for n in range(len(scores.scratch.raw)):
            scores.cache.terms[column, term, n] = scores.cache.key[column, term, max(scores.cache.bucket[column, n], 0)]


@inner
def score_component(state: State, plan: Plan, component: int, node: Any, task: Any, terms: Any) -> int:
    """Score one node by one component: fills its slice of `terms`, returns the GPU that it would use."""
    part = plan.parts[component]
    params = plan.params[part.params_at : part.params_end]
    memory = state.memory[part.memory_at : part.memory_end]
    own = terms[part.terms_at : part.terms_end]
    return call_for_int(plan.score[component], (node, task, state.world, params, memory, own))
