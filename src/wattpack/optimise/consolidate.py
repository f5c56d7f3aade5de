"""Consolidation: which nodes to empty by moving their running tasks, so that they can sleep.

A node is worth emptying if what it draws, less what it draws asleep and what its tasks add elsewhere, pays for one
shutdown and wake within `pays_back_s`. Nodes are tried in the order of watts saved a move. Tasks go to nodes that are
awake and in use, largest first, each where it adds least; never to slower GPUs unless allowed. Nothing about the future
is known here: a node that is emptied might have become empty by itself soon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.node_cost import best_gpus
from wattpack.engine.core.state import NOWHERE, occupy, settle
from wattpack.engine.moments.moves import Place
from wattpack.engine.moments.record import RUNNING
from wattpack.engine.moments.run import MomentRun
from wattpack.errors import UserError
from wattpack.jit import kernel, step
from wattpack.model.policy import World
from wattpack.model.power import node_power_mw, nodes_power_mw
from wattpack.model.records import Integers, NodeRecord, RecordTable, TaskRecord
from wattpack.model.sleeping import AWAKE, PAYS_BACK_S, emptying_order, emptying_pays
from wattpack.model.speed import may_replace

HOUR_S = 3600.0


@dataclass(frozen=True)
class Consolidation:
    """At most `moves_an_hour` moves; each moved task is paused."""

    moves_an_hour: int = 60
    every_s: float = 1800.0  # between two looks at the nodes
    pause_s: float = 30.0
    pays_back_s: float = PAYS_BACK_S
    allow_slower: bool = False

    def __post_init__(self) -> None:
        if self.moves_an_hour < 1:
            raise UserError(f"consolidate: {self.moves_an_hour} moves an hour, expected 1 or more")
        for name in ("every_s", "pays_back_s"):
            if not 0 < getattr(self, name) < inf:
                raise UserError(f"consolidate: {name} of {getattr(self, name):g}, expected more than 0")
        if not 0 <= self.pause_s < inf:
            raise UserError(f"consolidate: a pause of {self.pause_s:g} s, expected 0 or more")


class Fleet(NamedTuple):
    """Nodes on which moves are tried: copies, so that the run does not change. Arrays only, for kernels."""

    nodes: RecordTable[NodeRecord]
    tasks: RecordTable[TaskRecord]  # classes
    world: World
    takes: NDArray[np.bool_]  # [nodes] whether it may take moved tasks
    suits: NDArray[np.bool_]  # [models, models] whether a task on the first may go to the second


@step
def put(fleet: Fleet, k: int, n: int, gpus: int, sign: int) -> None:
    occupy(fleet.nodes[n], fleet.tasks[k], gpus, sign)
    settle(fleet.nodes[n], fleet.world)


@kernel
def place_elsewhere(fleet: Fleet, source: int, classes: Integers, to: Integers, gpus: Integers) -> float:
    """Place tasks of these classes on other nodes; fills `to` and `gpus`. Returns the watts that they add.

    Infinite, and nothing is placed, if one of them has no room.
    """
    added_w = 0.0
    for at in range(len(classes)):
        k = classes[at]
        best_w, to[at] = inf, NOWHERE
        for n in range(len(fleet.nodes)):
            if not fleet.takes[n] or n == source:
                continue
            if fleet.tasks[k].num_gpu > 0 and not fleet.suits[fleet.nodes[source].model, fleet.nodes[n].model]:
                continue
            own_w, own_gpus = best_gpus(fleet.nodes[n], fleet.tasks[k], fleet.world, 0.0, 0)
            if own_w < best_w:
                best_w, to[at], gpus[at] = own_w, n, own_gpus
        if to[at] == NOWHERE:
            for before in range(at):
                put(fleet, classes[before], to[before], gpus[before], -1)
            return inf
        put(fleet, k, to[at], gpus[at], 1)
        added_w += best_w
    return added_w


@kernel
def take_back(fleet: Fleet, classes: Integers, to: Integers, gpus: Integers) -> None:
    for at in range(len(classes)):
        put(fleet, classes[at], to[at], gpus[at], -1)


class Consolidator:
    """The planner of a run in time (engine/moments/moves.py): call it at each round."""

    def __init__(self, told: Consolidation, models: tuple[str, ...], exact_speeds: bool = False) -> None:
        """`exact_speeds`: how long tasks run depends on the GPU model, so that they stay on theirs."""
        self.told, self.left, self.looked_at_s = told, 0.0, 0.0
        suits = [[self._may_go(on, to, exact_speeds) for to in models] for on in models]
        self.suits = np.array(suits, dtype=np.bool_).reshape(len(models), len(models))

    def _may_go(self, on: str, to: str, exact_speeds: bool) -> bool:
        if exact_speeds:
            return on == to
        return self.told.allow_slower or may_replace(to, on)

    def __call__(self, engine: Engine, run: MomentRun) -> list[Place]:
        passed_h = (float(run.now[0].clock_s) - self.looked_at_s) / HOUR_S
        self.looked_at_s = float(run.now[0].clock_s)
        # What is not used is not saved up beyond an hour.
        self.left = min(self.left + passed_h * self.told.moves_an_hour, float(self.told.moves_an_hour))
        found = self._plan(engine, run, int(self.left))
        self.left -= len(found)
        return found

    def _plan(self, engine: Engine, run: MomentRun, most: int) -> list[Place]:
        nodes: Any = engine.state.nodes.copy()
        takes = (nodes.closed == AWAKE) & (nodes.tasks > 0)
        fleet = Fleet(nodes, engine.state.tasks, engine.state.world, takes, self.suits)
        stays = np.zeros(len(nodes), dtype=np.bool_)  # has taken tasks, so that it is not emptied in this round
        found: list[Place] = []
        for n, tasks in self._by_watts_a_move(engine, run):
            if stays[n] or len(tasks) > most - len(found):
                continue
            classes = run.tasks.task_class[tasks].astype(np.int64)
            to, gpus = np.zeros(len(tasks), dtype=np.int64), np.zeros(len(tasks), dtype=np.int64)
            added_w = float(place_elsewhere(fleet, n, classes, to, gpus))
            if added_w == inf:
                continue
            if not self._pays(engine, run, n, added_w):
                take_back(fleet, classes, to, gpus)
                continue
            takes[n], stays[to] = False, True
            found += [Place(int(i), int(m), int(bits)) for i, m, bits in zip(tasks, to, gpus, strict=True)]
        return found

    def _by_watts_a_move(self, engine: Engine, run: MomentRun) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Nodes with their running tasks, largest first; the nodes that save most watts a move first."""
        running = np.flatnonzero(run.tasks.outcome == RUNNING)
        request = engine.state.tasks.gpu_request[run.tasks.task_class[running]]
        tasks = running[np.lexsort((running, -request, run.tasks.node[running]))]
        nodes, starts = np.unique(run.tasks.node[tasks], return_index=True)
        ends = np.append(starts[1:], len(tasks))
        on = {int(n): tasks[start:end] for n, start, end in zip(nodes, starts, ends[: len(nodes)], strict=True)}
        saved_mw = np.asarray(nodes_power_mw(engine.state.nodes) - run.sleep.nodes.asleep_mw, dtype=np.int64)
        count = np.zeros(len(saved_mw), dtype=np.int64)
        count[list(on)] = [len(group) for group in on.values()]
        for n in emptying_order(saved_mw, count).tolist():
            yield n, on[n]

    def _pays(self, engine: Engine, run: MomentRun, n: int, added_w: float) -> bool:
        sleeper = run.sleep.nodes[n]
        saved_w = float(node_power_mw(engine.state.nodes[n]) - sleeper.asleep_mw) / 1000 - added_w
        transition_s = float(run.sleep.shutdown_s + run.sleep.wake_s)
        return emptying_pays(saved_w, float(sleeper.idle_mw) / 1000, transition_s, self.told.pays_back_s)
