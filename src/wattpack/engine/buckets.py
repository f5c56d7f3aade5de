"""The fast path: nodes of equal scores for a class are kept in one bucket, so a choice looks at buckets, not nodes.

Integer scores take few values: a class has some tens of distinct score vectors however large the datacenter is. Of a
bucket only the first node in node order can win. To find it, each bucket counts its nodes by block of BLOCK nodes:
look for the first block with any, then inside that block.
The plain scan in decide.py gives the same choice (tested); policies with prices or draws, and classes with more than
BUCKETS distinct score vectors, use that scan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.jit import inner, step
from wattpack.model.policy import Normalise

BUCKETS = 256
BLOCK = 64

MIN_MAX_100 = int(Normalise.MIN_MAX_100)
MIN_MAX_0 = int(Normalise.MIN_MAX_0)


@inner
def find_bucket(scores: Any, k: int, old: int) -> int:
    """The bucket of class `k` for the scores in `scores.one`; a new one if there is none. `old`: the likely one."""
    asked = scores.asked[k]
    if asked.overflow == 1:
        return 0
    if old >= 0 and scores.size[k, old] > 0 and same_key(scores, k, old):
        return old
    free = asked.buckets
    for b in range(asked.buckets):
        if scores.size[k, b] == 0:
            free = b
        elif same_key(scores, k, b):
            return b
    if free == BUCKETS:
        asked.overflow = 1
        return 0
    if free == asked.buckets:
        asked.buckets += 1
    for t in range(len(scores.one)):
        scores.key[k, free, t] = scores.one[t]
    scores.first[k, free] = scores.members.shape[2]
    return free


@inner
def same_key(scores: Any, k: int, b: int) -> bool:
    for t in range(len(scores.one)):
        if scores.key[k, b, t] != scores.one[t]:
            return False
    return True


@inner
def join(scores: Any, k: int, n: int) -> None:
    """Count node `n` in its bucket, or among the refused."""
    asked = scores.asked[k]
    b = scores.bucket[k, n]
    if b < 0:
        asked.refused[-b] += 1
        return
    asked.feasible += 1
    scores.size[k, b] += 1
    if asked.overflow == 0:
        scores.members[k, b, n // BLOCK] += 1
        scores.first[k, b] = min(scores.first[k, b], n // BLOCK)


@inner
def leave(scores: Any, k: int, n: int) -> None:
    """Undo `join`."""
    asked = scores.asked[k]
    b = scores.bucket[k, n]
    if b < 0:
        asked.refused[-b] -= 1
        return
    asked.feasible -= 1
    scores.size[k, b] -= 1
    if asked.overflow == 0:
        scores.members[k, b, n // BLOCK] -= 1


@step
def first_node(scores: Any, k: int, b: int) -> int:
    """The first node in node order of a bucket that is not empty."""
    block = scores.first[k, b]
    while scores.members[k, b, block] == 0:
        block += 1
    scores.first[k, b] = block
    n = block * BLOCK
    while scores.bucket[k, n] != b:
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


@step
def choose_bucket(parts: Any, scores: Any, k: int) -> int:
    """Steps 3 to 5 over buckets: the first node of those with the largest sum of weighted normalised scores."""
    asked = scores.asked[k]
    total = scores.total
    for b in range(asked.buckets):
        total[b] = 0.0
    for c in range(len(parts)):
        how = parts[c].normalise
        t = parts[c].terms_at
        low, high = np.inf, -np.inf
        for b in range(asked.buckets):
            if scores.size[k, b] > 0:
                low = min(low, scores.key[k, b, t])
                high = max(high, scores.key[k, b, t])
        for b in range(asked.buckets):
            if scores.size[k, b] > 0:
                total[b] += parts[c].weight * normalised(how, scores.key[k, b, t], low, high)
    best = -np.inf
    for b in range(asked.buckets):
        if scores.size[k, b] > 0:
            best = max(best, total[b])
    chosen = len(scores.raw)
    for b in range(asked.buckets):
        if scores.size[k, b] > 0 and total[b] == best:
            chosen = min(chosen, first_node(scores, k, b))
    return chosen
