"""What filter and score said of each (class, node) pair, kept until the node changes.

A node's verdict and scores for a class of tasks depend on that node alone, so when a task of the class arrives only
the nodes that changed since the class was last asked for are looked at again (the ring `State.changed` names them).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.buckets import BLOCK, BUCKETS, find_bucket, join, leave
from wattpack.engine.plan import Plan
from wattpack.engine.state import CHANGES, State
from wattpack.jit import call_for_int, inner
from wattpack.model.fit import FITS, VERDICTS, fits

# One class of tasks.
ASKED = np.dtype(
    [
        ("seen", np.int64),  # number of the last change taken in, -1: never asked for
        ("buckets", np.int64),  # buckets in use, empty ones between them included
        ("overflow", np.int64),  # 1: too many distinct scores for buckets
        ("feasible", np.int64),  # nodes that fit
        ("refused", np.int64, (len(VERDICTS),)),  # nodes by verdict
    ],
    align=True,
)


class Scores(NamedTuple):
    """Tables by class and node, and scratch that one decision fills and reads."""

    asked: Any  # ASKED records, one a class
    bucket: NDArray[np.int16]  # [classes, nodes] bucket of a node that fits (>= 0), or minus its verdict
    terms: NDArray[np.float64]  # [classes, terms, nodes] meaningless where the node does not fit
    key: NDArray[np.float64]  # [classes, BUCKETS, terms] the scores of a bucket's nodes
    size: NDArray[np.int32]  # [classes, BUCKETS] nodes in a bucket
    first: NDArray[np.int32]  # [classes, BUCKETS] no node of the bucket stands before this block
    members: NDArray[np.uint8]  # [classes, BUCKETS, blocks] nodes of the bucket in each block of BLOCK nodes
    like: NDArray[np.int64]  # [types] scratch: an empty node of the type that has been scored
    raw: NDArray[np.float64]  # [nodes] scratch
    total: NDArray[np.float64]  # [nodes, or BUCKETS if more] scratch
    mask: NDArray[np.int16]  # [nodes] scratch: `bucket` of one class, -1 where a node is not offered
    taking_part: NDArray[np.int64]  # [1] scratch: nodes with mask >= 0
    one: NDArray[np.float64]  # [terms] scratch: terms of one node, prices of one decision


def new_scores(state: State, plan: Plan) -> Scores:
    classes, nodes, terms = len(state.tasks), len(state.nodes), int(plan.parts.terms_end[-1])
    buckets = BUCKETS if plan.bucketed else 1
    asked = np.zeros(classes, dtype=ASKED).view(np.recarray)
    asked.seen = -1
    return Scores(
        asked=asked,
        bucket=np.zeros((classes, nodes), dtype=np.int16),
        terms=np.zeros((classes, terms, nodes)),
        key=np.zeros((classes, buckets, terms)),
        size=np.zeros((classes, buckets), dtype=np.int32),
        first=np.zeros((classes, buckets), dtype=np.int32),
        members=np.zeros((classes, buckets, nodes // BLOCK + 1), dtype=np.uint8),
        like=np.zeros(int(state.nodes.type.max()) + 1, dtype=np.int64),
        raw=np.zeros(nodes),
        total=np.zeros(max(nodes, BUCKETS)),
        mask=np.zeros(nodes, dtype=np.int16),
        taking_part=np.zeros(1, dtype=np.int64),
        one=np.zeros(terms),
    )


@inner
def filter_and_score(state: State, plan: Plan, scores: Scores, k: int) -> None:
    """Steps 1 and 2: bring class `k` up to date."""
    asked = scores.asked[k]
    task = state.tasks[k]
    seen = asked.seen
    first_time = seen < 0
    # Every node, where the class is new or the ring has forgotten some of the changes.
    everything = first_time or state.totals[CHANGES] - seen > len(state.changed)
    candidates = len(state.nodes) if everything else state.totals[CHANGES] - seen
    if first_time:
        for t in range(len(scores.like)):
            scores.like[t] = -1
    for i in range(candidates):
        if everything:
            n = i
            if not first_time and state.nodes[n].changed_at <= seen:
                continue
            bucket = -fits(state.nodes[n], task)
        else:
            change = state.changed[(seen + i) % len(state.changed)]
            n = change.node
            if n < 0:  # it changes again further on
                continue
            bucket = -fits(change, task)
        if bucket == -FITS:
            bucket = score_node(state, plan, scores, k, n, first_time)
        if first_time:
            scores.bucket[k, n] = bucket
            join(scores, k, n)
        elif bucket != scores.bucket[k, n]:
            leave(scores, k, n)
            scores.bucket[k, n] = bucket
            join(scores, k, n)
    asked.seen = state.totals[CHANGES]


@inner
def score_node(state: State, plan: Plan, scores: Scores, k: int, n: int, first_time: bool) -> int:
    """Score node `n`, which fits class `k`, into `scores.terms`. Returns its bucket.

    The first time a class is asked for, empty nodes of one type share one score: the others copy it.
    """
    node = state.nodes[n]
    share = first_time and node.tasks == 0
    like = scores.like[node.type] if share else -1
    if like >= 0:
        for t in range(len(scores.one)):
            scores.terms[k, t, n] = scores.terms[k, t, like]
        return int(scores.bucket[k, like])
    for c in range(len(plan.parts)):
        score_component(state, plan, c, node, state.tasks[k], scores.one)
    for t in range(len(scores.one)):
        scores.terms[k, t, n] = scores.one[t]
    if share:
        scores.like[node.type] = n
    if not plan.bucketed:
        return 0
    return find_bucket(scores, k, -1 if first_time else scores.bucket[k, n])


@inner
def score_component(state: State, plan: Plan, c: int, node: Any, task: Any, terms: Any) -> int:
    """Ask component `c` about one node: fills its part of `terms`, returns the GPU it would use."""
    part = plan.parts[c]
    params = plan.params[part.params_at : part.params_end]
    memory = state.memory[part.memory_at : part.memory_end]
    own = terms[part.terms_at : part.terms_end]
    return call_for_int(plan.score[c], (node, task, state.world, params, memory, own))
