"""Drops the moves that a list does not need: without them the others still have room, and the gain is as large."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.faults import NOWHERE
from wattpack.engine.core.node_cost import has_room, node_cost_w
from wattpack.engine.core.state import occupy, settle
from wattpack.jit import kernel, step
from wattpack.model.records import NodeRecord, Records, TaskRecord
from wattpack.optimise.defrag.cost import Board


class Listed(NamedTuple):
    """A list of moves by column, and whether each is still in it. Arrays [moves]."""

    task: NDArray[np.int64]
    source: NDArray[np.int64]
    old: NDArray[np.int64]  # GPUs, bit set
    to: NDArray[np.int64]
    new: NDArray[np.int64]
    kept: NDArray[np.bool_]


@step
def change_copies(board: Board, count: int, n: int, task: TaskRecord, gpus: int, sign: int) -> bool:
    """Add (1) the task to node `n` or remove it (-1), if that is one of the `count` copies; False if it has no room."""
    for copy in range(count):
        if board.touched[copy] == n:
            if sign > 0 and not has_room(board.copies[copy], task, gpus):
                return False
            occupy(board.copies[copy], task, gpus, sign)
    return True


@step
def next_of_task(listed: Listed, m: int) -> int:
    """The next move of the same task; NOWHERE if there is none."""
    for j in range(m + 1, len(listed.task)):
        if listed.kept[j] and listed.task[j] == listed.task[m]:
            return j
    return NOWHERE


@step
def cost_after(board: Board, start: Records[NodeRecord], listed: Listed, m: int, skipped: bool) -> float:
    """Watts (with priced GPUs) of the two nodes of move `m` after the list, with or without that move.

    Infinite if a move then has no room. The other nodes are the same either way. If the task of a skipped move moves
    again later, it moves from its place before `m`.
    """
    board.touched[0] = listed.source[m]
    board.touched[1] = listed.to[m]
    count = 1 if listed.source[m] == listed.to[m] else 2
    for copy in range(count):
        board.copies[copy] = start[board.touched[copy]]
    again = next_of_task(listed, m) if skipped else NOWHERE
    for j in range(len(listed.task)):
        if not listed.kept[j] or (skipped and j == m):
            continue
        a, b = board.touched[0], board.touched[count - 1]
        if j != again and listed.to[j] != a and listed.to[j] != b and listed.source[j] != a and listed.source[j] != b:
            continue
        task, from_ = board.tasks[board.sequence[listed.task[j]]], m if j == again else j
        if j == again and listed.to[j] == listed.source[m] and listed.new[j] == listed.old[m]:
            continue  # the task would move to where it is
        if not change_copies(board, count, listed.to[j], task, listed.new[j], 1):
            return inf
        change_copies(board, count, listed.source[from_], task, listed.old[from_], -1)
    watts = 0.0
    for copy in range(count):
        settle(board.copies[copy], board.world)
        watts += node_cost_w(board.copies[copy], board.worth_w)
    return watts


@kernel
def drop_moves(board: Board, start: Records[NodeRecord], listed: Listed, least_w: float, begin: int, end: int) -> int:
    """Drop moves from `begin` to `end` that gain less than `least_w`; returns how many. `start`: nodes before it."""
    dropped = 0
    for m in range(begin, end):
        if not listed.kept[m]:
            continue
        less_w = cost_after(board, start, listed, m, True) - cost_after(board, start, listed, m, False)
        if less_w >= least_w:
            continue
        again = next_of_task(listed, m)
        listed.kept[m] = False
        dropped += 1
        if again != NOWHERE:
            listed.source[again] = listed.source[m]
            listed.old[again] = listed.old[m]
            if listed.to[again] == listed.source[m] and listed.new[again] == listed.old[m]:
                listed.kept[again] = False
                dropped += 1
    return dropped
