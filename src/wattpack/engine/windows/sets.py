"""Sets of a window's tasks that fit on one node together, with the watts that each set adds: the columns of the MILP.

Power and fragmentation are sums over nodes, so the cost of a set on a node does not depend on the other nodes. The cost
is computed on a copy of the node, so it is exact. Nodes of the same type with the same free CPU, memory and GPUs form
one kind, and each set is evaluated once for a kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.node_cost import best_gpus, has_room, node_cost_w
from wattpack.engine.core.state import NOWHERE, State, occupy, settle
from wattpack.jit import kernel
from wattpack.model.nodes import NODE

ANY = -1  # GPUs: choose the cheapest ones
# First guesses, not tuned: making the sets takes a third of a window's time, HiGHS the rest.
KINDS_A_TASK = 6  # a single task is tried on this number of kinds, the cheapest ones
GROWN = 60  # of each size, this number of sets is extended by one task
LARGEST = 6  # tasks in an extended set; sets taken from a tried way may be larger


@kernel
def alone_costs(state: State, nodes: Any, classes: Any, worth_w: float, out: Any) -> None:
    """Watts that a task of each class adds on each of the `nodes`: float64[classes, nodes], infinite without room."""
    for i in range(len(classes)):
        for g in range(len(nodes)):
            out[i, g] = best_gpus(state.nodes[nodes[g]], state.tasks[classes[i]], state.world, worth_w, 0)[0]


@kernel
def together_costs(
    state: State, copy: Any, nodes: Any, starts: Any, classes: Any, worth_w: float, gpus: Any, out: Any
) -> None:
    """Watts that each set adds on its node, float64[sets]; infinite where one of its tasks has no room.

    Set s: one task of each of classes[starts[s]:starts[s + 1]], one after another. copy: NODE[1], scratch. gpus, int32
    by task: the GPUs to use; ANY means the cheapest ones, and the kernel writes which it took.
    """
    for s in range(len(nodes)):
        copy[0] = state.nodes[nodes[s]]
        node = copy[0]
        out[s] = -node_cost_w(node, worth_w)
        for j in range(starts[s], starts[s + 1]):
            task = state.tasks[classes[j]]
            picked: Any = np.int64(gpus[j])
            if picked == ANY:
                picked = best_gpus(node, task, state.world, worth_w, 0)[1]
            if not has_room(node, task, picked):
                out[s] = inf
                break
            gpus[j] = picked
            occupy(node, task, picked, 1)
            settle(node, state.world)
        out[s] += node_cost_w(node, worth_w)


class Kinds(NamedTuple):
    """Groups of equal nodes: `of` is the kind of each node, `nodes` the members of each kind, ordered by first node."""

    of: NDArray[np.int64]
    nodes: list[NDArray[np.int64]]

    @property
    def first(self) -> NDArray[np.int64]:
        return np.array([nodes[0] for nodes in self.nodes], dtype=np.int64)


def kinds_of(nodes: Any) -> Kinds:
    state = np.column_stack([nodes.type, nodes.cpu_left, nodes.memory_left, nodes.gpu_left]).astype(np.int64)
    _, first, of = np.unique(
        state.view(f"V{state.itemsize * state.shape[1]}").ravel(), return_index=True, return_inverse=True
    )
    place = np.argsort(np.argsort(first, kind="stable"), kind="stable")  # of the kinds by their first node
    of = place[of]
    members = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    return Kinds(of, members)


class Found(NamedTuple):
    """Sets that have room: `tasks` are places in the list of classes, ascending; `gpus` one bit set a task."""

    kind: list[int]
    tasks: list[tuple[int, ...]]
    gpus: list[tuple[int, ...]]
    cost_w: list[float]


class Way(NamedTuple):
    """One way that was tried, as sets (kind, tasks), and the tasks that it refused, as places in the list."""

    sets: list[tuple[int, tuple[int, ...]]]
    refused: tuple[int, ...]


class Sets:
    """The sets found so far, each once: of two on the same kind of node the cheaper one."""

    def __init__(
        self, state: State, kinds: Kinds, classes: NDArray[np.int64], demand: list[int], worth_w: float
    ) -> None:
        """`classes`, the most GPU first, with their numbers of tasks in the window."""
        self.state, self.kinds, self.classes, self.demand, self.worth_w = state, kinds, classes, demand, worth_w
        self.first = kinds.first
        self.found = Found([], [], [], [])
        self.at: dict[tuple[int, tuple[int, ...]], int] = {}
        self.copy = np.zeros(1, dtype=NODE).view(np.recarray)

    def add(self, kind: Sequence[int], tasks: Sequence[tuple[int, ...]], gpus: Sequence[tuple[int, ...]]) -> None:
        """Add those of these sets that fit."""
        starts = np.cumsum([0, *map(len, tasks)])
        classes = self.classes[[i for some in tasks for i in some]]
        picked = np.array([bits for some in gpus for bits in some], dtype=np.int32)
        cost_w = np.zeros(len(tasks))
        nodes = self.first[list(kind)]
        together_costs(self.state, self.copy, nodes, starts, classes, self.worth_w, picked, cost_w)
        chosen = picked.tolist()
        for s, watts in enumerate(cost_w.tolist()):
            key, bits = (kind[s], tasks[s]), tuple(chosen[starts[s] : starts[s + 1]])
            if watts == inf:
                continue
            there = self.at.get(key)
            if there is None:
                self.at[key] = len(self.found.kind)
                self.found.kind.append(kind[s])
                self.found.tasks.append(tasks[s])
                self.found.gpus.append(bits)
                self.found.cost_w.append(watts)
            elif watts < self.found.cost_w[there]:
                self.found.gpus[there], self.found.cost_w[there] = bits, watts

    def add_of_ways(self, place: dict[int, int], window: Any, order: Any, node: Any, gpus: Any) -> list[Way]:
        """Add the sets that the tried ways put on each node. `place`: index of a class in the list."""
        wanted: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {}
        ways, tasks = [], [place[k] for k in window.tolist()]
        for in_order, nodes, picked in zip(order.tolist(), node.tolist(), gpus.tolist(), strict=True):
            on: dict[int, list[tuple[int, int]]] = {}
            for i, n, bits in zip(in_order, nodes, picked, strict=True):
                on.setdefault(n, []).append((tasks[i], bits))
            refused = tuple(i for i, _ in on.pop(NOWHERE, []))
            keys = []
            for n, pairs in on.items():
                some, bits = zip(*sorted(pairs), strict=True)
                keys.append((int(self.kinds.of[n]), some))
                wanted.setdefault(keys[-1], bits)
            ways.append(Way(keys, refused))
        if wanted:
            self.add([kind for kind, _ in wanted], [some for _, some in wanted], list(wanted.values()))
        return ways

    def cost_of_way_w(self, way: Way, refused_w: NDArray[np.float64]) -> float:
        """Watts that a way adds, with the price of its refusals."""
        return sum(self.found.cost_w[self.at[key]] for key in way.sets) + float(refused_w[list(way.refused)].sum())

    def grow(self) -> None:
        """Single tasks on their best kinds of nodes, then sets with one task more, from the best of each size."""
        alone_w = np.empty((len(self.classes), len(self.first)))
        alone_costs(self.state, self.first, self.classes, self.worth_w, alone_w)
        best = np.argsort(alone_w, axis=1, kind="stable")[:, :KINDS_A_TASK]
        pairs = [(int(g), (i,)) for i in range(len(best)) for g in best[i] if alone_w[i, g] < inf]
        self.price_w = alone_w.min(axis=1).tolist()
        self._try(pairs)
        for size in range(1, LARGEST):
            some = [s for s, tasks in enumerate(self.found.tasks) if len(tasks) == size]
            some.sort(key=self._worse)
            self._try(
                [
                    (kind, tuple(sorted((*tasks, i))))
                    for kind, tasks in ((self.found.kind[s], self.found.tasks[s]) for s in some[:GROWN])
                    for i in range(len(self.classes))
                    if tasks.count(i) < self.demand[i]
                ]
            )

    def _worse(self, s: int) -> float:
        """Watts that a set costs beyond its tasks placed one by one on their cheapest kinds."""
        price_w = self.price_w
        return self.found.cost_w[s] - sum([price_w[i] for i in self.found.tasks[s]])

    def _try(self, pairs: Sequence[tuple[int, tuple[int, ...]]]) -> None:
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.at]
        if new:
            self.add([kind for kind, _ in new], [tasks for _, tasks in new], [(ANY,) * len(tasks) for _, tasks in new])
