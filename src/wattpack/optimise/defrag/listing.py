"""The final list of moves: which moves are needed, how they form chains, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wattpack.model.records import NodeRecord, Records
from wattpack.optimise.defrag.carry_out import Move, Step
from wattpack.optimise.defrag.cost import Board
from wattpack.optimise.defrag.shorter import Listed, drop_moves

PAIRS_A_SLICE = 500_000  # pairs of moves checked before Python sees a Ctrl-C


def gain_w(moves: Sequence[Move], worth_w: float) -> float:
    """Watts saved, with priced GPUs."""
    return sum(move.saved_w + worth_w * move.usable_gpus for move in moves)


def value_w(moves: Sequence[Move], worth_w: float, least_w: float) -> float:
    """Value by which lists are compared: the gain less `least_w` per move."""
    return gain_w(moves, worth_w) - least_w * len(moves)


def needed(board: Board, start: Records[NodeRecord], moves: Sequence[Move], least_w: float) -> list[Step]:
    """The moves without those that the others do not need. `start`: the nodes before the first move."""
    rows = [(move.task, move.from_node, move.from_gpus, move.to_node, move.to_gpus) for move in moves]
    task, source, old, to, new = np.array(rows, dtype=np.int64).reshape(-1, 5).T.copy()
    listed = Listed(task, source, old, to, new, np.ones(len(moves), dtype=np.bool_))
    stride, dropped = max(1, PAIRS_A_SLICE // max(1, len(moves))), True
    while dropped:
        dropped = False
        for at in range(0, len(moves), stride):
            dropped |= drop_moves(board, start, listed, least_w, at, min(at + stride, len(moves))) > 0
    kept = zip(moves, listed.kept.tolist(), strict=True)
    return [Step(move.chain, move.task, move.to_node, move.to_gpus) for move, is_kept in kept if is_kept]


def join_short(moves: Sequence[Move], worth_w: float, least_w: float) -> list[Move]:
    """Join a chain that gains less than `least_w` per move with the next one; the last one with those before it."""
    chains: list[list[Move]] = []
    numbers: list[int] = []
    for move in moves:
        if numbers and numbers[-1] == move.chain:
            chains[-1].append(move)
        elif chains and value_w(chains[-1], worth_w, least_w) < 0:
            chains[-1].append(move)
            numbers[-1] = move.chain
        else:
            chains.append([move])
            numbers.append(move.chain)
    while len(chains) > 1 and value_w(chains[-1], worth_w, least_w) < 0:
        last = chains.pop()
        chains[-1] += last
    return [replace(move, chain=number) for number, chain in enumerate(chains) for move in chain]


def in_chains(moves: Sequence[Move], worth_w: float) -> list[Move]:
    """The same moves, best chains first. Moves that share nodes keep their order and are cut where rates fall."""
    chains = [chain for group in groups(moves) for chain in falling(group, worth_w)]
    chains.sort(key=lambda chain: -round(gain_w(chain, worth_w) / len(chain), 6))  # stable: equal ones as they come
    return [replace(move, chain=number) for number, chain in enumerate(chains) for move in chain]


def groups(moves: Sequence[Move]) -> list[list[Move]]:
    """Groups of moves that share no node: groups can be carried out in any order."""
    found: list[tuple[set[int], list[int]]] = []
    for at, move in enumerate(moves):
        nodes, members, apart = {move.from_node, move.to_node}, [at], []
        for group in found:
            if group[0] & nodes:
                nodes, members = nodes | group[0], group[1] + members
            else:
                apart.append(group)
        found = [*apart, (nodes, members)]
    return [[moves[at] for at in sorted(members)] for _, members in sorted(found, key=lambda group: min(group[1]))]


def falling(moves: Sequence[Move], worth_w: float) -> list[list[Move]]:
    """Chains of a list, in its order: a chain that gains more per move than the one before it is joined to that."""
    chains: list[list[Move]] = []
    for move in moves:
        chains.append([move])
        while len(chains) > 1 and _rate_w(chains[-1], worth_w) > _rate_w(chains[-2], worth_w) + 1e-6:
            last = chains.pop()
            chains[-1] += last
    return chains


def _rate_w(chain: Sequence[Move], worth_w: float) -> float:
    return gain_w(chain, worth_w) / len(chain)
