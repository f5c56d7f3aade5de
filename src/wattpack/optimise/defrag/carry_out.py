"""Carries out, measures and undoes moves on a copy of a datacenter, and tries chains of moves there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import RunError
from wattpack.model.pools import ANY_POOL
from wattpack.model.power import GPU_MILLI, nodes_power_mw
from wattpack.optimise.defrag.chains import Chain, Layout
from wattpack.optimise.defrag.cost import Board, fill_costs, move_task, try_chains

# Ctrl-C is seen between two calls of a kernel; with these limits a call takes at most 10 to 30 ms.
MOST_PRICED = 40_000  # (class, node) pairs
MOST_SCANNED = 1_000_000  # (task of a chain, node) pairs


@dataclass(frozen=True)
class Move:
    """One move, with its measured effect. A move inside a chain may cost watts before the last one gains."""

    chain: int  # moves of the same number belong together
    task: int
    from_node: int
    from_gpus: int  # bit set
    to_node: int
    to_gpus: int
    saved_w: float
    usable_gpus: float  # GPUs that the target workload can use now and could not before: less fragmentation
    free_gpus: int  # wholly free GPUs gained


class Step(NamedTuple):
    """A task goes to GPUs (bit set) of a node."""

    chain: int
    task: int
    to: int
    gpus: int


@dataclass(frozen=True)
class Places:
    """Gains of chains, and where their tasks would go, chain after chain."""

    gain_w: NDArray[np.float64]
    node: NDArray[np.int64]
    gpus: NDArray[np.int64]


class Table:
    """A board on which moves are made and taken back."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._price(range(len(board.nodes)))
        self.layout = Layout(self.board)

    def make(self, steps: Iterable[Step]) -> list[Move]:
        """Carry out the steps one after another and measure each."""
        board, made = self.board, list[Move]()
        for chain, i, to, new in steps:
            source, old = int(board.node[i]), int(board.gpus[i])
            before = self._measure({source, to})
            if not move_task(board, i, to, new):
                raise RunError(f"a move found by the search does not fit (task {i} to node {to}): please report it")
            after = self._measure({source, to})
            self.layout.moved(i, source, to)
            saved = [b - a for b, a in zip(before, after, strict=True)]
            made.append(Move(chain, i, source, old, to, new, saved[0] / 1000, saved[1] / GPU_MILLI, -int(saved[2])))
        self._price({n for move in made for n in (move.from_node, move.to_node)})
        return made

    def undo(self, made: Sequence[Move]) -> None:
        """Undo the latest moves, last one first: then each old place is free again.

        An old place may be on a node that takes no new task: it takes this one back.
        """
        pools = self.board.tasks.pools.copy()
        self.board.tasks.pools[:] = ANY_POOL
        for move in reversed(made):
            if not move_task(self.board, move.task, move.from_node, move.from_gpus):
                raise RunError(f"a move cannot be taken back (task {move.task}): please report it")
            self.layout.moved(move.task, move.to_node, move.from_node)
        self.board.tasks.pools[:] = pools
        self._price({n for move in made for n in (move.from_node, move.to_node)})

    def try_chains(self, chains: Sequence[Chain]) -> Places:
        """The gain of each chain in the current state; nothing is moved."""
        sizes = [len(chain.tasks) for chain in chains]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        members = np.array([i for chain in chains for i in chain.tasks], dtype=np.int64)
        leaving = np.array([chain.leaving for chain in chains], dtype=np.bool_)
        aims = np.array([chain.aim for chain in chains], dtype=np.int64)
        gains, to_node, to_gpus = np.zeros(len(chains)), np.zeros_like(members), np.zeros_like(members)
        for at, end in self._slices(starts):
            part = (leaving[at:end], aims[at:end], gains[at:end])
            try_chains(self.board, starts[at : end + 1], members, *part, to_node, to_gpus)
        return Places(gains, to_node, to_gpus)

    def _slices(self, starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Ranges of chains (first, end) that one call of the kernel tries."""
        tasks, at = max(1, MOST_SCANNED // len(self.board.nodes)), 0
        while at < len(starts) - 1:
            end = max(at + 1, int(np.searchsorted(starts, starts[at] + tasks, side="right")) - 1)
            yield at, end
            at = end

    def _price(self, nodes: Iterable[int]) -> None:
        """Refresh the cost of each class on these nodes."""
        which, stride = np.array(sorted(nodes), dtype=np.int64), max(1, MOST_PRICED // max(1, len(self.board.tasks)))
        for at in range(0, len(which), stride):
            fill_costs(self.board, which[at : at + stride])

    def _measure(self, nodes: Iterable[int]) -> tuple[float, float, float]:
        """Milliwatts, fragmentation in milli-GPU and wholly free GPUs of these nodes."""
        found = self.board.nodes[sorted(nodes)]
        watts = int(nodes_power_mw(found).sum())
        return watts, float(found.fragmentation.sum()), int(found.gpu_free.sum())
