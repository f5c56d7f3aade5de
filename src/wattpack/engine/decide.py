"""One decision: filter, score, normalise, combine, choose, pick. The simulator, the services and `explain` call this.

Filter and score are in scores.py (kept until a node changes), the other steps here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.engine.buckets import choose_bucket, normalised
from wattpack.engine.columns import fits_class
from wattpack.engine.plan import Plan
from wattpack.engine.scores import Scores, filter_and_score, scatter, scattered, score_component
from wattpack.engine.state import State
from wattpack.jit import call_for_none, inner, step
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.policy import Normalise, Pick
from wattpack.model.power import GPU_MILLI

NOWHERE = -1

NONE = int(Normalise.NONE)
DRAW = int(Normalise.DRAW)
MIN_MAX_100 = int(Normalise.MIN_MAX_100)
FIRST_TERM_100 = int(Normalise.FIRST_TERM_100)
FIRST_TERM_WITHIN = int(Normalise.FIRST_TERM_WITHIN)
OUTSIDE = 2.0**24  # taken from the score of a node that is not within: more than any sum of watts
PICK_OWN = int(Pick.OWN)
PICK_TIGHTEST = int(Pick.TIGHTEST)


@inner
def decide(state: State, plan: Plan, scores: Scores, k: int, luck: float) -> int:
    """The node for a task of class `k`, or NOWHERE. `luck` in [0, 1) is used by policies that draw."""
    task = state.columns.of[k]
    asked = scores.asked[task.column]
    filter_and_score(state, plan, scores, task.column)
    if not scattered(plan, asked):
        return choose_bucket(plan.parts, scores, task.column, task.bit)
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
    if not scattered(plan, scores.asked[column]):
        scatter(scores, column)
    feasible = 0
    for n in range(len(scores.mask)):
        scores.mask[n] = 0 if offered[n] and fits_class(state, k, n) else -1
        feasible += scores.mask[n] >= 0
    scores.taking_part[0] = feasible
    return scan(state, plan, scores, k, scores.mask, feasible, luck)


@step
def scan(state: State, plan: Plan, scores: Scores, k: int, mask: Any, feasible: int, luck: float) -> int:
    """Steps 3 to 5 by the plain scan over the nodes n with mask[n] >= 0, `feasible` in number."""
    if feasible == 0:
        return NOWHERE
    if feasible == 1:  # taken unscored
        return first_feasible(mask)
    how = plan.parts[0].normalise
    if len(plan.parts) == 1 and (how == NONE or how >= FIRST_TERM_100):
        component_scores(state, plan, scores, k, 0, mask)
        return choose_priced(mask, scores.raw)
    combine(state, plan, scores, k, mask, feasible, luck)
    return choose(mask, scores.total)


@step
def first_feasible(bucket: Any) -> int:
    n = 0
    while bucket[n] < 0:
        n += 1
    return n


@step
def component_scores(state: State, plan: Plan, scores: Scores, k: int, c: int, mask: Any) -> None:
    """Raw scores of component `c` for class `k` into `scores.raw`; where mask[n] < 0 they mean nothing."""
    part = plan.parts[c]
    raw = scores.raw
    prices = scores.one[part.terms_at : part.terms_end]
    params = plan.params[part.params_at : part.params_end]
    memory = state.memory[part.memory_at : part.memory_end]
    call_for_none(plan.weigh[c], (state.tasks[k], state.world, params, memory, prices))
    terms = scores.terms[state.columns.of[k].column, part.terms_at : part.terms_end]
    if part.normalise < FIRST_TERM_100:
        price_terms(prices, terms, raw)
        return
    treat_first_term(part.normalise, prices[0], terms[0], mask, raw)
    for t in range(1, len(prices)):
        for n in range(len(raw)):
            raw[n] += prices[t] * terms[t, n]


@step
def treat_first_term(how: int, price: float, term: Any, mask: Any, out: Any) -> None:
    """What the first term adds to the score, over the nodes with mask[n] >= 0, for the kinds FIRST_TERM_...

    FIRST_TERM_WITHIN: 0 for nodes within `price` of the largest; others fall below all of those.
    """
    low, high = np.inf, -np.inf
    for n in range(len(mask)):
        if mask[n] >= 0:
            low = min(low, term[n])
            high = max(high, term[n])
    for n in range(len(mask)):
        out[n] = 0.0
        if mask[n] < 0:
            continue
        if how == FIRST_TERM_100:
            out[n] = price * normalised(MIN_MAX_100, term[n], low, high)
        elif term[n] < high - price:
            out[n] = -OUTSIDE * (1.0 + (high - price - term[n]))


@step
def price_terms(prices: Any, terms: Any, raw: Any) -> None:
    """raw[n] = sum over t of prices[t] * terms[t, n], from the left. Terms without a price are not read.

    Two terms a pass: the passes over `raw` cost as much as those over the terms.
    """
    for n in range(len(raw)):
        raw[n] = prices[0] * terms[0, n]
    waiting = 0  # a term that has a price and is not in the sum yet
    for t in range(1, len(prices)):
        if prices[t] == 0:
            continue
        if waiting == 0:
            waiting = t
            continue
        add_two(prices[waiting], terms[waiting], prices[t], terms[t], raw)
        waiting = 0
    if waiting > 0:
        for n in range(len(raw)):
            raw[n] += prices[waiting] * terms[waiting, n]


@step
def add_two(price: float, term: Any, other_price: float, other: Any, raw: Any) -> None:
    for n in range(len(raw)):
        raw[n] = (raw[n] + price * term[n]) + other_price * other[n]


@step
def combine(state: State, plan: Plan, scores: Scores, k: int, mask: Any, feasible: int, luck: float) -> None:
    """Steps 3 and 4: scores.total[n] = sum over components of weight * normalised score."""
    for n in range(len(mask)):
        scores.total[n] = 0.0
    for c in range(len(plan.parts)):
        component_scores(state, plan, scores, k, c, mask)
        normalise(plan.parts[c].normalise, mask, scores.raw, feasible, luck)
        for n in range(len(mask)):
            if mask[n] >= 0:
                scores.total[n] += plan.parts[c].weight * scores.raw[n]


@step
def normalise(how: int, bucket: Any, raw: Any, feasible: int, luck: float) -> None:
    """Step 3 for one component, in place, over the feasible nodes."""
    if how == DRAW:
        draw(bucket, raw, feasible, luck)
        return
    low, high = np.inf, -np.inf
    for n in range(len(bucket)):
        if bucket[n] >= 0:
            low = min(low, raw[n])
            high = max(high, raw[n])
    for n in range(len(bucket)):
        if bucket[n] >= 0:
            raw[n] = normalised(how, raw[n], low, high)


@step
def draw(bucket: Any, raw: Any, feasible: int, luck: float) -> None:
    """100 for one feasible node drawn at random, 0 for the rest."""
    drawn = int(luck * feasible)
    for n in range(len(bucket)):
        raw[n] = 0.0
        if bucket[n] >= 0:
            if drawn == 0:
                raw[n] = 100.0
            drawn -= 1


@step
def choose(bucket: Any, total: Any) -> int:
    """Step 5: the feasible node with the largest total, the first of equals in node order."""
    best = -np.inf
    chosen = NOWHERE
    for n in range(len(bucket)):
        if bucket[n] >= 0 and total[n] > best:
            best = total[n]
            chosen = n
    return chosen


@inner
def larger(one: float, other: float) -> float:
    return one if one > other else other


@step
def choose_priced(bucket: Any, total: Any) -> int:
    """The same as `choose`, which it may stand for where scores are real numbers; it spoils `total`.

    Eight running maxima instead of one, each in its own lane of the processor: 0.4 us for 1,213 nodes instead of 0.9.
    """
    for n in range(len(bucket)):
        total[n] = total[n] if bucket[n] >= 0 else -np.inf
    a = b = c = d = e = f = g = h = -np.inf
    whole = len(bucket) // 8 * 8
    for n in range(0, whole, 8):
        a, b = larger(total[n], a), larger(total[n + 1], b)
        c, d = larger(total[n + 2], c), larger(total[n + 3], d)
        e, f = larger(total[n + 4], e), larger(total[n + 5], f)
        g, h = larger(total[n + 6], g), larger(total[n + 7], h)
    for n in range(whole, len(bucket)):
        a = larger(total[n], a)
    best = larger(larger(larger(a, b), larger(c, d)), larger(larger(e, f), larger(g, h)))
    if best == -np.inf:
        return NOWHERE
    n = 0
    while total[n] != best:
        n += 1
    return n


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
