"""Buckets of a column: nodes with equal terms that fit the same classes, so that a choice looks at buckets, not nodes.

Nodes in the same state have the same terms. A column has tens to hundreds of buckets, and new ones become rare as the
datacenter grows. That holds for any prices, so policies whose prices change with every decision use buckets too. Only
the first node of a bucket, in node order, can be chosen. To find it, each bucket counts its nodes per block of nodes:
first the first block with any, then the first node in that block.
A choice over nodes gives the same result (tested). It is used for policies that draw, and for columns that would need
more than MOST_BUCKETS buckets.
"""

from __future__ import annotations

from typing import Any

from wattpack.engine.core.score_cache import ScoreCache, Scores
from wattpack.jit import inner, step

HALF = 0xFFFFFFFF
FACTOR = 0x9E3779  # odd, its bits look random: spreads keys over the places of `ScoreCache.lookup`


@inner
def key_hash(scores: Scores, column: int, fitting: int) -> int:
    """Hash of a key: the classes that fit, and the terms in `Scratch.term_values`.

    A sum of products, which the processor computes in parallel: a chain of products took 60 cycles per score. Halves of
    32 bits and factors below 2**25, so that nothing overflows (run as plain Python, numpy would warn).
    """
    used = scores.cache.used[column]
    mixed: Any = (fitting & HALF) * 3 + (fitting >> 32)
    for i in range(scores.cache.asked[column].used):
        bits = scores.scratch.term_bits[used[i]]
        mixed += (bits & HALF) * (FACTOR + 2 * i) + ((bits >> 32) & HALF) * (2 * FACTOR + 34 * i)
    mixed = ((mixed ^ (mixed >> 31)) & HALF) * FACTOR
    return mixed ^ (mixed >> 23)


@inner
def find_bucket(scores: Scores, column: int, fitting: int, old: int) -> int:
    """The bucket of `column` for nodes that fit the classes `fitting` and have the terms in `Scratch.term_values`.

    If there is none, a new bucket; if there is no room for one, sets `overflow`. `old`: the node's bucket so far, which
    is the likely one, or negative.
    """
    asked = scores.cache.asked[column]
    if old >= 0 and same_key(scores, column, fitting, old):
        return old
    mixed = key_hash(scores, column, fitting)
    place = mixed & (2 * asked.room - 1)
    while scores.cache.lookup[column, place] > 0:
        b = scores.cache.lookup[column, place] - 1
        if same_key(scores, column, fitting, b):
            return int(b)
        place = (place + 1) & (2 * asked.room - 1)
    alone = old >= 0 and scores.cache.buckets[column, old].nodes == 1  # no other node is in it: give it the new key
    few = asked.free == 0 and (asked.buckets == asked.room or 4 * asked.in_use + 32 < 3 * asked.buckets)
    if 2 * asked.entries >= 3 * asked.room or (few and not alone):
        make_room(scores.cache, column)
        if asked.free == 0 and asked.buckets == asked.room and not alone:
            asked.overflow = 1
            return 0
        place = mixed & (2 * asked.room - 1)
        while scores.cache.lookup[column, place] > 0:
            place = (place + 1) & (2 * asked.room - 1)
    if alone:
        new = int(old)
        scores.cache.offers[column, new] = fitting
    elif asked.free > 0:
        asked.free -= 1
        new = int(scores.cache.free[column, asked.free])
    else:
        new = int(asked.buckets)
        asked.buckets += 1
    scores.cache.lookup[column, place] = new + 1
    asked.entries += 1
    bucket = scores.cache.buckets[column, new]
    bucket.hash, bucket.fit = mixed, fitting
    if not alone:
        bucket.first = scores.cache.members.shape[2]
    used = scores.cache.used[column]
    for i in range(asked.used):
        scores.cache.key[column, used[i], new] = scores.scratch.term_values[used[i]]
    return new


@inner
def same_key(scores: Scores, column: int, fitting: int, b: int) -> bool:
    used = scores.cache.used[column]
    for i in range(scores.cache.asked[column].used):
        if scores.cache.key[column, used[i], b] != scores.scratch.term_values[used[i]]:
            return False
    return bool(scores.cache.buckets[column, b].fit == fitting)


@inner
def note_used_terms(scores: Scores, column: int) -> None:
    """Make terms of `Scratch.term_values` that are not 0 for the first time part of the keys of `column`.

    Some terms are always 0 for a class, e.g. the GPU share of CPU-only tasks. Earlier keys are 0 in the new term, as in
    `ScoreCache.key`, so they stay valid. A key may get a second bucket, which does no harm.
    """
    asked, used = scores.cache.asked[column], scores.cache.used[column]
    for i in range(asked.used, len(used)):
        term = used[i]
        if scores.scratch.term_values[term] != 0:
            used[i] = used[asked.used]
            used[asked.used] = term
            asked.used += 1


@step
def make_room(cache: ScoreCache, column: int) -> None:
    """Rebuild the lookup of `column` and list its empty buckets for new keys; double the room if they are few.

    Not done earlier: an empty bucket is often filled again soon, and stale places in the lookup do no harm while they
    are few.
    """
    asked = cache.asked[column]
    if 4 * asked.in_use > 3 * asked.room and asked.room < cache.buckets.shape[1]:
        asked.room *= 2
    for place in range(2 * asked.room):
        cache.lookup[column, place] = 0
    asked.free = 0
    asked.entries = asked.in_use
    for b in range(asked.buckets - 1, -1, -1):
        if cache.buckets[column, b].nodes == 0:
            cache.free[column, asked.free] = b
            asked.free += 1
            continue
        place = cache.buckets[column, b].hash & (2 * asked.room - 1)
        while cache.lookup[column, place] > 0:
            place = (place + 1) & (2 * asked.room - 1)
        cache.lookup[column, place] = b + 1


@inner
def join(cache: ScoreCache, column: int, n: int) -> None:
    """Count node `n` in its bucket, if it has one."""
    asked = cache.asked[column]
    b = cache.bucket[column, n]
    if b < 0:
        return
    asked.feasible += 1
    if asked.overflow != 0:
        return
    bucket = cache.buckets[column, b]
    if bucket.nodes == 0:
        asked.in_use += 1
        cache.offers[column, b] = bucket.fit
    bucket.nodes += 1
    bucket.first = min(bucket.first, n >> cache.block_bits)
    cache.members[column, b, n >> cache.block_bits] += 1


@inner
def leave(cache: ScoreCache, column: int, n: int) -> None:
    """Undo `join`."""
    asked = cache.asked[column]
    b = cache.bucket[column, n]
    if b < 0:
        return
    asked.feasible -= 1
    if asked.overflow != 0:
        return
    bucket = cache.buckets[column, b]
    bucket.nodes -= 1
    cache.members[column, b, n >> cache.block_bits] -= 1
    if bucket.nodes == 0:
        asked.in_use -= 1
        cache.offers[column, b] = 0


@inner
def first_node(cache: ScoreCache, column: int, b: int, other: int) -> int:
    """The first node in node order of bucket `b`, which must not be empty, or `other` if that comes first."""
    bucket = cache.buckets[column, b]
    block = bucket.first
    if block << cache.block_bits > other:
        return other
    while cache.members[column, b, block] == 0:
        block += 1
    bucket.first = block
    n = block << cache.block_bits
    while cache.bucket[column, n] != b:
        n += 1
    return min(n, other)
