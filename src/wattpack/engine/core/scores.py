"""What score said of each (column of classes, node) pair, kept until the node changes.

A node's scores for a class of tasks depend on that node alone, so when a task arrives only the nodes are looked at that
changed since its column was last asked for, and of these only those that fitted or fit (`State.touched` says which).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.buckets import (
    CHUNK,
    FIRST_BUCKETS,
    block_bits,
    bucket_room,
    find_bucket,
    join,
    leave,
    note_used_terms,
)
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.state import CHANGES, State
from wattpack.jit import call_for_int, inner, step
from wattpack.model.fit import VERDICTS

ROW_PAD = 40  # rows whose length is a power of two would all want the same places in the processor's cache
REFUSED = -1  # in the place of a bucket: fits no class of the column

# One column.
ASKED = np.dtype(
    [
        ("seen", np.int64),  # number of the last change taken in, -1: never asked for
        ("buckets", np.int64),  # buckets in use, empty ones between them included
        ("in_use", np.int64),  # of the buckets, those with nodes
        ("room", np.int64),  # buckets that `lookup` has places for, twice as many; a power of two
        ("free", np.int64),  # of the buckets, those in `Scores.free`
        ("entries", np.int64),  # places of `lookup` that are taken
        ("used", np.int64),  # terms that its keys are made of
        ("overflow", np.int64),  # 1: too many distinct sets of terms for buckets, 2: a term is not finite (faults.py)
        ("feasible", np.int64),  # nodes that fit a class of the column
    ],
    align=True,
)

# One bucket of a column.
BUCKET = np.dtype(
    [
        ("hash", np.int64),  # of its key: `fit` and the terms of its nodes
        ("fit", np.int64),  # the classes that fit its nodes
        ("nodes", np.int32),  # how many
        ("first", np.int32),  # no node of it stands before this block
    ],
    align=True,
)

# One class of which a task has failed.
FAILURES = np.dtype(
    [
        ("seen", np.int64),  # number of the last change counted, -1: none has failed
        ("refused", np.int64, (len(VERDICTS),)),  # nodes by verdict
    ],
    align=True,
)


class Scores(NamedTuple):
    """Tables by column and node, and scratch that one decision fills and reads. A State has one Scores at a time."""

    asked: Any  # ASKED records, one a column
    bucket: NDArray[np.int16]  # [columns, nodes] bucket of a node that fits a class of the column (>= 0), or REFUSED
    terms: NDArray[np.float64]  # [columns, terms, nodes] terms where there are no buckets (`scatter`)
    buckets: Any  # BUCKET records [columns, buckets]
    key: NDArray[np.float64]  # [columns, terms, buckets] the terms of a bucket's nodes
    offers: NDArray[np.int64]  # [columns, buckets] the classes that a bucket has nodes for
    members: NDArray[np.uint16]  # [columns, buckets, blocks] nodes of the bucket in each block of 2 ** block_bits nodes
    block_bits: int
    lookup: NDArray[np.int16]  # [columns, 2 * buckets] by hash: a bucket + 1, 0: none
    free: NDArray[np.int16]  # [columns, buckets] empty buckets that are not in `lookup`
    used: NDArray[np.int64]  # [columns, used terms] those that keys are made of, then the others: see `note_used_terms`
    failures: Any  # FAILURES records, one a class
    verdict: NDArray[np.int8]  # [classes, nodes] as counted in `failures`
    like: NDArray[np.int64]  # [types] scratch: an empty node of the type that has been scored
    hits: NDArray[np.int64]  # [ring + 1] scratch: places in the ring of changes
    open: NDArray[np.int64]  # [buckets] scratch: buckets that a decision chooses from
    bucket_mask: NDArray[np.int16]  # [buckets] scratch, as the three below but by bucket
    bucket_raw: NDArray[np.float64]
    bucket_total: NDArray[np.float64]
    chunk_best: NDArray[np.float64]  # [buckets / CHUNK] scratch
    priced: NDArray[np.int64]  # [terms] scratch: terms with a price
    raw: NDArray[np.float64]  # [nodes] scratch
    total: NDArray[np.float64]  # [nodes] scratch
    mask: NDArray[np.int16]  # [nodes] scratch: >= 0 for nodes that fit a class and are offered, -1 for others
    taking_part: NDArray[np.int64]  # [1] scratch: nodes with mask >= 0
    one: NDArray[np.float64]  # [terms] scratch: terms of one node, prices of one decision
    one_bits: NDArray[np.int64]  # the same memory, as integers


def new_scores(state: State, plan: Plan) -> Scores:
    classes, columns, nodes = len(state.tasks), len(state.columns.all), len(state.nodes)
    terms, room = int(plan.parts.terms_end[-1]), bucket_room(nodes, plan.priced) if plan.bucketed else FIRST_BUCKETS
    asked = np.zeros(columns, dtype=ASKED).view(np.recarray)
    failures = np.zeros(classes, dtype=FAILURES).view(np.recarray)
    asked.seen = failures.seen = -1
    asked.room = FIRST_BUCKETS
    one = np.zeros(terms)
    return Scores(
        asked=asked,
        bucket=np.zeros((columns, nodes), dtype=np.int16),
        terms=np.empty((columns, terms, nodes)),  # not zeros: where there are buckets it is hardly ever touched
        buckets=np.zeros((columns, room), dtype=BUCKET).view(np.recarray),
        key=np.zeros((columns, terms, room + ROW_PAD)),
        offers=np.zeros((columns, room), dtype=np.int64),
        members=np.zeros((columns, room, (nodes >> block_bits(nodes)) + 1), dtype=np.uint16),
        block_bits=block_bits(nodes),
        lookup=np.zeros((columns, 2 * room), dtype=np.int16),
        free=np.zeros((columns, room), dtype=np.int16),
        used=np.tile(plan.used, (columns, 1)),
        failures=failures,
        verdict=np.zeros((classes, nodes), dtype=np.int8),
        like=np.zeros(int(state.nodes.type.max()) + 1, dtype=np.int64),
        hits=np.zeros(len(state.changed) + 1, dtype=np.int64),
        open=np.zeros(room, dtype=np.int64),
        bucket_mask=np.zeros(room, dtype=np.int16),
        bucket_raw=np.zeros(room),
        bucket_total=np.zeros(room),
        chunk_best=np.zeros(room // CHUNK + 1),
        priced=np.zeros(terms, dtype=np.int64),
        raw=np.zeros(nodes),
        total=np.zeros(nodes),
        mask=np.zeros(nodes, dtype=np.int16),
        taking_part=np.zeros(1, dtype=np.int64),
        one=one,
        one_bits=one.view(np.int64),
    )


@inner
def filter_and_score(state: State, plan: Plan, scores: Scores, c: int) -> None:
    """Steps 1 and 2: bring column `c` up to date."""
    column, asked = state.columns.all[c], scores.asked[c]
    seen, now, ring = asked.seen, state.totals[CHANGES], len(state.changed)
    if seen < 0:
        for t in range(len(scores.like)):
            scores.like[t] = -1
    if seen < 0 or now - seen > ring:  # the column is new, or the ring has forgotten some of the changes
        for n in range(len(state.nodes)):
            if state.nodes[n].changed_at > seen:
                look_at_node(state, plan, scores, c, n)
    else:
        touched = state.touched[column.word]
        start = seen % ring
        hits = find_touched(touched, column.mask, start, min(start + now - seen, ring), scores.hits, 0)
        hits = find_touched(touched, column.mask, 0, start + now - seen - ring, scores.hits, hits)
        for i in range(hits):
            changed: Any = np.int64(state.changed[scores.hits[i]])  # of another type it would be another compile
            look_at_node(state, plan, scores, c, changed)
    asked.seen = now


@inner
def find_touched(touched: Any, mask: int, start: int, end: int, hits: Any, found: int) -> int:
    """Append the places from `start` to `end` with a bit of `mask` to `hits`, which has `found`; returns how many.

    Written always and counted only where it is one: one in ten is, at random, and guessing wrong costs more.
    """
    for at in range(start, end):
        hits[found] = at
        found += touched[at] & mask != 0
    return found


@inner
def look_at_node(state: State, plan: Plan, scores: Scores, c: int, n: int) -> None:
    """Put node `n` into the bucket of column `c` that it belongs to now."""
    first_time = scores.asked[c].seen < 0
    column = state.columns.all[c]
    fitting = state.fit[n, column.word] & column.mask
    state.held[n, column.word] = (state.held[n, column.word] & ~column.mask) | fitting
    bucket = REFUSED
    if fitting != 0:
        bucket = score_node(state, plan, scores, c, n, fitting)
    if first_time:
        scores.bucket[c, n] = bucket
        join(scores, c, n)
    elif bucket != scores.bucket[c, n]:
        leave(scores, c, n)
        scores.bucket[c, n] = bucket
        join(scores, c, n)


@inner
def score_node(state: State, plan: Plan, scores: Scores, c: int, n: int, fitting: int) -> int:
    """Score node `n`, which fits the classes `fitting` of column `c`. Returns its bucket.

    The first time a column is asked for, empty nodes of one type share one score: the others copy it.
    """
    node, asked = state.nodes[n], scores.asked[c]
    share = asked.seen < 0 and node.tasks == 0
    like = scores.like[node.type] if share else -1
    if like >= 0:
        if scattered(plan, asked):
            for t in range(len(scores.one)):
                scores.terms[c, t, n] = scores.terms[c, t, like]
        return int(scores.bucket[c, like])
    for part in range(len(plan.parts)):
        score_component(state, plan, part, node, state.tasks[state.columns.all[c].like], scores.one)
    if share:
        scores.like[node.type] = n
    bucket = 0
    if plan.bucketed and asked.overflow == 0:
        note_used_terms(scores, c)
        bucket = find_bucket(scores, c, fitting, -1 if asked.seen < 0 else scores.bucket[c, n])
        if asked.overflow == 1:
            scatter(scores, c)
    if scattered(plan, asked):
        for t in range(len(scores.one)):
            scores.terms[c, t, n] = scores.one[t]
    return bucket


@inner
def scattered(plan: Plan, asked: Any) -> bool:
    """Whether `scores.terms` is kept. Where there are buckets it would only repeat their keys, at 8 bytes a node."""
    return not plan.bucketed or asked.overflow != 0


@step
def scatter(scores: Scores, c: int) -> None:
    """Fill `scores.terms` of column `c` from the keys of its buckets."""
    for t in range(len(scores.one)):
        for n in range(len(scores.raw)):
            scores.terms[c, t, n] = scores.key[c, t, max(scores.bucket[c, n], 0)]


@inner
def score_component(state: State, plan: Plan, c: int, node: Any, task: Any, terms: Any) -> int:
    """Ask component `c` about one node: fills its part of `terms`, returns the GPU it would use."""
    part = plan.parts[c]
    params = plan.params[part.params_at : part.params_end]
    memory = state.memory[part.memory_at : part.memory_end]
    own = terms[part.terms_at : part.terms_end]
    return call_for_int(plan.score[c], (node, task, state.world, params, memory, own))
