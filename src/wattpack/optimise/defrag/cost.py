"""Kernels: what a chain of moves would bring, by the cost of the nodes it touches (engine/core/node_cost.py).

A chain is several moves that are worth something together: the tasks of one GPU, of one node, of one socket, or those
that stand in the way of a large task. Nothing here changes a node: a chain is tried on copies of the nodes it touches.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.node_cost import best_gpus, has_room, node_cost_w
from wattpack.engine.core.state import occupy, settle
from wattpack.jit import kernel, step
from wattpack.model.policy import World
from wattpack.model.records import NodeRecord, TaskRecord

NOWHERE = -1
FREE_CHOICE = -1  # the last task of a chain may go anywhere
MAX_TOUCHED = 64  # nodes that one chain may touch


class Board(NamedTuple):
    """A datacenter with tasks on it, and what is known about moving them. Arrays only, for kernels."""

    nodes: Any  # NODE records, settled
    tasks: Any  # TASK records: the classes
    world: World
    worth_w: float  # watts that a GPU which the target workload can use is worth
    sequence: NDArray[np.int32]  # class of each task
    node: NDArray[np.int32]  # of each task, NOWHERE for none
    gpus: NDArray[np.int32]  # of each task, bit set
    costs: NDArray[np.float64]  # [classes, nodes] watts that a task would add, infinite where it does not fit
    touched: NDArray[np.int64]  # [MAX_TOUCHED] scratch: the nodes that a chain touches
    copies: Any  # NODE records, scratch: what becomes of them


@kernel
def fill_costs(board: Board, which: Any) -> None:
    """The costs on the nodes of `which`."""
    for at in range(len(which)):
        n = which[at]
        for k in range(len(board.tasks)):
            board.costs[k, n] = best_gpus(board.nodes[n], board.tasks[k], board.world, board.worth_w, 0)[0]


@step
def overlay(board: Board, n: int, count: int) -> int:
    """Where the copy of node `n` is among the `count` touched ones; made if there is none (then it is at `count`)."""
    for t in range(count):
        if board.touched[t] == n:
            return t
    board.touched[count] = n
    board.copies[count] = board.nodes[n]
    return count


@step
def cheapest_untouched(board: Board, k: int, count: int, aim: int) -> int:
    """The node where a task of class `k` adds least, but for `aim` and the touched ones; NOWHERE if none has room."""
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
    """(node, GPUs) where a task of class `k` adds least, as the touched nodes are by now; NOWHERE if none has room."""
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
def try_chain(board: Board, chain: Any, leaving: bool, aim: int, to_node: Any, to_gpus: Any) -> float:
    """Watts (with priced GPUs) that moving the tasks of `chain` one after another brings; -inf where one has no room.

    A task holds its old place until it has its new one. `leaving`: the tasks leave their node; otherwise sharing tasks
    may go to another GPU of it, but to none that the chain is about to empty. `aim`: the node that the last task must
    go to, and that the others must leave free, or FREE_CHOICE. Filled: to_node and to_gpus of each task.
    """
    emptied = 0
    for at in range(len(chain)):
        emptied |= board.gpus[chain[at]]
    count = 0
    for at in range(len(chain)):
        if count + 3 > MAX_TOUCHED:
            return -inf
        i = chain[at]
        # as everyone else calls the steps: another type would be another compile
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
    board: Board, starts: Any, members: Any, leaving: Any, aims: Any, gains: Any, to_node: Any, to_gpus: Any
) -> None:
    """`try_chain` for many: chain c is members[starts[c]:starts[c + 1]]. Filled: gains by chain, places by member."""
    for c in range(len(starts) - 1):
        at, end = starts[c], starts[c + 1]
        gains[c] = try_chain(board, members[at:end], leaving[c], aims[c], to_node[at:end], to_gpus[at:end])


@kernel
def move_task(board: Board, i: int, to: int, new: int) -> bool:
    """Put task `i` on GPUs `new` of node `to`, then take it off its old place; False, nothing done: no room."""
    task, there = board.tasks[board.sequence[i]], board.nodes[to]
    if not has_room(there, task, new):
        return False
    change_settled(there, task, new, 1, board.world)
    old: Any = np.int64(board.gpus[i])
    change_settled(board.nodes[board.node[i]], task, old, -1, board.world)
    board.node[i] = to
    board.gpus[i] = new
    return True
