"""Why a task goes where it goes: the same six steps, with everything they look at written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.combine import combine_nodes, component_scores, normalise
from wattpack.engine.core.decide import decide_among, decide_among_closed
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.faults import FIRST_PARAM, KIND, NO_FAULT, is_own
from wattpack.engine.core.look import WINDOW
from wattpack.engine.core.pick import pick
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.pricing import FIRST_TERM_100, treat_first_term
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import NOWHERE, State
from wattpack.jit import kernel, step
from wattpack.model.fit import FITS, VERDICT_WORDS, fits
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix


class Tables(NamedTuple):
    """What a decision looked at, filled by the kernels below."""

    verdict: NDArray[np.int64]  # [nodes]
    raw: NDArray[np.float64]  # [components, nodes]
    normal: NDArray[np.float64]  # [components, nodes]
    priced: NDArray[np.float64]  # [terms, nodes] what each term adds to `raw`
    total: NDArray[np.float64]  # [nodes]


@kernel
def explain_decision(state: State, plan: Plan, scores: Scores, k: int, luck: Any, offered: Any, tables: Tables) -> int:
    """Decide for class `k` among the offered nodes (bool[nodes]). Returns the node; the state stays as it is."""
    chosen = decide_among(state, plan, scores, k, luck[0], offered)
    if state.fault[KIND] != NO_FAULT:
        return NOWHERE
    write_down(state, plan, scores, k, luck, tables)
    return chosen


@kernel
def explain_closed(
    state: State,
    plan: Plan,
    scores: Scores,
    k: int,
    luck: Any,
    low: int,
    high: int,
    offered: Any,
    tables: Tables,
) -> int:
    """`explain_decision` among the nodes with low <= `closed` <= high. `offered` is filled: those that were scored."""
    chosen = decide_among_closed(state, plan, scores, k, luck[0], low, high)
    if state.fault[KIND] != NO_FAULT:
        return NOWHERE
    for n in range(len(offered)):
        offered[n] = scores.scratch.mask[n] >= 0
    write_down(state, plan, scores, k, luck, tables)
    return chosen


@step
def write_down(state: State, plan: Plan, scores: Scores, k: int, luck: Any, tables: Tables) -> None:
    """What a decision that has just been made looked at."""
    scratch, terms = scores.scratch, scores.cache.terms[state.columns.of[k].column]
    for n in range(len(state.nodes)):
        tables.verdict[n] = fits(state.nodes[n], state.tasks[k])
    for component in range(len(plan.parts)):
        part = plan.parts[component]
        component_scores(state, plan, scores, k, component, scratch.mask)
        for n in range(len(state.nodes)):
            tables.raw[component, n] = scratch.raw[n]
        for term in range(part.terms_at, part.terms_end):
            for n in range(len(state.nodes)):
                tables.priced[term, n] = scratch.term_values[term] * terms[term, n]
        if part.normalise >= FIRST_TERM_100:
            first, price = part.terms_at, scratch.term_values[part.terms_at]
            treat_first_term(part.normalise, price, terms[first], scratch.mask, tables.priced[first])
        normalise(part.normalise, scratch.mask, scratch.raw, scratch.taking_part[0], luck[0])
        for n in range(len(state.nodes)):
            tables.normal[component, n] = scratch.raw[n]
    combine_nodes(state, plan, scores, k, luck[0], scratch.mask, scratch.taking_part[0])
    for n in range(len(state.nodes)):
        tables.total[n] = scratch.total[n]


@kernel
def explain_pick(state: State, plan: Plan, scores: Scores, k: int, n: int, luck: Any) -> int:
    return pick(state, plan, scores, k, n, luck[1])


# Why a node that fits takes no part.
NOT_AWAKE = "not awake"
LIKE_ANOTHER = "empty, as another node of its type, which stands for it"
NOT_LOOKED_AT = "not looked at: the scheduler stops when it has met enough nodes that fit"


@dataclass(frozen=True)
class Explanation:
    """One decision, node by node in node order. Scores of nodes that do not fit are NaN."""

    datacenter: Datacenter
    mix: Mix
    verdict: NDArray[np.int64]  # of model/fit.py, 0 fits
    offered: NDArray[np.bool_]  # nodes that could be chosen; the others are as if they did not fit
    raw: NDArray[np.float64]  # [components, nodes]
    normalised: NDArray[np.float64]
    weighted: NDArray[np.float64]
    total: NDArray[np.float64]  # [nodes]
    node: int  # the choice, -1: fits nowhere
    gpus: int  # bit set
    priced: NDArray[np.float64]  # [terms, nodes] of all components in a row; a component's raw score is their sum
    # [nodes] in `total`, beside the scores: watts of keeping the node awake for longer; None: nodes do not sleep
    extension_w: NDArray[np.float64] | None = None
    left_out: str = NOT_AWAKE  # why nodes that fit are not offered
    meanings: Mapping[str, str] = field(default_factory=dict)  # of numbered terms, by name
    passed_over: NDArray[np.bool_] | None = None  # [nodes] that fit and are offered, but are not looked at (look.py)

    @property
    def takes_part(self) -> NDArray[np.bool_]:
        """Nodes that fit, are offered and are looked at."""
        fitting: NDArray[np.bool_] = (self.verdict == 0) & self.offered
        return fitting if self.passed_over is None else fitting & ~self.passed_over

    @property
    def reasons(self) -> dict[str, int]:
        """Nodes that do not take part, by the first reason."""
        counts = {words: int((self.verdict == code).sum()) for code, words in enumerate(VERDICT_WORDS) if code != FITS}
        counts[self.left_out] = int(((self.verdict == FITS) & ~self.offered).sum())
        counts[NOT_LOOKED_AT] = 0 if self.passed_over is None else int(self.passed_over.sum())
        return {words: count for words, count in counts.items() if count}

    def reason(self, n: int) -> str:
        """Why node `n` does not take part."""
        verdict = int(self.verdict[n])
        if verdict == FITS and self.passed_over is not None and self.passed_over[n]:
            return NOT_LOOKED_AT
        return self.left_out if verdict == FITS else VERDICT_WORDS[verdict]

    @property
    def order(self) -> NDArray[np.int64]:
        """Nodes that take part, best first (of equals the chosen one, then in node order), then the others."""
        nodes = np.arange(len(self.offered))
        return np.lexsort((nodes, nodes != self.node, np.where(self.takes_part, -self.total, np.inf)))


def explain(
    engine: Engine,
    k: int,
    luck: NDArray[np.float64],
    offered: NDArray[np.bool_] | None = None,
    closed: tuple[int, int] | None = None,
) -> Explanation:
    """The decision that `engine` would make now for class `k`; the state stays as it is.

    `closed`: among the nodes in these states of sleep (first and last), in the place of the nodes awake.
    """
    components, nodes = len(engine.mix.components), len(engine.datacenter)
    offered = np.ones(nodes, dtype=np.bool_) if offered is None else offered
    raw, normal = np.full((components, nodes), np.nan), np.full((components, nodes), np.nan)
    verdict = np.zeros(nodes, dtype=np.int64)
    priced = np.full((int(engine.plan.parts.terms_end[-1]), nodes), np.nan)
    total = np.full(nodes, np.nan)
    tables = Tables(verdict, raw, normal, priced, total)
    if closed is None:
        chosen = int(explain_decision(engine.state, engine.plan, engine.scores, k, luck, offered, tables))
    else:
        chosen = int(explain_closed(engine.state, engine.plan, engine.scores, k, luck, *closed, offered, tables))
    engine.stop_if_faulty()
    gpus = int(explain_pick(engine.state, engine.plan, engine.scores, k, chosen, luck)) if chosen != NOWHERE else 0
    passed_over = None
    if engine.plan.look == WINDOW:
        passed_over = (verdict == FITS) & offered & (engine.scores.scratch.mask < 0)
    for values in (raw, normal, priced, total):
        values[..., (verdict > 0) | ~offered | (False if passed_over is None else passed_over)] = np.nan
    weights = np.array([[component.weight] for component in engine.mix.components])
    scores = (raw, normal, normal * weights, total)
    left_out = NOT_AWAKE if closed is None else LIKE_ANOTHER
    own = (engine.datacenter, engine.mix, verdict, offered)
    words = meanings(engine)
    return Explanation(*own, *scores, chosen, gpus, priced, None, left_out, words, passed_over)


def meanings(engine: Engine) -> dict[str, str]:
    """What numbered terms of the policies stand for, in words."""
    found: dict[str, str] = {}
    for component, part in zip(engine.mix.components, engine.plan.parts, strict=True):
        policy = component.policy
        if policy.say_terms is not None:
            start = int(part.params_at) + (FIRST_PARAM if is_own(policy) else 0)
            found |= policy.say_terms(engine.plan.params[start : int(part.params_end)], engine.datacenter.models)
    return found
