"""Scores and prices that are not finite: kernels note them and stop; Python then raises an error of one line.

Kernels have no bounds checks, and NaN is not equal to itself: with a NaN in `choose`, the search for the node with the
best score would leave the arrays. Terms and prices are therefore limited to LARGEST, which keeps every sum of weighted
products finite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wattpack.errors import RunError
from wattpack.jit import call_for_int, call_for_none, inner, kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix, Policy
from wattpack.model.tasks import TaskClass, Workload

if TYPE_CHECKING:  # both import this module
    from wattpack.engine.core.plan import Plan
    from wattpack.engine.core.records import ColumnState
    from wattpack.engine.core.state import State

LARGEST = 1e100

# Places of `State.fault`.
KIND, CLASS, TERM, VALUE, TASK = range(5)  # TASK: place in the sequence + 1, 0: not known
FAULT_PLACES = 5
# In front of the params of a user's policy: the addresses of its functions, and the latest score that is not finite,
# with two values that identify its node.
SCORE, WEIGH, REMEMBER, BAD_TERM, BAD_VALUE, NODE_CHANGED_AT, NODE_TYPE, FIRST_PARAM = range(8)
FLAG = 2  # row of `World.tally`; its first number is 1 after a score that is not finite
NOT_FINITE = 2  # in the place of a column's overflow
NO_FAULT, BAD_SCORE, BAD_PRICE = 0, 1, 2  # KIND


@inner
def note_bad_terms(node: Any, world: Any, params: Any, terms: Any) -> None:
    for t in range(len(terms)):
        if not abs(terms[t]) <= LARGEST:
            world.tally[FLAG, 0] = 1
            params[BAD_TERM], params[BAD_VALUE] = t, terms[t]
            params[NODE_CHANGED_AT], params[NODE_TYPE] = node.changed_at, node.type


@kernel
def own_score(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    """Calls `score` of a user's policy and checks the terms that it has written.

    It replaces the policy's function. The same check in the engine's loop made runs of all policies 2 to 5 % slower
    (measured); here it costs the built-in policies nothing, and their scores are finite.
    """
    gpu = call_for_int(int(params[SCORE]), (node, task, world, params[FIRST_PARAM:], memory, terms))
    note_bad_terms(node, world, params, terms)
    return gpu


@kernel
def own_weigh(task: Any, world: Any, params: Any, memory: Any, prices: Any) -> None:
    call_for_none(int(params[WEIGH]), (task, world, params[FIRST_PARAM:], memory, prices))


@kernel
def own_remember(event: int, node: Any, task: Any, world: Any, params: Any, memory: Any) -> None:
    call_for_none(int(params[REMEMBER]), (event, node, task, world, params[FIRST_PARAM:], memory))


def plain_functions(policy: Policy) -> tuple[Any, Any, Any]:
    """The three functions above, for one policy, without the compiler."""

    def score(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
        gpu = policy.score(node, task, world, params[FIRST_PARAM:], memory, terms)
        note_bad_terms(node, world, params, terms)
        return gpu

    def weigh(task: Any, world: Any, params: Any, memory: Any, prices: Any) -> None:
        policy.weigh(task, world, params[FIRST_PARAM:], memory, prices)

    def remember(event: int, node: Any, task: Any, world: Any, params: Any, memory: Any) -> None:
        policy.remember(event, node, task, world, params[FIRST_PARAM:], memory)

    return score, weigh, remember


@inner
def faulty(state: State, k: int, i: int) -> bool:
    """Whether there was a fault while task `i` of class `k` was taken in. It may be placed already; the run must end.

    Checked after the decision: a check inside it made runs up to 9 % slower (measured).
    """
    if state.world.tally[FLAG, 0] == 0 and state.fault[KIND] == NO_FAULT:
        return False
    if state.fault[KIND] == NO_FAULT:
        state.fault[KIND], state.fault[CLASS] = BAD_SCORE, k
    state.fault[TASK] = i + 1
    return True


@inner
def refuse_column(state: State, asked: ColumnState, k: int) -> None:
    """Note that a score of the column is not finite: nothing is chosen from it now, for class `k`, or later."""
    asked.overflow = NOT_FINITE
    state.world.tally[FLAG, 0] = 0
    state.fault[KIND], state.fault[CLASS], state.fault[TASK] = BAD_SCORE, k, 0


@inner
def finite_prices(state: State, k: int, first: int, prices: Any) -> bool:
    """Whether all prices are finite; the first that is not is noted. `first`: the number of the term of prices[0]."""
    finite = True
    for t in range(len(prices)):  # branch-free, so that it is vectorised
        finite &= abs(prices[t]) <= LARGEST
    if not finite:
        fault = state.fault
        for t in range(len(prices) - 1, -1, -1):
            if not abs(prices[t]) <= LARGEST:
                fault[KIND], fault[CLASS], fault[TASK] = BAD_PRICE, k, 0
                fault[TERM], fault[VALUE] = first + t, prices[t]
    return finite


def raise_fault(
    state: State,
    plan: Plan,
    mix: Mix,
    datacenter: Datacenter,
    classes: tuple[TaskClass, ...],
    workload: Workload | None = None,
) -> None:
    """Raise the fault that kernels noted, and clear it: the service goes on with the next request."""
    kind, k, t, task = (int(state.fault[place]) for place in (KIND, CLASS, TERM, TASK))
    what, value = "price", float(state.fault[VALUE])
    if kind == BAD_SCORE:
        t, n, value = bad_score(state, plan, mix)
        what = f"score of node {datacenter.names[n]}"
    state.fault[:], state.world.tally[FLAG, 0] = NO_FAULT, 0
    component = int((plan.parts.terms_end <= t).sum())
    policy = mix.components[component].policy
    place = t - int(plan.parts.terms_at[component])
    name = policy.term_names[place] if place < len(policy.term_names) else str(place)
    of_term = f" (term {name!r})" if policy.terms > 1 else ""
    named = f" {workload.task_names[task - 1]}" if workload is not None and workload.task_names and task > 0 else ""
    raise RunError(
        f"policy {policy.name}: {what}{of_term} for task{named} ({classes[k].text}) is {value:g}, "
        f"expected a finite number up to {LARGEST:g}"
    )


def bad_score(state: State, plan: Plan, mix: Mix) -> tuple[int, int, float]:
    """Term, node and value of the score that is not finite."""
    for part, component in zip(plan.parts, mix.components, strict=True):
        noted = plan.params[part.params_at : part.params_end]
        if is_own(component.policy) and not abs(noted[BAD_VALUE]) <= LARGEST:
            same = (state.nodes.changed_at == noted[NODE_CHANGED_AT]) & (state.nodes.type == noted[NODE_TYPE])
            # If there is none, the node has changed since: it is the node that the task was placed on.
            n = int(np.argmax(same)) if same.any() else int(np.argmax(state.nodes.changed_at))
            return int(part.terms_at + noted[BAD_TERM]), n, float(noted[BAD_VALUE])
    raise AssertionError("a fault without a score")


def is_own(policy: Policy) -> bool:
    """Whether the policy is a user's, not a built-in one."""
    return not str(policy.score.__module__).startswith("wattpack.policies.")
