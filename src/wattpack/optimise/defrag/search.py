"""Greedy search for moves: chains by gain per move, best first, each tried again in the current state.

On a small cluster the list of beam.py, which searches single moves, replaces it where that is better.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from wattpack.engine.core.state import State
from wattpack.model.records import NodeRecord, Records, SmallIntegers
from wattpack.optimise.defrag.beam import best_steps, is_small
from wattpack.optimise.defrag.carry_out import Move as Move
from wattpack.optimise.defrag.carry_out import Step, Table
from wattpack.optimise.defrag.chains import MOST_LEAVING, Chain
from wattpack.optimise.defrag.cost import new_board
from wattpack.optimise.defrag.listing import in_chains, join_short, needed, value_w

LEAST_W = 1.0  # a move must gain at least this
WORTH_W = 100.0
MOST_ROUNDS = 3  # of dropping moves and searching others in their place
ROUNDING_W = 1e-6


class Defrag:
    """Finds moves on a copy of a state; the state itself is not changed."""

    def __init__(
        self,
        state: State,
        sequence: SmallIntegers,
        node: SmallIntegers,
        gpus: SmallIntegers,
        worth_w: float = WORTH_W,
    ) -> None:
        """`sequence`, `node`, `gpus`: class and place of each task that is on the nodes of `state`."""
        self.table = Table(new_board(state, sequence, node, gpus, worth_w))
        self.board, self.layout = self.table.board, self.table.layout
        self._heap: list[tuple[float, int, Chain]] = []  # candidate chains, by their gain when tried
        self._pushed = 0

    def moves(self, most: int, least_w: float = LEAST_W, thorough: bool = True) -> list[Move]:
        """At most `most` moves, as whole chains that each gain at least `least_w` per move.

        `thorough`: when no candidate is left, search all chains again, since moves make room for others; drop moves
        that the list does not need; on a small cluster, search move by move too. Without it a call takes half the time,
        which is enough for callers that soon call again.
        """
        if not thorough:
            return self._chains(most, least_w, False, 0)
        start = self.board.nodes.copy()
        found = self._without_needless(start, self._chains(most, least_w, True, 0), most, least_w)
        return self._or_move_by_move(start, found, most, least_w) if is_small(self.board) else found

    def _without_needless(self, start: Records[NodeRecord], found: list[Move], most: int, least_w: float) -> list[Move]:
        """Drop moves that the list does not need and find others instead. `start`: the nodes before the list."""
        for _ in range(MOST_ROUNDS):
            steps = needed(self.board, start, found, least_w)
            if len(steps) == len(found):
                break
            self.table.undo(found)
            kept = join_short(self.table.make(steps), self.board.worth_w, least_w)
            left_out = {move.task for move in found} - {move.task for move in kept}
            near = {n for move in found if move.task in left_out for n in (move.from_node, move.to_node)}
            number = kept[-1].chain + 1 if kept else 0
            cut_short = len(found) + MOST_LEAVING > most  # a chain may not have fitted into the limit
            found = kept + self._chains(most - len(kept), least_w, cut_short, number, near)
        return found

    def _or_move_by_move(self, start: Records[NodeRecord], found: list[Move], most: int, least_w: float) -> list[Move]:
        """The better of two lists: `found`, or single moves from beam.py and chains in turns."""
        self.table.undo(found)
        others: list[Move] = []
        for _ in range(MOST_ROUNDS):
            made = self.table.make(best_steps(self.board, most - len(others), least_w, len(others)))
            others += made
            others += self._chains(most - len(others), least_w, True, len(others))
            if not made or len(others) == most:
                break
        others = self._without_needless(start, others, most, least_w)
        worth_w = self.board.worth_w
        if value_w(others, worth_w, least_w) > value_w(found, worth_w, least_w) + ROUNDING_W:
            return join_short(in_chains(others, worth_w), worth_w, least_w)
        self.table.undo(others)
        return self.table.make([Step(move.chain, move.task, move.to_node, move.to_gpus) for move in found])

    def _chains(
        self, most: int, least_w: float, again: bool, number: int, near: Iterable[int] | None = None
    ) -> list[Move]:
        """Chains, the best per move first. `again`: search until nothing is left; `number`: of the first chain.

        `near`: search these nodes first, and the candidates left from an earlier search.
        """
        found: list[Move] = []
        heap, looked_at = self._heap, -1  # moves made when all chains were last tried
        if near is None:
            heap.clear()
        else:
            looked_at = -1 if again else 0
            self._push([chain for n in sorted(near) for chain in self.layout.chains_from(n)], most, least_w)
        while len(found) < most:
            if not heap:
                if looked_at == len(found) or (looked_at >= 0 and not again):
                    break
                looked_at = len(found)
                wanted = [chain for n in range(len(self.layout.on)) for chain in self.layout.chains_from(n)]
                self._push([*wanted, *self.layout.room_chains()], most, least_w)
                continue
            chain = heapq.heappop(heap)[2]
            if len(chain.tasks) > most - len(found):
                continue
            places = self.table.try_chains([chain])
            rate = float(places.gain_w[0]) / len(chain.tasks)
            if rate < least_w:
                continue
            if heap and -rate > heap[0][0]:  # no longer the best: back into the queue with its gain now
                self._pushed += 1
                heapq.heappush(heap, (-rate, self._pushed, chain))
                continue
            steps = zip(chain.tasks, places.node.tolist(), places.gpus.tolist(), strict=True)
            made = self.table.make([Step(number, *step) for step in steps])
            number += 1
            found += made
            touched = sorted({n for move in made for n in (move.from_node, move.to_node)})
            nearby = [chain for n in touched for chain in self.layout.chains_from(n)]
            self._push(nearby, most - len(found), least_w)
        return found

    def _push(self, chains: Sequence[Chain], most: int, least_w: float) -> None:
        fitting = [chain for chain in chains if len(chain.tasks) <= most]
        for chain, gain_w in zip(fitting, self.table.try_chains(fitting).gain_w.tolist(), strict=True):
            rate = gain_w / len(chain.tasks)
            if rate >= least_w:
                self._pushed += 1
                heapq.heappush(self._heap, (-rate, self._pushed, chain))
