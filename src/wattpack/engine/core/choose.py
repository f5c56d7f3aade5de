"""Step 5 of a decision, choose, after steps 3 and 4 (pricing.py): over nodes, or over buckets of nodes that are
alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.engine.core.buckets import CHUNK, first_node
from wattpack.engine.core.faults import KIND, NO_FAULT, NOWHERE
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.pricing import (
    NONE,
    close_rows,
    combine_rows,
    largest,
    normalised,
    one_real_score,
    price_offers,
    price_rows,
    weigh,
)
from wattpack.engine.core.scores import Scores
from wattpack.engine.core.state import State
from wattpack.jit import inner, step

# ---- all nodes -------------------------------------------------------------------------------------------------------


@step
def scan(state: State, plan: Plan, scores: Scores, k: int, mask: Any, feasible: int, luck: float) -> int:
    """The best of the nodes n with mask[n] >= 0, `feasible` in number, or NOWHERE: the plain scan."""
    if feasible == 0:
        return NOWHERE
    if feasible == 1:  # taken unscored
        return first_feasible(mask)
    if one_real_score(plan):
        component_scores(state, plan, scores, k, 0, mask)
        return choose_priced(mask, scores.raw) if state.fault[KIND] == NO_FAULT else NOWHERE
    combine(state, plan, scores, k, mask, feasible, luck)
    return choose(mask, scores.total) if state.fault[KIND] == NO_FAULT else NOWHERE


@step
def first_feasible(mask: Any) -> int:
    n = 0
    while mask[n] < 0:
        n += 1
    return n


@step
def component_scores(state: State, plan: Plan, scores: Scores, k: int, c: int, mask: Any) -> None:
    """Raw scores of component `c` for class `k` into `scores.raw`; where mask[n] < 0 they mean nothing."""
    price_rows(state, plan, scores.one, k, c, scores.terms[state.columns.of[k].column], mask, scores.raw)


@step
def combine(state: State, plan: Plan, scores: Scores, k: int, mask: Any, feasible: int, luck: float) -> None:
    """scores.total[n] = sum over components of weight * normalised score."""
    terms = scores.terms[state.columns.of[k].column]
    combine_rows(state, plan, scores.one, k, terms, mask, feasible, luck, scores.raw, scores.total)


@step
def choose(mask: Any, total: Any) -> int:
    """The row with the largest total, the first of equals."""
    best = -np.inf
    chosen = NOWHERE
    for n in range(len(mask)):
        if mask[n] >= 0 and total[n] > best:
            best = total[n]
            chosen = n
    return chosen


@step
def choose_priced(mask: Any, total: Any) -> int:
    """The same as `choose`, which it may stand for where scores are real numbers; it spoils `total`."""
    close_rows(mask, total)
    best = largest(total)
    if best == -np.inf:
        return NOWHERE
    n = 0
    while total[n] != best:
        n += 1
    return n


# ---- buckets ---------------------------------------------------------------------------------------------------------


@inner
def choose_bucket(parts: Any, scores: Any, c: int, bit: int) -> int:
    """The first node of the buckets with the largest sum of weighted normalised scores, prices being fixed.

    Only buckets whose nodes fit the class `bit` are chosen from; NOWHERE if there are none.
    """
    offers, key, buckets, total = scores.offers[c], scores.key[c], scores.open, scores.bucket_total
    count = 0
    for b in range(scores.asked[c].buckets):  # written always and counted only where it is open: no wrong guesses
        buckets[count] = b
        total[count] = 0.0
        count += offers[b] & bit != 0
    if count == 0:
        return NOWHERE
    for p in range(len(parts)):
        how, weight, t = parts[p].normalise, parts[p].weight, parts[p].terms_at
        low = high = key[t, buckets[0]]
        for i in range(count):
            score = key[t, buckets[i]]
            low = score if score < low else low
            high = score if score > high else high
        for i in range(count):
            total[i] += weight * normalised(how, key[t, buckets[i]], low, high)
    best = total[0]
    for i in range(count):
        best = total[i] if total[i] > best else best
    chosen = scores.bucket.shape[1]
    for i in range(count):
        if total[i] == best:
            chosen = first_node(scores, c, buckets[i], chosen)
    return chosen if chosen < scores.bucket.shape[1] else NOWHERE  # a NaN equals nothing: never an index


@step
def choose_priced_bucket(state: State, plan: Plan, scores: Scores, k: int) -> int:
    """`choose_bucket` where prices change with every decision: each bucket is a row, priced as a node would be."""
    c, bit = state.columns.of[k].column, state.columns.of[k].bit
    count = scores.asked[c].buckets
    offers, mask, total = scores.offers[c], scores.bucket_mask[:count], scores.bucket_total[:count]
    if len(plan.parts) == 1 and plan.parts[0].normalise == NONE:
        if not weigh(state, plan, k, 0, scores.one):
            return NOWHERE
        price_offers(scores.one, scores.key[c], offers, bit, scores.priced, total)
    else:
        rows = 0
        for b in range(count):
            mask[b] = 0 if offers[b] & bit != 0 else -1
            rows += mask[b] >= 0
        if one_real_score(plan):
            price_rows(state, plan, scores.one, k, 0, scores.key[c], mask, total)
        else:
            combine_rows(state, plan, scores.one, k, scores.key[c], mask, rows, 0.0, scores.bucket_raw[:count], total)
        if state.fault[KIND] != NO_FAULT:
            return NOWHERE
        close_rows(mask, total)
    return first_of_best(scores, c, total)


@inner
def first_of_best(scores: Any, c: int, total: Any) -> int:
    """The first node of the buckets with the largest total, NOWHERE if all are -inf.

    The best of each chunk first: the search for the buckets that have it is then short.
    """
    chunks = (len(total) + CHUNK - 1) // CHUNK
    chunk_best = scores.chunk_best[:chunks]
    for i in range(chunks):
        chunk_best[i] = largest(total[i * CHUNK : min((i + 1) * CHUNK, len(total))])
    best = largest(chunk_best)
    if best == -np.inf:
        return NOWHERE
    chosen = scores.bucket.shape[1]
    for i in range(chunks):
        if chunk_best[i] == best:
            for b in range(i * CHUNK, min((i + 1) * CHUNK, len(total))):
                if total[b] == best:
                    chosen = first_node(scores, c, b, chosen)
    return chosen if chosen < scores.bucket.shape[1] else NOWHERE
