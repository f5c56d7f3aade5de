"""The cache of scores and the scratch of a decision: their arrays and how large they are.

scores.py fills the cache, buckets.py keeps its buckets; both belong to one State.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.plan import Plan
from wattpack.engine.core.records import Bucket, ColumnState, Failures, Records, RecordTable
from wattpack.engine.core.state import State
from wattpack.model.fit import VERDICTS

MOST_BUCKETS = 16_384  # a column; a power of two below 2**15
CHUNK = 64  # buckets that are searched together for the best
FIXED_PRICE_BUCKETS = 256  # enough where prices are fixed: scores are integers with few values
FIRST_BUCKETS = 32  # room that a column starts with; a power of two
ROW_PAD = 40  # rows whose length is a power of two would compete for the same lines of the processor's cache

# The state of one column of the cache.
COLUMN_STATE = np.dtype(
    [
        ("seen", np.int64),  # number of the last change that the column has seen, -1: it was never asked for
        ("buckets", np.int64),  # buckets in use, including empty ones between them
        ("in_use", np.int64),  # buckets with nodes
        ("room", np.int64),  # buckets that fit into `lookup`, which has twice as many places; a power of two
        ("free", np.int64),  # buckets listed in `ScoreCache.free`
        ("entries", np.int64),  # taken places of `lookup`
        ("used", np.int64),  # terms that are part of its keys
        ("overflow", np.int64),  # 1: too many distinct keys for buckets, 2: a term is not finite (faults.py)
        ("feasible", np.int64),  # nodes that fit a class of the column
    ],
    align=True,
)

# One bucket of a column.
BUCKET = np.dtype(
    [
        ("hash", np.int64),  # of its key: `fit` and the terms of its nodes
        ("fit", np.int64),  # classes that fit its nodes
        ("nodes", np.int32),  # number of nodes
        ("first", np.int32),  # no earlier block has a node of this bucket
    ],
    align=True,
)

# One class, once a task of it has failed.
FAILURES = np.dtype(
    [
        ("seen", np.int64),  # number of the last change that was counted, -1: no task has failed
        ("refused", np.int64, (len(VERDICTS),)),  # nodes by verdict
    ],
    align=True,
)


class ScoreCache(NamedTuple):
    """Cached scores per (column, node), refreshed when the node changes."""

    asked: Records[ColumnState]  # [columns]
    bucket: NDArray[np.int16]  # [columns, nodes] the node's bucket (>= 0), or REFUSED if it fits no class of the column
    terms: NDArray[np.float64]  # [columns, terms, nodes] filled only for columns without buckets (`scatter`)
    buckets: RecordTable[Bucket]  # [columns, buckets]
    key: NDArray[np.float64]  # [columns, terms, buckets] the terms of a bucket's nodes
    offers: NDArray[np.int64]  # [columns, buckets] classes that fit the bucket's nodes, 0 for an empty bucket
    members: NDArray[np.uint16]  # [columns, buckets, blocks] nodes of the bucket in each block of 2 ** block_bits nodes
    block_bits: int
    lookup: NDArray[np.int16]  # [columns, 2 * buckets] hash table: a bucket + 1, 0: none
    free: NDArray[np.int16]  # [columns, buckets] empty buckets that are not in `lookup`
    used: NDArray[np.int64]  # [columns, used terms] first the terms that are part of keys: see `note_used_terms`
    failures: Records[Failures]  # [classes]
    verdict: NDArray[np.int8]  # [classes, nodes] as counted in `failures`


class Scratch(NamedTuple):
    """Arrays that one decision fills and reads; what an earlier decision left in them means nothing."""

    like: NDArray[np.int64]  # [types] an empty node of the type that has been scored, -1: none
    hits: NDArray[np.int64]  # [ring + 1] places in the ring of changes
    fetched: NDArray[np.int64]  # [1] what `fetch_buckets` writes
    open_buckets: NDArray[np.int64]  # [buckets] buckets with nodes that fit the class
    bucket_mask: NDArray[np.int16]  # [buckets] >= 0 for buckets with nodes that fit the class
    bucket_raw: NDArray[np.float64]  # [buckets] scores of one component
    bucket_total: NDArray[np.float64]  # [buckets] weighted sums
    chunk_best: NDArray[np.float64]  # [buckets / CHUNK]
    priced: NDArray[np.int64]  # [terms] terms with a price
    mask: NDArray[np.int16]  # [nodes] >= 0 for nodes that fit the class and are offered
    taking_part: NDArray[np.int64]  # [1] nodes with mask >= 0
    raw: NDArray[np.float64]  # [nodes] scores of one component
    total: NDArray[np.float64]  # [nodes] weighted sums
    met: NDArray[np.int32]  # [nodes + 1] the nodes that are looked at, in the order in which they are met
    below: NDArray[np.float64]  # [nodes + 1] by place in `met`: the largest total there and below it in the heap
    term_values: NDArray[np.float64]  # [terms] terms of the node that is scored, or prices of this decision
    term_bits: NDArray[np.int64]  # the memory of `term_values` as integers


class Scores(NamedTuple):
    """A State has one of these at a time."""

    cache: ScoreCache
    scratch: Scratch


def bucket_room(nodes: int, priced: bool) -> int:
    """The number of buckets that a column can have in a datacenter of `nodes` nodes: a power of two.

    No more than needed: memory that is touched for the first time costs (a tenth of a run with twice the room). In
    steady states of 1,213 nodes the columns of `ocs` had at most 386 buckets with nodes in them; at 121,300 nodes the
    largest had 12,970, empty ones included. With fixed prices the largest numbers are 86 and 149.
    """
    return min(MOST_BUCKETS, max(FIXED_PRICE_BUCKETS, 1 << (nodes // 4).bit_length() if priced else 0))


def block_bits(nodes: int) -> int:
    """Blocks have 2 ** this nodes: 64 in a small datacenter, 1,024 in one of 100,000 nodes.

    So a search for a first node looks at some tens to hundreds of blocks, then at as many nodes, and the counts stay
    small (of 64 nodes each: 1 GB for `ocs` at 121,300 nodes, and 4 us a decision of cache misses; measured).
    """
    return max(6, nodes.bit_length() - 7)


def new_scores(state: State, plan: Plan) -> Scores:
    return Scores(new_cache(state, plan), new_scratch(state, plan))


def bucket_count(state: State, plan: Plan) -> int:
    """The most buckets of a column."""
    return bucket_room(len(state.nodes), plan.priced) if plan.bucketed else FIRST_BUCKETS


def new_cache(state: State, plan: Plan) -> ScoreCache:
    classes, columns, nodes = len(state.tasks), len(state.columns.all), len(state.nodes)
    terms, room = int(plan.parts.terms_end[-1]), bucket_count(state, plan)
    asked = np.zeros(columns, dtype=COLUMN_STATE).view(np.recarray)
    failures = np.zeros(classes, dtype=FAILURES).view(np.recarray)
    asked.seen = failures.seen = -1
    asked.room = FIRST_BUCKETS
    return ScoreCache(
        asked=asked,
        bucket=np.zeros((columns, nodes), dtype=np.int16),
        terms=np.empty((columns, terms, nodes)),  # not zeros: memory that is hardly ever touched costs nothing
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
    )


def new_scratch(state: State, plan: Plan) -> Scratch:
    nodes, terms, room = len(state.nodes), int(plan.parts.terms_end[-1]), bucket_count(state, plan)
    term_values = np.zeros(terms)
    return Scratch(
        like=np.zeros(int(state.nodes.type.max()) + 1, dtype=np.int64),
        hits=np.zeros(len(state.changed) + 1, dtype=np.int64),
        fetched=np.zeros(1, dtype=np.int64),
        open_buckets=np.zeros(room, dtype=np.int64),
        bucket_mask=np.zeros(room, dtype=np.int16),
        bucket_raw=np.zeros(room),
        bucket_total=np.zeros(room),
        chunk_best=np.zeros(room // CHUNK + 1),
        priced=np.zeros(terms, dtype=np.int64),
        mask=np.zeros(nodes, dtype=np.int16),
        taking_part=np.zeros(1, dtype=np.int64),
        raw=np.zeros(nodes),
        total=np.zeros(nodes),
        met=np.zeros(nodes + 1, dtype=np.int32),
        below=np.zeros(nodes + 1),
        term_values=term_values,
        term_bits=term_values.view(np.int64),
    )
