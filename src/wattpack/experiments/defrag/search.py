"""The list of moves: chains by what they bring per move, best first, each tried again in the state it would meet."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.state import State
from wattpack.errors import RunError
from wattpack.experiments.defrag.chains import Chain, Layout
from wattpack.experiments.defrag.cost import MAX_TOUCHED, Board, fill_costs, move_task, try_chains
from wattpack.model.nodes import NODE
from wattpack.model.power import GPU_MILLI

LEAST_W = 1.0  # a move that brings less is not worth its trouble
WORTH_W = 100.0


@dataclass(frozen=True)
class Move:
    """One step. What it changes is the state's own measure, so a step inside a chain may cost before the last gains."""

    chain: int  # steps of the same number belong together
    task: int
    from_node: int
    from_gpus: int  # bit set
    to_node: int
    to_gpus: int
    saved_w: float
    usable_gpus: float  # GPUs that the target workload can use now and could not before: fragmentation taken away
    free_gpus: int  # wholly free GPUs gained


@dataclass(frozen=True)
class Places:
    """What chains would bring, and where their tasks would go, one chain after another."""

    gain_w: NDArray[np.float64]
    node: NDArray[np.int64]
    gpus: NDArray[np.int64]


class Defrag:
    """Finds moves on a copy of a state: what it is given is not changed."""

    def __init__(
        self,
        state: State,
        sequence: NDArray[np.int32],
        node: NDArray[np.int32],
        gpus: NDArray[np.int32],
        worth_w: float = WORTH_W,
    ) -> None:
        """`sequence`, `node`, `gpus`: class and place of each task that is on the nodes of `state`."""
        nodes = state.nodes.copy()
        self.board = Board(
            nodes,
            state.tasks,
            state.world,
            float(worth_w),
            np.ascontiguousarray(sequence, dtype=np.int32),
            node.astype(np.int32),
            gpus.astype(np.int32),
            np.zeros((len(state.tasks), len(nodes))),
            np.zeros(MAX_TOUCHED, dtype=np.int64),
            np.zeros(MAX_TOUCHED, dtype=NODE).view(np.recarray),
        )
        fill_costs(self.board, np.arange(len(nodes)))
        self.layout = Layout(self.board)

    def moves(self, most: int, least_w: float = LEAST_W, thorough: bool = True) -> list[Move]:
        """At most so many moves, as whole chains, each of which brings at least `least_w` a move.

        `thorough`: where nothing is left, look at everything again, since moves make room for others. Who comes back
        soon can do without: it takes half of the time.
        """
        found: list[Move] = []
        heap: list[tuple[float, int, Chain]] = []
        count = chains = 0
        looked_at = -1  # moves made when all chains were last looked at
        while len(found) < most:
            if not heap:
                if looked_at == len(found) or (looked_at >= 0 and not thorough):
                    break
                looked_at = len(found)
                wanted = [chain for n in range(len(self.layout.on)) for chain in self.layout.chains_from(n)]
                count = self._push(heap, [*wanted, *self.layout.room_chains()], most, least_w, count)
                continue
            chain = heapq.heappop(heap)[2]
            if len(chain.tasks) > most - len(found):
                continue
            places = self._try([chain])
            rate = float(places.gain_w[0]) / len(chain.tasks)
            if rate < least_w:
                continue
            if heap and -rate > heap[0][0]:  # no longer the best: back into the queue with what it brings now
                count += 1
                heapq.heappush(heap, (-rate, count, chain))
                continue
            made = self._make(chain, places, chains)
            chains += 1
            found += made
            touched = sorted({n for move in made for n in (move.from_node, move.to_node)})
            again = [chain for n in touched for chain in self.layout.chains_from(n)]
            count = self._push(heap, again, most - len(found), least_w, count)
        return found

    def _push(self, heap: list[Any], chains: Sequence[Chain], most: int, least_w: float, count: int) -> int:
        fitting = [chain for chain in chains if len(chain.tasks) <= most]
        for chain, gain_w in zip(fitting, self._try(fitting).gain_w.tolist(), strict=True):
            rate = gain_w / len(chain.tasks)
            if rate >= least_w:
                count += 1
                heapq.heappush(heap, (-rate, count, chain))
        return count

    def _try(self, chains: Sequence[Chain]) -> Places:
        sizes = [len(chain.tasks) for chain in chains]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        members = np.array([i for chain in chains for i in chain.tasks], dtype=np.int64)
        leaving = np.array([chain.leaving for chain in chains], dtype=np.bool_)
        aims = np.array([chain.aim for chain in chains], dtype=np.int64)
        gains, to_node, to_gpus = np.zeros(len(chains)), np.zeros_like(members), np.zeros_like(members)
        try_chains(self.board, starts, members, leaving, aims, gains, to_node, to_gpus)
        return Places(gains, to_node, to_gpus)

    def _make(self, chain: Chain, places: Places, number: int) -> list[Move]:
        """Carry the chain out, step by step; every step is measured."""
        board, made = self.board, []
        for i, to, new in zip(chain.tasks, places.node.tolist(), places.gpus.tolist(), strict=True):
            source, old = int(board.node[i]), int(board.gpus[i])
            before = self._measure({source, to})
            if not move_task(board, i, to, new):
                raise RunError(f"a move found by the search does not fit (task {i} to node {to}): please report it")
            after = self._measure({source, to})
            self.layout.moved(i, source, to)
            saved = [b - a for b, a in zip(before, after, strict=True)]
            made.append(Move(number, i, source, old, to, new, saved[0] / 1000, saved[1] / GPU_MILLI, -int(saved[2])))
        fill_costs(board, np.array(sorted({n for move in made for n in (move.from_node, move.to_node)})))
        return made

    def _measure(self, nodes: Iterable[int]) -> tuple[float, float, float]:
        """Milliwatts, fragmentation in milli-GPU and wholly free GPUs of these nodes."""
        found = self.board.nodes[sorted(nodes)]
        watts = int(found.cpu_power_mw.sum() + found.gpu_power_mw.sum())
        return watts, float(found.fragmentation.sum()), int(found.gpu_free.sum())
