"""Scores and prices that are not finite: kernels note them where they arise and stop, Python ends the run in one line.

Kernels have no bounds checks, and a NaN that reaches `choose` is equal to nothing, not even to itself: the search for
the node that has the best score would leave the arrays. Terms and prices are therefore limited to LARGEST, which keeps
every sum of weighted products finite.
"""

from __future__ import annotations

from typing import Any

from wattpack.errors import RunError
from wattpack.jit import inner
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.tasks import TaskClass, Workload

LARGEST = 1e100
NOWHERE = -1  # no node: the task fits none, or a fault was noted

# Places of `State.fault`.
KIND, CLASS, TERM, NODE, VALUE, TASK = range(6)  # TASK: place in the sequence + 1, 0: not known
FAULT_PLACES = 6
NO_FAULT, BAD_SCORE, BAD_PRICE = 0, 1, 2  # KIND


@inner
def note_bad_term(scores: Any, c: int, n: int, t: int) -> None:
    """Term `t` of node `n`, in `scores.one`, is beyond LARGEST or no number: column `c` is not chosen from any more."""
    asked = scores.asked[c]
    asked.bad_node, asked.bad_term, asked.bad_value = n + 1, t, scores.one[t]


@inner
def refuse_column(state: Any, asked: Any, k: int) -> int:
    """Report the bad term of a column as the fault of this decision, which is for class `k`."""
    fault = state.fault
    fault[KIND], fault[CLASS], fault[TASK] = BAD_SCORE, k, 0
    fault[TERM], fault[NODE], fault[VALUE] = asked.bad_term, asked.bad_node - 1, asked.bad_value
    return NOWHERE


@inner
def finite_prices(state: Any, k: int, first: int, prices: Any) -> bool:
    """Whether all prices are finite; the first that is not is noted. `first`: the number of the term of prices[0]."""
    finite = True
    for t in range(len(prices)):  # no branch in here: it is done for all terms at once
        finite &= abs(prices[t]) <= LARGEST
    if not finite:
        fault = state.fault
        for t in range(len(prices) - 1, -1, -1):
            if not abs(prices[t]) <= LARGEST:
                fault[KIND], fault[CLASS], fault[TASK] = BAD_PRICE, k, 0
                fault[TERM], fault[VALUE] = first + t, prices[t]
    return finite


def raise_fault(
    state: Any,
    plan: Any,
    mix: Mix,
    datacenter: Datacenter,
    classes: tuple[TaskClass, ...],
    workload: Workload | None = None,
) -> None:
    """Raise the fault that kernels noted, and forget it: the service goes on with the next request."""
    kind, k, t, n, task = (int(state.fault[place]) for place in (KIND, CLASS, TERM, NODE, TASK))
    value = float(state.fault[VALUE])
    state.fault[:] = NO_FAULT
    component = int((plan.parts.terms_end <= t).sum())
    policy = mix.components[component].policy
    place = t - int(plan.parts.terms_at[component])
    name = policy.term_names[place] if place < len(policy.term_names) else str(place)
    of_term = f" (term {name!r})" if policy.terms > 1 else ""
    what = f"score of node {datacenter.names[n]}" if kind == BAD_SCORE else "price"
    named = f" {workload.task_names[task - 1]}" if workload is not None and workload.task_names and task > 0 else ""
    raise RunError(
        f"policy {policy.name}: {what}{of_term} for task{named} ({classes[k].text}) is {value:g}, "
        f"expected a finite number up to {LARGEST:g}"
    )
