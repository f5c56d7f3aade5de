"""Beam search for the best list of single moves on a few nodes: level by level, equal states visited once.

While no state is dropped, it finds the best list of each length, including moves that cost before others gain. On
larger clusters only the best states of a level are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.model.nodes import MAX_GPUS, NODE
from wattpack.optimise.defrag.carry_out import Step
from wattpack.optimise.defrag.cost import Board
from wattpack.optimise.defrag.steps import (
    CHUNK_BITS,
    CHUNKS,
    KEY_MASK,
    NANOWATTS,
    Found,
    Steps,
    expand,
    note_start,
)

LOOKED_AT = (400_000, 100_000)  # most moves tried per level, before level 4 and from there on: 0.2 s and 0.05 s
WIDE_LEVELS = 4
MOST_LOOKED_AT = 2_000_000  # in all
MOST_FOUND = 1 << 19
SLOTS = 1 << 22
SLICE = 20_000  # moves tried before Python sees a Ctrl-C: 10 ms
PATIENCE = 8  # levels without a better list after which the search ends
MOST_MOVES = 2_000  # tasks x nodes


def is_small(board: Board) -> bool:
    """Whether the cluster is small enough for a level of the search to keep enough states."""
    return int((board.node >= 0).sum()) * len(board.nodes) <= MOST_MOVES


def new_steps(board: Board, which: NDArray[np.int64]) -> Steps:
    task = np.flatnonzero(np.isin(board.node, which)).astype(np.int64)
    start = np.stack([np.searchsorted(which, board.node[task]), board.gpus[task]]).astype(np.int32)
    numbers = np.random.Generator(np.random.PCG64(1))  # keys of states; any seed would do

    def keys(*shape: int) -> NDArray[np.int64]:
        return numbers.integers(1, KEY_MASK, size=shape, dtype=np.int64)

    scratch: Any = np.zeros(len(which) + 2, dtype=NODE).view(np.recarray)
    found = Found(
        parent=np.zeros(MOST_FOUND, dtype=np.int32),
        task=np.zeros(MOST_FOUND, dtype=np.int32),
        to=np.zeros(MOST_FOUND, dtype=np.int32),
        gpus=np.zeros(MOST_FOUND, dtype=np.int32),
        gain_nw=np.zeros(MOST_FOUND, dtype=np.int64),
        area_nw=np.zeros(MOST_FOUND, dtype=np.int64),
    )
    return Steps(
        which=which,
        task=task,
        start=start,
        worth_mw=round(board.worth_w * 1000),
        place=start[None].copy(),
        gain_nw=np.zeros(1, dtype=np.int64),
        area_nw=np.zeros(1, dtype=np.int64),
        found=found,
        counts=np.zeros(3, dtype=np.int64),
        seen=np.zeros((2, SLOTS), dtype=np.int64),
        class_key=keys(len(board.tasks)),
        type_key=keys(int(board.nodes.type.max()) + 1),
        mixer=keys(CHUNKS, 1 << CHUNK_BITS),
        nodes=scratch,
        node_cost_nw=np.zeros(len(which), dtype=np.int64),
        node_key=np.zeros(len(which), dtype=np.int64),
        on_gpu=np.zeros(MAX_GPUS, dtype=np.int64),
    )


class Level(NamedTuple):
    """The moves that led to the states of a level, to trace a list back."""

    parent: NDArray[np.int32]
    task: NDArray[np.int32]
    to: NDArray[np.int32]
    gpus: NDArray[np.int32]


def best_steps(board: Board, most: int, least_w: float, chain: int) -> list[Step]:
    """At most `most` moves with the largest gain less `least_w` per move, all numbered `chain`."""
    which = np.arange(len(board.nodes))
    steps = new_steps(board, which)
    note_start(board, steps)
    levels: list[Level] = []
    best_nw, best = 0, (0, 0)  # gain less the price of the moves; level and state
    looked_at = max(1, len(steps.task) * len(which))  # moves tried from one state, about
    total = 0
    for depth in range(1, most + 1):
        steps.counts[:2] = 0
        states = len(steps.gain_nw)
        stride = max(1, SLICE // looked_at)
        for begin in range(0, states, stride):
            expand(board, steps, begin, min(begin + stride, states), depth)
        count = int(steps.counts[0])
        total += int(steps.counts[1])
        if count == 0:
            break
        looked_at = max(1, int(steps.counts[1]) // states)
        found = steps.found
        width = max(1, LOOKED_AT[depth >= WIDE_LEVELS] // looked_at)
        kept = np.lexsort((-found.area_nw[:count], -found.gain_nw[:count]))[:width]
        level = Level(found.parent[kept], found.task[kept], found.to[kept], found.gpus[kept])
        levels.append(level)
        place, each = steps.place[level.parent], np.arange(len(kept))
        place[each, 0, level.task], place[each, 1, level.task] = level.to, level.gpus
        gain_nw = found.gain_nw[kept]
        steps = steps._replace(place=place, gain_nw=gain_nw, area_nw=found.area_nw[kept])
        value_nw = int(gain_nw[0]) - round(depth * least_w * NANOWATTS)
        if value_nw > best_nw:
            best_nw, best = value_nw, (depth, 0)
        elif depth - best[0] >= PATIENCE:
            break
        if total >= MOST_LOOKED_AT:
            break
    return way_to(steps, levels, *best, chain)


def way_to(steps: Steps, levels: Sequence[Level], depth: int, state: int, chain: int) -> list[Step]:
    way: list[Step] = []
    for level in reversed(levels[:depth]):
        task, to, gpus = int(level.task[state]), int(level.to[state]), int(level.gpus[state])
        way.append(Step(chain, int(steps.task[task]), int(steps.which[to]), gpus))
        state = int(level.parent[state])
    return way[::-1]
