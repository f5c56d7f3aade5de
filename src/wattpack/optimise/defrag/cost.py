"""Kernels: the gain of a chain of moves, by the cost of the nodes it touches (engine/core/node_cost.py).

A chain is several moves that pay off together: the tasks of one GPU, of one node, of one socket, or those that block a
large task. A chain is tried on copies of the nodes it touches; only `move_task` changes the nodes themselves.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.faults import NOWHERE
from wattpack.engine.core.node_cost import best_gpus, has_room, node_cost_w
from wattpack.engine.core.state import State, occupy, settle
from wattpack.jit import kernel, step
from wattpack.model.nodes import NODE
from wattpack.model.policy import World
from wattpack.model.records import Floats, Integers, NodeRecord, Records, RecordTable, SmallIntegers, TaskRecord

FREE_CHOICE = -1  # the last task of a chain may go anywhere
MAX_TOUCHED = 64  # nodes that one chain may touch


class Board(NamedTuple):
    """A datacenter with tasks on it, the costs of placing each class, and scratch. Arrays only, for kernels."""

    nodes: Any  # recarray of NODE, settled
    tasks: RecordTable[TaskRecord]  # the classes
    world: World
    worth_w: float  # watts that a GPU which the target workload can use is worth
    sequence: NDArray[np.int32]  # class of each task
    node: NDArray[np.int32]  # of each task, NOWHERE for none
    gpus: NDArray[np.int32]  # of each task, bit set
    costs: NDArray[np.float64]  # [classes, nodes] watts that a task would add, infinite where it does not fit
    touched: NDArray[np.int64]  # [MAX_TOUCHED] scratch: nodes that a chain touches
    copies: Records[NodeRecord]  # scratch: those nodes during and after the chain


def new_board(state: State, sequence: SmallIntegers, node: SmallIntegers, gpus: SmallIntegers, worth_w: float) -> Board:
    """A board with copies of what moves change. `sequence`, `node`, `gpus`: class and place of each task on `state`."""
    nodes = state.nodes.copy()
    copies: Any = np.zeros(MAX_TOUCHED, dtype=NODE).view(np.recarray)
    return Board(
        nodes,
        state.tasks,
        state.world,
        float(worth_w),
        np.ascontiguousarray(sequence, dtype=np.int32),
        node.astype(np.int32),
        gpus.astype(np.int32),
        np.zeros((len(state.tasks), len(nodes))),
        np.zeros(MAX_TOUCHED, dtype=np.int64),
        copies,
    )


@kernel
def fill_costs(board: Board, which: Integers) -> None:
    """Refresh the costs on the nodes of `which`."""
    for at in range(len(which)):
        n = which[at]
        for k in range(len(board.tasks)):
            board.costs[k, n] = best_gpus(board.nodes[n], board.tasks[k], board.world, board.worth_w, 0)[0]


@step
def overlay(board: Board, n: int, count: int) -> int:
    """Position of the copy of node `n` among the `count` touched ones; makes the copy, at `count`, if there is none."""
    for t in range(count):
        if board.touched[t] == n:
            return t
    board.touched[count] = n
    board.copies[count] = board.nodes[n]
    return count


@step
def cheapest_untouched(board: Board, k: int, count: int, aim: int) -> int:
    """The node where a task of class `k` adds least, except `aim` and touched ones; NOWHERE if none has room."""
    best, chosen = inf, NOWHERE
    for n in range(len(board.nodes)):
        if board.costs[k, n] < best and n != aim:
            is_touched = False
            for t in range(count):
                is_touched |= board.touched[t] == n
            if not is_touched:
                best, chosen = board.costs[k, n], n
    return chosen


@step
def choose_place(board: Board, k: int, count: int, source: int, emptied: int, leaving: bool, aim: int) -> Any:
    """(node, GPUs) where a task of class `k` adds least, given the touched nodes now; NOWHERE if none has room."""
    task, world, worth_w = board.tasks[k], board.world, board.worth_w
    best, taken = inf, 0
    chosen = cheapest_untouched(board, k, count, aim)
    if chosen != NOWHERE:
        best, taken = best_gpus(board.nodes[chosen], task, world, worth_w, 0)
    for t in range(count):
        own = t == source
        if board.touched[t] == aim or (own and (leaving or task.kind != 0)):
            continue
        added, bits = best_gpus(board.copies[t], task, world, worth_w, emptied if own else 0)
        if added < best:
            best, chosen, taken = added, board.touched[t], bits
    return chosen, taken


@step
def try_chain(board: Board, chain: Integers, leaving: bool, aim: int, to_node: Integers, to_gpus: Integers) -> float:
    """Watts (with priced GPUs) gained by moving the tasks of `chain` one after another; -inf if one has no room.

    A task holds its old place until it has its new one. `leaving`: the tasks must leave their node; otherwise sharing
    tasks may go to another GPU of it, but to none that the chain empties. `aim`: the node that the last task must go to
    and the others must avoid, or FREE_CHOICE. Fills to_node and to_gpus, one per task.
    """
    emptied = 0
    for at in range(len(chain)):
        emptied |= board.gpus[chain[at]]
    count = 0
    for at in range(len(chain)):
        if count + 3 > MAX_TOUCHED:
            return -inf
        i = chain[at]
        # int64, as in all other calls of these steps: another type would be compiled again
        where: Any = (np.int64(board.sequence[i]), np.int64(board.node[i]), np.int64(board.gpus[i]))
        k, home, old = where
        task = board.tasks[k]
        source = overlay(board, home, count)
        count = max(count, source + 1)
        if aim != FREE_CHOICE and at == len(chain) - 1:
            there = overlay(board, aim, count)
            count = max(count, there + 1)
            added, taken = best_gpus(board.copies[there], task, board.world, board.worth_w, 0)
            chosen = NOWHERE if added == inf else aim
        else:
            chosen, taken = choose_place(board, k, count, source, emptied, leaving, aim)
        if chosen == NOWHERE:
            return -inf
        there = overlay(board, chosen, count)
        count = max(count, there + 1)
        change_settled(board.copies[there], task, taken, 1, board.world)
        change_settled(board.copies[source], task, old, -1, board.world)
        to_node[at] = chosen
        to_gpus[at] = taken
    gain = 0.0
    for t in range(count):
        before, after = board.nodes[board.touched[t]], board.copies[t]
        gain += node_cost_w(before, board.worth_w) - node_cost_w(after, board.worth_w)
    return gain


@step
def change_settled(node: NodeRecord, task: TaskRecord, gpus: int, sign: int, world: World) -> None:
    occupy(node, task, gpus, sign)
    settle(node, world)


@kernel
def try_chains(
    board: Board,
    starts: Integers,
    members: Integers,
    leaving: NDArray[np.bool_],
    aims: Integers,
    gains: Floats,
    to_node: Integers,
    to_gpus: Integers,
) -> None:
    """`try_chain` for many: chain i is members[starts[i]:starts[i + 1]]. Fills gains [chains], to_node and to_gpus."""
    for i in range(len(starts) - 1):
        at, end = starts[i], starts[i + 1]
        gains[i] = try_chain(board, members[at:end], leaving[i], aims[i], to_node[at:end], to_gpus[at:end])


@kernel
def move_task(board: Board, i: int, to: int, new: int) -> bool:
    """Put task `i` on GPUs `new` of node `to`, then take it off its old place; False and no change without room."""
    task, there = board.tasks[board.sequence[i]], board.nodes[to]
    if not has_room(there, task, new):
        return False
    change_settled(there, task, new, 1, board.world)
    old: Any = np.int64(board.gpus[i])
    change_settled(board.nodes[board.node[i]], task, old, -1, board.world)
    board.node[i] = to
    board.gpus[i] = new
    return True
