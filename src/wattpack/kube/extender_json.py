"""Names of nodes in a scheduler's messages, read and written by kernels.

A list of 1,213 names as Python strings, looked up one by one, and as many answers put together took half the time of a
request; here a message stays the bytes that it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.jit import inner, kernel

QUOTE, BACKSLASH, COMMA, OPEN, CLOSE = 34, 92, 44, 91, 93
NOT_UNDERSTOOD = -1


class Names(NamedTuple):
    """The names of the nodes, and what is written for each node and score, as bytes one after another."""

    letters: NDArray[np.uint8]
    letters_at: NDArray[np.int64]  # [nodes + 1]
    following: NDArray[np.int64]  # [nodes + 1] which node came after a node in the last list; the first at the end
    slots: NDArray[np.int64]  # hash table of node numbers, a power of two long; -1: free
    pieces: NDArray[np.uint8]
    pieces_at: NDArray[np.int64]  # [nodes * scores + 1]


def new_names(names: Sequence[str], pieces: Sequence[bytes]) -> Names:
    """`pieces`: for each node one for each score, in a row."""
    letters, letters_at = _packed([name.encode() for name in names])
    slots = np.full(1 << (2 * len(names) + 1).bit_length(), -1, dtype=np.int64)
    fill_slots(letters, letters_at, slots)
    following = np.roll(np.arange(len(names) + 1, dtype=np.int64), -1) % max(1, len(names))
    return Names(letters, letters_at, following, slots, *_packed(pieces))


def _packed(texts: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    ends = np.cumsum([0, *(len(text) for text in texts)]).astype(np.int64)
    return np.frombuffer(b"".join(texts) or b"\0", dtype=np.uint8), ends


@inner
def hashed(text: Any, start: int, end: int) -> int:
    value = 2166136261
    for i in range(start, end):
        value = ((value ^ text[i]) * 16777619) & 0xFFFFFFFF
    return value


@kernel
def fill_slots(letters: Any, letters_at: Any, slots: Any) -> None:
    for n in range(len(letters_at) - 1):
        slot = hashed(letters, letters_at[n], letters_at[n + 1]) & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = n


@inner
def find(names: Names, text: Any, start: int, end: int) -> int:
    """The number of the node whose name is text[start:end], or NOT_UNDERSTOOD."""
    slot = hashed(text, start, end) & (len(names.slots) - 1)
    while names.slots[slot] >= 0:
        n = names.slots[slot]
        if names.letters_at[n + 1] - names.letters_at[n] == end - start and begins_with(names, n, text, start):
            return n
        slot = (slot + 1) & (len(names.slots) - 1)
    return NOT_UNDERSTOOD


@inner
def begins_with(names: Names, n: int, text: Any, start: int) -> bool:
    """Whether the name of node `n` stands at text[start]; there must be room for it."""
    at, length = names.letters_at[n], names.letters_at[n + 1] - names.letters_at[n]
    differing = 0
    for i in range(length):
        differing += names.letters[at + i] != text[start + i]
    return differing == 0


@kernel
def read_names(names: Names, text: Any, numbers: Any) -> int:
    """Numbers of the nodes in a JSON list of names, int64[]; returns how many, or NOT_UNDERSTOOD.

    Understood: a valid JSON list of known names without escapes, no more than there is room for. Anything else is left
    to Python.
    """
    count, i, end = 0, 1, len(text)
    nodes = len(names.letters_at) - 1
    before = nodes
    while i < end:
        if text[i] != QUOTE:
            if text[i] == CLOSE:
                return count
            if text[i] != COMMA and text[i] > 32:
                return NOT_UNDERSTOOD
            i += 1
            continue
        if count == len(numbers):
            return NOT_UNDERSTOOD
        start = i + 1
        # Schedulers name nodes in much the same order each time: is it the one that came next in the last list?
        n = names.following[before]
        i = start + names.letters_at[n + 1] - names.letters_at[n]
        if i >= end or text[i] != QUOTE or not begins_with(names, n, text, start):
            i = start
            while i < end and text[i] != QUOTE:
                if text[i] == BACKSLASH:
                    return NOT_UNDERSTOOD
                i += 1
            n = find(names, text, start, i)
            if n == NOT_UNDERSTOOD:
                return NOT_UNDERSTOOD
            names.following[before] = n
        before = n
        numbers[count] = n
        count += 1
        i += 1
    return NOT_UNDERSTOOD


@kernel
def write_scores(names: Names, numbers: Any, score: Any, scores: int, out: Any) -> int:
    """A JSON list with the piece of each node for its score, into `out` (uint8[]); returns its length."""
    out[0] = OPEN
    at = 1
    for i in range(len(numbers)):
        if i > 0:
            out[at] = COMMA
            at += 1
        which = numbers[i] * scores + score[numbers[i]]
        for j in range(names.pieces_at[which], names.pieces_at[which + 1]):
            out[at] = names.pieces[j]
            at += 1
    out[at] = CLOSE
    return at + 1
