"""Fast JSON for the extender: node names to node numbers, and scores to the answer of `prioritize`, by kernels.

A general decoder makes Python strings of 1,213 names, looks each up, and encodes as many answers: that took half the
time of a request. These kernels work on the bytes of a message; what they do not read, `ranking.py` decodes in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.jit import inner, kernel

QUOTE, BACKSLASH, COMMA, OPEN, CLOSE = 34, 92, 44, 91, 93
FALL_BACK = -1  # not read by the kernel: decode it in Python


class NameTable(NamedTuple):
    """The nodes' names, and the JSON of each node with each score: texts packed into one array, with their offsets."""

    letters: NDArray[np.uint8]  # the names
    letters_at: NDArray[np.int64]  # [nodes + 1]
    following: NDArray[np.int64]  # [nodes + 1] the node after each one in the last list; at the end its first node
    slots: NDArray[np.int64]  # hash table of node numbers; its length is a power of two; -1: free
    pieces: NDArray[np.uint8]  # `{"Host":...,"Score":...}`
    pieces_at: NDArray[np.int64]  # [nodes * scores + 1]


def new_name_table(names: Sequence[str], pieces: Sequence[bytes]) -> NameTable:
    """`pieces`: the JSON of the first node with score 0, 1, ..., then of the second node, and so on."""
    letters, letters_at = _packed([name.encode() for name in names])
    slots = np.full(1 << (2 * len(names) + 1).bit_length(), -1, dtype=np.int64)
    fill_slots(letters, letters_at, slots)
    following = np.roll(np.arange(len(names) + 1, dtype=np.int64), -1) % max(1, len(names))
    return NameTable(letters, letters_at, following, slots, *_packed(pieces))


def _packed(texts: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    ends = np.cumsum([0, *(len(text) for text in texts)]).astype(np.int64)
    return np.frombuffer(b"".join(texts) or b"\0", dtype=np.uint8), ends


@inner
def hashed(text: Any, start: int, end: int) -> int:
    """FNV-1a of text[start:end], 32 bits."""
    value = 2166136261
    for i in range(start, end):
        value = ((value ^ text[i]) * 16777619) & 0xFFFFFFFF
    return value


@kernel
def fill_slots(letters: Any, letters_at: Any, slots: Any) -> None:
    """Put every node into the hash table `slots`, which is modified; a taken slot leads to the next one."""
    for n in range(len(letters_at) - 1):
        slot = hashed(letters, letters_at[n], letters_at[n + 1]) & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = n


@inner
def find(names: NameTable, text: Any, start: int, end: int) -> int:
    """The number of the node whose name is text[start:end], or FALL_BACK."""
    slot = hashed(text, start, end) & (len(names.slots) - 1)
    while names.slots[slot] >= 0:
        n = names.slots[slot]
        if names.letters_at[n + 1] - names.letters_at[n] == end - start and begins_with(names, n, text, start):
            return n
        slot = (slot + 1) & (len(names.slots) - 1)
    return FALL_BACK


@inner
def begins_with(names: NameTable, n: int, text: Any, start: int) -> bool:
    """Whether text[start:] begins with the name of node `n`; `text` must be long enough."""
    at, length = names.letters_at[n], names.letters_at[n + 1] - names.letters_at[n]
    differing = 0
    for i in range(length):
        differing += names.letters[at + i] != text[start + i]
    return differing == 0


@kernel
def read_names(names: NameTable, text: Any, numbers: Any) -> int:
    """Read the node numbers of a JSON list of names, uint8[], into `numbers`, int64[]; returns how many, or FALL_BACK.

    `text` must be valid JSON. Read are lists of known names without escapes, at most as many as `numbers` has places.
    """
    count, i, end = 0, 1, len(text)
    nodes = len(names.letters_at) - 1
    before = nodes
    while i < end:
        if text[i] != QUOTE:
            if text[i] == CLOSE:
                return count
            if text[i] != COMMA and text[i] > 32:
                return FALL_BACK
            i += 1
            continue
        if count == len(numbers):
            return FALL_BACK
        start = i + 1
        # Schedulers name nodes in almost the same order each time: try the node that came next in the last list first.
        n = names.following[before]
        i = start + names.letters_at[n + 1] - names.letters_at[n]
        if i >= end or text[i] != QUOTE or not begins_with(names, n, text, start):
            i = start
            while i < end and text[i] != QUOTE:
                if text[i] == BACKSLASH:
                    return FALL_BACK
                i += 1
            n = find(names, text, start, i)
            if n == FALL_BACK:
                return FALL_BACK
            names.following[before] = n
        before = n
        numbers[count] = n
        count += 1
        i += 1
    return FALL_BACK


@kernel
def write_scores(names: NameTable, numbers: Any, score: Any, scores: int, out: Any) -> int:
    """Write the JSON list of the nodes `numbers` with their `score` into `out`, uint8[]; returns its length."""
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
