"""Steps 3 and 4 of a decision, normalise and combine, over rows: nodes, or buckets that stand for their nodes.

total[n] = sum over components of weight * normalised score
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.engine.core.faults import KIND, NO_FAULT
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.pricing import (
    FIRST_TERM_100,
    NONE,
    normalised,
    price_offers,
    price_rows,
    weigh,
)
from wattpack.engine.core.scores import Scores
from wattpack.engine.core.state import State
from wattpack.jit import inner, step
from wattpack.model.policy import Normalise

DRAW = int(Normalise.DRAW)


@step
def combine_nodes(state: State, plan: Plan, scores: Scores, k: int, luck: float, mask: Any, feasible: int) -> None:
    """The totals of the nodes n with mask[n] >= 0, `feasible` in number, into `scores.total`."""
    terms = scores.terms[state.columns.of[k].column]
    combine_rows(state, plan, scores.one, k, terms, mask, feasible, luck, scores.raw, scores.total)


@step
def rank_nodes(state: State, plan: Plan, scores: Scores, k: int, luck: float, mask: Any, feasible: int) -> None:
    """`combine_nodes` for a choice: see `rank_rows`."""
    terms = scores.terms[state.columns.of[k].column]
    rank_rows(state, plan, scores.one, k, terms, mask, feasible, luck, scores.raw, scores.total)


@inner
def combine_open_buckets(plan: Plan, scores: Scores, column: int, bit: int) -> int:
    """The totals of the buckets whose nodes fit the class `bit`, where every price is 1. Returns their number.

    Row i is bucket scores.open[i]; the totals are in `scores.bucket_total`. It repeats `combine_rows` for a list of
    rows: with a mask over all buckets, runs of `bestfit` and of mixes took 8 % longer (measured).
    """
    offers, key, buckets, total = scores.offers[column], scores.key[column], scores.open, scores.bucket_total
    rows = 0
    for b in range(scores.asked[column].buckets):  # branch-free append: a branch would mispredict
        buckets[rows] = b
        total[rows] = 0.0
        rows += offers[b] & bit != 0
    if rows == 0:
        return 0
    for component in range(len(plan.parts)):
        part = plan.parts[component]
        how, weight, term = part.normalise, part.weight, part.terms_at
        low = high = key[term, buckets[0]]
        for i in range(rows):
            score = key[term, buckets[i]]
            low = score if score < low else low
            high = score if score > high else high
        for i in range(rows):
            total[i] += weight * normalised(how, key[term, buckets[i]], low, high)
    return rows


@step
def rank_buckets(state: State, plan: Plan, scores: Scores, k: int) -> int:
    """`rank_nodes` over all buckets of the column, into `scores.bucket_total`: -inf where no node fits class `k`.

    Returns the number of rows, 0 after a fault.
    """
    column, bit = state.columns.of[k].column, state.columns.of[k].bit
    rows = scores.asked[column].buckets
    offers, mask, total = scores.offers[column], scores.bucket_mask[:rows], scores.bucket_total[:rows]
    if len(plan.parts) == 1 and plan.parts[0].normalise == NONE:
        if not weigh(state, plan, k, 0, scores.one):
            return 0
        price_offers(scores.one, scores.key[column], offers, bit, scores.priced, total)
        return rows
    feasible = 0
    for b in range(rows):
        mask[b] = 0 if offers[b] & bit != 0 else -1
        feasible += mask[b] >= 0
    rank_rows(state, plan, scores.one, k, scores.key[column], mask, feasible, 0.0, scores.bucket_raw[:rows], total)
    if state.fault[KIND] != NO_FAULT:
        return 0
    for b in range(rows):
        total[b] = total[b] if mask[b] >= 0 else -np.inf
    return rows


@step
def combine_rows(
    state: State,
    plan: Plan,
    one: Any,
    k: int,
    terms: Any,
    mask: Any,
    feasible: int,
    luck: float,
    raw: Any,
    total: Any,
) -> None:
    """total[n] = sum over components of weight * normalised score, where mask[n] >= 0 (`feasible` rows).

    terms: float64[terms, rows]. raw, one: scratch.
    """
    for n in range(len(mask)):
        total[n] = 0.0
    for component in range(len(plan.parts)):
        price_rows(state, plan, one, k, component, terms, mask, raw)
        normalise(plan.parts[component].normalise, mask, raw, feasible, luck)
        for n in range(len(mask)):
            if mask[n] >= 0:
                total[n] += plan.parts[component].weight * raw[n]


@step
def rank_rows(
    state: State,
    plan: Plan,
    one: Any,
    k: int,
    terms: Any,
    mask: Any,
    feasible: int,
    luck: float,
    raw: Any,
    total: Any,
) -> None:
    """`combine_rows` for a choice: the scores of a single real-valued component are ranked as they are.

    They are not normalised, and a weight would only make close scores equal.
    """
    how = plan.parts[0].normalise
    if len(plan.parts) == 1 and (how == NONE or how >= FIRST_TERM_100):
        price_rows(state, plan, one, k, 0, terms, mask, total)
    else:
        combine_rows(state, plan, one, k, terms, mask, feasible, luck, raw, total)


@step
def component_scores(state: State, plan: Plan, scores: Scores, k: int, component: int, mask: Any) -> None:
    """Raw scores of one component for class `k` into `scores.raw`; where mask[n] < 0 they mean nothing."""
    terms = scores.terms[state.columns.of[k].column]
    price_rows(state, plan, scores.one, k, component, terms, mask, scores.raw)


@step
def normalise(how: int, mask: Any, raw: Any, feasible: int, luck: float) -> None:
    """Step 3 for one component, in place, over the rows with mask[n] >= 0."""
    if how == DRAW:
        draw(mask, raw, feasible, luck)
        return
    low, high = np.inf, -np.inf
    for n in range(len(mask)):
        if mask[n] >= 0:
            low = min(low, raw[n])
            high = max(high, raw[n])
    for n in range(len(mask)):
        if mask[n] >= 0:
            raw[n] = normalised(how, raw[n], low, high)


@step
def draw(mask: Any, raw: Any, feasible: int, luck: float) -> None:
    """100 for one feasible node drawn at random, 0 for the rest."""
    drawn = int(luck * feasible)
    for n in range(len(mask)):
        raw[n] = 0.0
        if mask[n] >= 0:
            if drawn == 0:
                raw[n] = 100.0
            drawn -= 1
