"""Raw scores of one component over rows, from its terms and the prices of this decision.

    raw[n] = sum over the component's terms of price * term

Rows are nodes, or buckets that stand for their nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.engine.core.faults import finite_prices
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.state import State
from wattpack.jit import call_for_none, inner, step
from wattpack.model.policy import Normalise

NONE = int(Normalise.NONE)
MIN_MAX_100 = int(Normalise.MIN_MAX_100)
MIN_MAX_0 = int(Normalise.MIN_MAX_0)
FIRST_TERM_100 = int(Normalise.FIRST_TERM_100)
OUTSIDE = 2.0**24  # taken from the score of a row that is not within: more than any sum of watts


@inner
def normalised(how: int, score: float, low: float, high: float) -> float:
    """One score, normalised over scores from `low` to `high`. Integer scores give integers, exact in float64."""
    if how == MIN_MAX_100 or how == MIN_MAX_0:
        if low == high:
            return 100.0 if how == MIN_MAX_100 else 0.0
        # a float quotient of integers below 2**26 has the floor of the integer division
        return np.floor((score - low) * 100 / (high - low))
    return score


@inner
def weigh(state: State, plan: Plan, k: int, c: int, prices: Any) -> bool:
    """Ask component `c` for its prices for a task of class `k`; whether they are finite."""
    part = plan.parts[c]
    params = plan.params[part.params_at : part.params_end]
    memory = state.memory[part.memory_at : part.memory_end]
    call_for_none(plan.weigh[c], (state.tasks[k], state.world, params, memory, prices))
    return finite_prices(state, k, part.terms_at, prices)


@step
def price_rows(state: State, plan: Plan, one: Any, k: int, c: int, terms: Any, mask: Any, raw: Any) -> None:
    """Raw scores of component `c` for class `k`, from the terms of the whole plan, [terms, rows]; `one`: scratch."""
    part = plan.parts[c]
    prices = one[part.terms_at : part.terms_end]
    weigh(state, plan, k, c, prices)
    own = terms[part.terms_at : part.terms_end]
    if part.normalise < FIRST_TERM_100:
        for n in range(len(raw)):
            raw[n] = prices[0] * own[0, n]
    else:
        treat_first_term(part.normalise, prices[0], own[0], mask, raw)
    price_further_terms(prices, own, raw)


@step
def treat_first_term(how: int, price: float, term: Any, mask: Any, out: Any) -> None:
    """What the first term adds to the score, over the rows with mask[n] >= 0, for the kinds FIRST_TERM_...

    FIRST_TERM_WITHIN: 0 for rows within `price` of the largest; others fall below all of those.
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
def price_offers(prices: Any, terms: Any, offers: Any, bit: int, priced: Any, total: Any) -> None:
    """The sums of `price_rows`, from the left, for rows with `bit` in offers[n]; -inf for the others.

    Four terms in the first pass, which is all of them in most decisions of `ocs`. A price that is missing is taken as
    0 times the first term: that adds nothing. `priced`: scratch.
    """
    count = 0
    for t in range(1, len(prices)):
        priced[count] = t
        count += prices[t] != 0
    a, b, c = priced[0] if count > 0 else 0, priced[1] if count > 1 else 0, priced[2] if count > 2 else 0
    p, q, r = prices[a] if a > 0 else 0.0, prices[b] if b > 0 else 0.0, prices[c] if c > 0 else 0.0
    first, second, third, fourth = terms[0], terms[a], terms[b], terms[c]
    for n in range(len(total)):
        cost = ((prices[0] * first[n] + p * second[n]) + q * third[n]) + r * fourth[n]
        total[n] = cost if offers[n] & bit != 0 else -np.inf
    for i in range(3, count - 1, 2):
        add_two(prices[priced[i]], terms[priced[i]], prices[priced[i + 1]], terms[priced[i + 1]], total)
    if count > 3 and (count - 3) % 2 == 1:
        t = priced[count - 1]
        for n in range(len(total)):
            total[n] += prices[t] * terms[t, n]


@step
def price_further_terms(prices: Any, terms: Any, raw: Any) -> None:
    """raw[n] += sum over t > 0 of prices[t] * terms[t, n], from the left. Terms without a price are not read.

    Two terms a pass: the passes over `raw` cost as much as those over the terms.
    """
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
