"""Kernels of the beam search: all single moves from many states of a few nodes, equal states visited once.

beam.py decides which states are kept. Gains are integers (nanowatts), so that equal states have equal gains whatever
the order of the moves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.pick import free_gpus
from wattpack.engine.core.state import occupy, settle
from wattpack.jit import inner, kernel, step
from wattpack.model.fit import FITS, fits
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import GPU_MILLI, placed_power_mw
from wattpack.model.records import Integers, NodeRecord, Records, SmallIntegers
from wattpack.optimise.defrag.cost import Board

NANOWATTS = 1_000_000_000  # a watt
KEY_MASK = (1 << 60) - 1  # keys are below it, so that a sum of two does not overflow
CHUNKS, CHUNK_BITS = 6, 10  # a key is mixed by its six chunks of ten bits


class Found(NamedTuple):
    """Moves of one level. Arrays [most candidates]."""

    parent: NDArray[np.int32]  # state of the level before
    task: NDArray[np.int32]  # position in Steps.task
    to: NDArray[np.int32]  # position in Steps.which
    gpus: NDArray[np.int32]  # bit set
    gain_nw: NDArray[np.int64]  # of all moves so far
    area_nw: NDArray[np.int64]  # sum of the gains after each move: of two ways to a state, the better saves earlier


class Steps(NamedTuple):
    """A few nodes with their tasks, the states of one level, and scratch. Nodes and tasks are positions in it."""

    which: NDArray[np.int64]  # nodes of the board
    task: NDArray[np.int64]  # tasks of the board: those on these nodes
    start: NDArray[np.int32]  # [2, tasks] node and GPUs of each task before the first move
    worth_mw: int
    place: NDArray[np.int32]  # [states, 2, tasks] node and GPUs of each task
    gain_nw: NDArray[np.int64]  # [states]
    area_nw: NDArray[np.int64]  # [states]
    found: Found
    counts: NDArray[np.int64]  # [3] moves found, moves looked at, states in `seen`
    seen: NDArray[np.int64]  # [2, slots] key and (level, position in `found`) of each state met; 0: free
    class_key: NDArray[np.int64]  # random, by class
    type_key: NDArray[np.int64]  # random, by type of node
    mixer: NDArray[np.int64]  # [CHUNKS, 1 << CHUNK_BITS] random
    nodes: Records[NodeRecord]  # scratch: the nodes of a state, then one without and one with the moved task
    node_cost_nw: NDArray[np.int64]  # [nodes] scratch
    node_key: NDArray[np.int64]  # [nodes] scratch
    on_gpu: NDArray[np.int64]  # [MAX_GPUS] scratch


@inner
def cost_nw(node: NodeRecord, worth_mw: int) -> int:
    """Watts and priced fragmentation of a settled node."""
    micro = 0
    for reason in range(6):
        micro += node.fragmentation_micro[reason]
    return placed_power_mw(node) * 1_000_000 + worth_mw * micro // 1000


@step
def mixed(key: int, mixer: Integers) -> Any:
    """A hash of a key: sums of mixed keys distinguish states that sums of plain keys do not."""
    result = np.int64(0)
    for chunk in range(CHUNKS):
        result ^= mixer[chunk, (key >> (CHUNK_BITS * chunk)) & ((1 << CHUNK_BITS) - 1)]
    return result


@step
def key_of(board: Board, steps: Steps, place: SmallIntegers, n: int, moved: int, to: int, gpus: int) -> Any:
    """Key of the tasks on node `n`, with task `moved` on `to`; equal where only the order of GPUs differs."""
    whole = np.int64(0)
    for g in range(MAX_GPUS):
        steps.on_gpu[g] = 0
    for t in range(len(steps.task)):
        where, bits = (to, gpus) if t == moved else (place[0, t], place[1, t])
        if where != n:
            continue
        k = board.sequence[steps.task[t]]
        if board.tasks[k].kind != 0:
            whole = (whole + steps.class_key[k]) & KEY_MASK
            continue
        for g in range(MAX_GPUS):
            if (bits >> g) & 1:
                steps.on_gpu[g] = (steps.on_gpu[g] + steps.class_key[k]) & KEY_MASK
    for g in range(MAX_GPUS):
        if steps.on_gpu[g] != 0:
            whole = (whole + mixed(steps.on_gpu[g], steps.mixer)) & KEY_MASK
    return mixed((whole + steps.type_key[board.nodes[steps.which[n]].type]) & KEY_MASK, steps.mixer)


@step
def set_up(board: Board, steps: Steps, place: SmallIntegers) -> Any:
    """Fill the scratch of the nodes for one state; returns the state's key."""
    count = len(steps.which)
    for n in range(count):
        steps.nodes[n] = board.nodes[steps.which[n]]
        steps.node_cost_nw[n] = -1
    for sign in (-1, 1):
        for t in range(len(steps.task)):
            if steps.start[0, t] == place[0, t] and steps.start[1, t] == place[1, t]:
                continue
            n = place[0, t] if sign > 0 else steps.start[0, t]
            gpus: Any = np.int64(place[1, t] if sign > 0 else steps.start[1, t])
            occupy(steps.nodes[n], board.tasks[board.sequence[steps.task[t]]], gpus, sign)
            steps.node_cost_nw[n] = -2
    key = np.int64(0)
    for n in range(count):
        if steps.node_cost_nw[n] == -2:
            settle(steps.nodes[n], board.world)
        steps.node_cost_nw[n] = cost_nw(steps.nodes[n], steps.worth_mw)
        steps.node_key[n] = key_of(board, steps, place, n, -1, 0, 0)
        key = (key + steps.node_key[n]) & KEY_MASK
    return key


