"""The list of moves: chains by what they bring per move, best first, each tried again in the state it would meet.

On a small cluster the list of beam.py, which looks at single moves, takes its place where it is better.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Any

from wattpack.engine.core.state import State
from wattpack.model.records import SmallIntegers
from wattpack.optimise.defrag.beam import best_steps, is_small
from wattpack.optimise.defrag.carry_out import Move as Move
from wattpack.optimise.defrag.carry_out import Step, Table
from wattpack.optimise.defrag.chains import MOST_LEAVING, Chain
from wattpack.optimise.defrag.cost import new_board
from wattpack.optimise.defrag.listing import in_chains, join_short, needed, value_w

LEAST_W = 1.0  # a move that brings less is not worth its trouble
WORTH_W = 100.0
MOST_ROUNDS = 3  # of taking moves out and looking for others in their place
ROUNDING_W = 1e-6


class Defrag:
    """Finds moves on a copy of a state: what it is given is not changed."""

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
        self._heap: list[tuple[float, int, Chain]] = []  # chains that may be worth it, by what they brought when tried
        self._pushed = 0

    def moves(self, most: int, least_w: float = LEAST_W, thorough: bool = True) -> list[Move]:
        """At most so many moves, as whole chains, each of which brings at least `least_w` a move.

        `thorough`: where nothing is left, look at everything again, since moves make room for others; take moves out
        that the list does not need; on a small cluster, search move by move too. Who comes back soon can do without: it
        takes half of the time.
        """
        if not thorough:
            return self._chains(most, least_w, False, 0)
        start = self.board.nodes.copy()
        found = self._without_needless(start, self._chains(most, least_w, True, 0), most, least_w)
        return self._or_move_by_move(start, found, most, least_w) if is_small(self.board) else found

    def _without_needless(self, start: Any, found: list[Move], most: int, least_w: float) -> list[Move]:
        """Take moves out that the list does not need, and find others in their place. `start`: the nodes before it."""
        for _ in range(MOST_ROUNDS):
            steps = needed(self.board, start, found, least_w)
            if len(steps) == len(found):
                break
            self.table.undo(found)
            kept = join_short(self.table.make(steps), self.board.worth_w, least_w)
            left_out = {move.task for move in found} - {move.task for move in kept}
            near = {n for move in found if move.task in left_out for n in (move.from_node, move.to_node)}
            number = kept[-1].chain + 1 if kept else 0
            cut_short = len(found) + MOST_LEAVING > most  # a chain may have found the rest of the limit too short
            found = kept + self._chains(most - len(kept), least_w, cut_short, number, near)
        return found

    def _or_move_by_move(self, start: Any, found: list[Move], most: int, least_w: float) -> list[Move]:
        """The better one of two lists: `found`, and single moves as beam.py finds them, then chains, by turns."""
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
        """Chains, the best per move first. `again`: look until nothing is left; `number`: of the first chain.

        `near`: look first at these nodes, and at what an earlier search had found and not made.
        """
        found: list[Move] = []
        heap, looked_at = self._heap, -1  # moves made when all chains were last looked at
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
            if heap and -rate > heap[0][0]:  # no longer the best: back into the queue with what it brings now
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
