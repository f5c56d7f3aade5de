"""The fast path: nodes of equal scores that fit the same classes of a column are kept in one bucket, so a choice looks
at buckets, not nodes.

Integer scores take few values: a column has some tens of buckets however large the datacenter is. Of a bucket only the
first node in node order can win. To find it, each bucket counts its nodes by block of BLOCK nodes: look for the first
block with any, then inside that block.
The plain scan in decide.py gives the same choice (tested); policies with prices or draws, and columns that would need
more than BUCKETS, use that scan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.jit import inner
from wattpack.model.policy import Normalise

BUCKETS = 256
BLOCK = 64

MIN_MAX_100 = int(Normalise.MIN_MAX_100)
MIN_MAX_0 = int(Normalise.MIN_MAX_0)


@inner
def find_bucket(scores: Any, c: int, fitting: int, old: int) -> int:
    """The bucket of column `c` for nodes that fit the classes `fitting` and have the scores in `scores.one`.

    A new one if there is none, or an overflow. `old`: the likely one, or negative.
    """
    asked = scores.asked[c]
    if old >= 0 and scores.size[c, old] > 0 and same_key(scores, c, fitting, old):
        return old
    free = asked.buckets
    for b in range(asked.buckets):
        if scores.size[c, b] == 0:
            free = b
        elif same_key(scores, c, fitting, b):
            return b
    if free == BUCKETS:
        asked.overflow = 1
        return 0
    if free == asked.buckets:
        asked.buckets += 1
    scores.fit[c, free] = fitting
    for t in range(len(scores.one)):
        scores.key[c, free, t] = scores.one[t]
    scores.first[c, free] = scores.members.shape[2]
    return free


@inner
def same_key(scores: Any, c: int, fitting: int, b: int) -> bool:
    for t in range(len(scores.one)):
        if scores.key[c, b, t] != scores.one[t]:
            return False
    return bool(scores.fit[c, b] == fitting)


@inner
def join(scores: Any, c: int, n: int) -> None:
    """Count node `n` in its bucket, if it has one."""
    asked = scores.asked[c]
    b = scores.bucket[c, n]
    if b < 0:
        return
    asked.feasible += 1
    scores.size[c, b] += 1
    if asked.overflow == 0:
        scores.members[c, b, n // BLOCK] += 1
        scores.first[c, b] = min(scores.first[c, b], n // BLOCK)


@inner
def leave(scores: Any, c: int, n: int) -> None:
    """Undo `join`."""
    asked = scores.asked[c]
    b = scores.bucket[c, n]
    if b < 0:
        return
    asked.feasible -= 1
    scores.size[c, b] -= 1
    if asked.overflow == 0:
        scores.members[c, b, n // BLOCK] -= 1


@inner
def first_node(scores: Any, c: int, b: int) -> int:
    """The first node in node order of a bucket that is not empty."""
    block = scores.first[c, b]
    while scores.members[c, b, block] == 0:
        block += 1
    scores.first[c, b] = block
    n = block * BLOCK
    while scores.bucket[c, n] != b:
        n += 1
    return n


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
def choose_bucket(parts: Any, scores: Any, c: int, bit: int) -> int:
    """Steps 3 to 5 over buckets: the first node of those with the largest sum of weighted normalised scores.

    Only buckets whose nodes fit the class `bit` are chosen from; -1 if there are none.
    """
    sizes, fit, key, buckets, total = scores.size[c], scores.fit[c], scores.key[c], scores.open, scores.total
    count = 0
    for b in range(scores.asked[c].buckets):  # written always and counted only where it is open: no wrong guesses
        buckets[count] = b
        total[count] = 0.0
        count += (sizes[b] > 0) & (fit[b] & bit != 0)
    if count == 0:
        return -1
    for p in range(len(parts)):
        how, weight, t = parts[p].normalise, parts[p].weight, parts[p].terms_at
        low = high = key[buckets[0], t]
        for i in range(count):
            score = key[buckets[i], t]
            low = score if score < low else low
            high = score if score > high else high
        for i in range(count):
            total[i] += weight * normalised(how, key[buckets[i], t], low, high)
    best = total[0]
    for i in range(count):
        best = total[i] if total[i] > best else best
    chosen = scores.bucket.shape[1]
    for i in range(count):
        if total[i] == best and scores.first[c, buckets[i]] * BLOCK <= chosen:
            chosen = min(chosen, first_node(scores, c, buckets[i]))
    return chosen