@step
def has_twin(board: Board, steps: Steps, place: SmallIntegers, t: int) -> bool:
    """Whether a task before `t` has the same class and place: moving either gives the same state."""
    k = board.sequence[steps.task[t]]
    for other in range(t):
        alike = board.sequence[steps.task[other]] == k and place[0, other] == place[0, t]
        if alike and (board.tasks[k].kind != 0 or place[1, other] == place[1, t]):
            return True
    return False


@step
def remember(steps: Steps, key: int, level: int, w: int, t: int, to: int, gpus: int, gain: int, area: int) -> None:
    """Note a move, unless its state was reached with fewer moves; of two ways in one level keep the larger area."""
    found, slots, most = steps.found, steps.seen.shape[1], len(steps.found.parent)
    at = steps.counts[0]
    slot = key % slots
    while steps.seen[1, slot] != 0:
        if steps.seen[0, slot] == key:
            if steps.seen[1, slot] // most != level:
                return
            at = steps.seen[1, slot] % most
            if found.area_nw[at] >= area:
                return
            break
        slot = (slot + 1) % slots
    if at == steps.counts[0]:
        if at == most or 2 * steps.counts[2] >= slots:
            return
        steps.counts[0] += 1
        steps.counts[2] += 1
        steps.seen[0, slot] = key
        steps.seen[1, slot] = level * most + at
    found.parent[at] = w
    found.task[at] = t
    found.to[at] = to
    found.gpus[at] = gpus
    found.gain_nw[at] = gain
    found.area_nw[at] = area


@kernel
def note_start(board: Board, steps: Steps) -> None:
    """Mark the state before the first move as visited."""
    key = set_up(board, steps, steps.place[0])
    slot = key % steps.seen.shape[1]
    steps.seen[0, slot] = key
    steps.seen[1, slot] = 1  # level 0
    steps.counts[2] += 1


@kernel
def expand(board: Board, steps: Steps, begin: int, end: int, level: int) -> None:
    """Note every single move from the states `begin` to `end` of the level before `level`."""
    for w in range(begin, end):
        place = steps.place[w]
        key = set_up(board, steps, place)
        for t in range(len(steps.task)):
            if not has_twin(board, steps, place, t):
                move_everywhere(board, steps, w, key, t, level)


@step
def move_everywhere(board: Board, steps: Steps, w: int, key: int, t: int, level: int) -> None:
    """Note every move of task `t` from state `w`, whose nodes are set up."""
    count, place = len(steps.which), steps.place[w]
    task = board.tasks[board.sequence[steps.task[t]]]
    here: Any = (np.int64(place[0, t]), np.int64(place[1, t]))
    home, old = here
    without, there = steps.nodes[count], steps.nodes[count + 1]
    steps.nodes[count] = steps.nodes[home]
    occupy(without, task, old, -1)
    settle(without, board.world)
    home_nw = cost_nw(without, steps.worth_mw)
    home_key = key_of(board, steps, place, home, t, -1, 0)
    for n in range(count):
        if fits(steps.nodes[n], task) != FITS or (n == home and task.kind != 0):
            continue
        free = False  # whether a free GPU was tried: all free GPUs are alike
        for g in range(steps.nodes[n].gpus if task.kind == 0 else 1):
            gpus: Any = np.int64(1 << g)
            if task.kind == 0:
                left = steps.nodes[n].gpu_left[g]
                if left < task.gpu_milli or (free and left == GPU_MILLI) or (n == home and gpus == old):
                    continue
                free |= left == GPU_MILLI
            else:
                gpus = free_gpus(steps.nodes[n], task.num_gpu)
            steps.nodes[count + 1] = steps.nodes[count if n == home else n]
            occupy(there, task, gpus, 1)
            settle(there, board.world)
            gain = steps.gain_nw[w] + steps.node_cost_nw[home] - cost_nw(there, steps.worth_mw)
            new_key = key - steps.node_key[home] + key_of(board, steps, place, n, t, n, gpus)
            if n != home:
                gain += steps.node_cost_nw[n] - home_nw
                new_key += home_key - steps.node_key[n]
            steps.counts[1] += 1
            remember(steps, new_key & KEY_MASK, level, w, t, n, gpus, gain, steps.area_nw[w] + gain)
