"""The fast path: nodes of equal terms that fit the same classes of a column are kept in one bucket, so a choice looks
at buckets, not nodes.

Nodes in the same state have the same terms: a column has some tens to hundreds of buckets, and far fewer new ones than
nodes as the datacenter grows. That holds whatever the prices are, so policies whose prices change with every decision
are served too. Of a bucket only the first node in node order can win. To find it, each bucket counts its nodes by block
of nodes: look for the first block with any, then inside that block.
The plain scan in choose.py gives the same choice (tested); policies that draw, and columns that would need more buckets
than MOST_BUCKETS, use that scan.
"""

from __future__ import annotations

from typing import Any

from wattpack.jit import inner, step

MOST_BUCKETS = 16_384  # a column; a power of two below 2**15
CHUNK = 64  # buckets that are looked at together for the best
FIXED_PRICE_BUCKETS = 256  # where the prices are fixed: integer scores, few of them
FIRST_BUCKETS = 32  # room that a column starts with; a power of two
HALF = 0xFFFFFFFF
FACTOR = 0x9E3779  # odd, its bits look random: spreads keys over the places of `scores.lookup`


def bucket_room(nodes: int, priced: bool) -> int:
    """The most buckets that a column of a datacenter with so many nodes is given: a power of two.

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


@inner
def key_hash(scores: Any, c: int, fitting: int) -> int:
    """A number that is the same for the same key: classes that fit and the terms in `scores.one`.

    A sum of products, which the processor works out side by side: a chain of them took 60 cycles a score. Halves of 32
    bits and factors below 2**25, so that nothing overflows (as plain Python, without the compiler, numpy would warn).
    """
    used = scores.used[c]
    mixed: Any = (fitting & HALF) * 3 + (fitting >> 32)
    for i in range(scores.asked[c].used):
        bits = scores.one_bits[used[i]]
        mixed += (bits & HALF) * (FACTOR + 2 * i) + ((bits >> 32) & HALF) * (2 * FACTOR + 34 * i)
    mixed = ((mixed ^ (mixed >> 31)) & HALF) * FACTOR
    return mixed ^ (mixed >> 23)


@inner
def find_bucket(scores: Any, c: int, fitting: int, old: int) -> int:
    """The bucket of column `c` for nodes that fit the classes `fitting` and have the terms in `scores.one`.

    A new one if there is none, or an overflow. `old`: the likely one, or negative.
    """
    asked = scores.asked[c]
    if old >= 0 and same_key(scores, c, fitting, old):
        return old
    mixed = key_hash(scores, c, fitting)
    place = mixed & (2 * asked.room - 1)
    while scores.lookup[c, place] > 0:
        b = scores.lookup[c, place] - 1
        if same_key(scores, c, fitting, b):
            return int(b)
        place = (place + 1) & (2 * asked.room - 1)
    alone = old >= 0 and scores.buckets[c, old].nodes == 1  # the node keeps its bucket to itself: a new key for it
    few = asked.free == 0 and (asked.buckets == asked.room or 4 * asked.in_use + 32 < 3 * asked.buckets)
    if 2 * asked.entries >= 3 * asked.room or (few and not alone):
        make_room(scores, c)
        if asked.free == 0 and asked.buckets == asked.room and not alone:
            asked.overflow = 1
            return 0
        place = mixed & (2 * asked.room - 1)
        while scores.lookup[c, place] > 0:
            place = (place + 1) & (2 * asked.room - 1)
    if alone:
        new = int(old)
        scores.offers[c, new] = fitting
    elif asked.free > 0:
        asked.free -= 1
        new = int(scores.free[c, asked.free])
    else:
        new = int(asked.buckets)
        asked.buckets += 1
    scores.lookup[c, place] = new + 1
    asked.entries += 1
    bucket = scores.buckets[c, new]
    bucket.hash, bucket.fit = mixed, fitting
    if not alone:
        bucket.first = scores.members.shape[2]
    used = scores.used[c]
    for i in range(asked.used):
        scores.key[c, used[i], new] = scores.one[used[i]]
    return new


@inner
def same_key(scores: Any, c: int, fitting: int, b: int) -> bool:
    used = scores.used[c]
    for i in range(scores.asked[c].used):
        if scores.key[c, used[i], b] != scores.one[used[i]]:
            return False
    return bool(scores.buckets[c, b].fit == fitting)


@inner
def note_used_terms(scores: Any, c: int) -> None:
    """Move the terms in `scores.one` that are not 0 for the first time to those that keys of column `c` are made of.

    Some terms are 0 throughout for some classes: no part of a GPU is taken by tasks without. Keys made before are 0
    there, as they are in `scores.key`; a key that is made again may get a second bucket: no harm.
    """
    asked, used = scores.asked[c], scores.used[c]
    for i in range(asked.used, len(used)):
        t = used[i]
        if scores.one[t] != 0:
            used[i] = used[asked.used]
            used[asked.used] = t
            asked.used += 1


@step
def make_room(scores: Any, c: int) -> None:
    """Fill the lookup of column `c` anew, and find its empty buckets, for new keys; twice the room if they are few.

    Only now: a bucket that empties is often filled again soon, and a place whose bucket has another key now does no
    harm while such places are few.
    """
    asked = scores.asked[c]
    if 4 * asked.in_use > 3 * asked.room and asked.room < scores.buckets.shape[1]:
        asked.room *= 2
    for place in range(2 * asked.room):
        scores.lookup[c, place] = 0
    asked.free = 0
    asked.entries = asked.in_use
    for b in range(asked.buckets - 1, -1, -1):
        if scores.buckets[c, b].nodes == 0:
            scores.free[c, asked.free] = b
            asked.free += 1
            continue
        place = scores.buckets[c, b].hash & (2 * asked.room - 1)
        while scores.lookup[c, place] > 0:
            place = (place + 1) & (2 * asked.room - 1)
        scores.lookup[c, place] = b + 1


@inner
def join(scores: Any, c: int, n: int) -> None:
    """Count node `n` in its bucket, if it has one."""
    asked = scores.asked[c]
    b = scores.bucket[c, n]
    if b < 0:
        return
    asked.feasible += 1
    if asked.overflow != 0:
        return
    bucket = scores.buckets[c, b]
    if bucket.nodes == 0:
        asked.in_use += 1
        scores.offers[c, b] = bucket.fit
    bucket.nodes += 1
    bucket.first = min(bucket.first, n >> scores.block_bits)
    scores.members[c, b, n >> scores.block_bits] += 1


@inner
def leave(scores: Any, c: int, n: int) -> None:
    """Undo `join`."""
    asked = scores.asked[c]
    b = scores.bucket[c, n]
    if b < 0:
        return
    asked.feasible -= 1
    if asked.overflow != 0:
        return
    bucket = scores.buckets[c, b]
    bucket.nodes -= 1
    scores.members[c, b, n >> scores.block_bits] -= 1
    if bucket.nodes == 0:
        asked.in_use -= 1
        scores.offers[c, b] = 0


@inner
def first_node(scores: Any, c: int, b: int, other: int) -> int:
    """The first node in node order of bucket `b`, which is not empty, or `other` if that stands before."""
    bucket = scores.buckets[c, b]
    block = bucket.first
    if block << scores.block_bits > other:
        return other
    while scores.members[c, b, block] == 0:
        block += 1
    bucket.first = block
    n = block << scores.block_bits
    while scores.bucket[c, n] != b:
        n += 1
    return min(n, other)
