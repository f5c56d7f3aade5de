"""What is missing for a task that fits nowhere: the nearest nodes, and the fewest tasks whose move would make room."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import explain
from wattpack.engine.live.one_decision import place_one, release_one
from wattpack.model.fit import FITS, NO_CPU_MODEL, NO_MODEL, NO_POOL, fits
from wattpack.model.power import GPU_MILLI
from wattpack.ui.answers import Near

SHOWN = 5
TRIED = 25  # nodes on which moves are tried, those that lack least first
MOST_MOVES = 8
NO_LUCK = np.zeros(2)


def nearest(engine: Engine, k: int) -> list[Near]:
    """Nodes of an allowed model that lack least, with what they lack."""
    nodes: Any = engine.state.nodes
    task = engine.classes[k]
    found = []
    for n in _allowed(engine, k)[:SHOWN]:
        words = []
        if (cpu := task.cpu_milli - int(nodes.cpu_left[n])) > 0:
            words.append(f"{cpu / 1000:g} vCPU")
        if (memory := task.memory_mib - int(nodes.memory_left[n])) > 0:
            words.append(f"{memory / 1024:.1f} GiB of memory")
        if 0 < task.gpu_milli < GPU_MILLI:
            if (share := task.gpu_milli - int(nodes.gpu_most[n])) > 0:
                words.append(f"{share / 1000:g} of one GPU")
        elif (whole := task.num_gpu - int(nodes.gpu_free[n])) > 0:
            words.append(f"{whole} whole free {'GPU' if whole == 1 else 'GPUs'}")
        found.append(Near(engine.datacenter.names[n], f"lacks {', '.join(words) or 'a place for one more task'}"))
    return found


def _allowed(engine: Engine, k: int) -> list[int]:
    """Nodes that the task may go to by model and pool and that could hold it if empty, least missing first."""
    nodes: Any = engine.state.nodes
    task, record = engine.classes[k], engine.state.tasks[k]
    never = (NO_MODEL, NO_CPU_MODEL, NO_POOL)
    open_ = np.array([fits(nodes[n], record) not in never for n in range(len(nodes))])
    large = (nodes.cpu_milli >= task.cpu_milli) & (nodes.memory_mib >= task.memory_mib) & (nodes.gpus >= task.num_gpu)
    cpu = np.maximum(0, task.cpu_milli - nodes.cpu_left) / max(1, task.cpu_milli)
    memory = np.maximum(0, task.memory_mib - nodes.memory_left) / max(1, task.memory_mib)
    if 0 < task.gpu_milli < GPU_MILLI:
        gpu = np.maximum(0, task.gpu_milli - nodes.gpu_most) / task.gpu_milli
    else:
        gpu = np.maximum(0, task.num_gpu - nodes.gpu_free) / max(1, task.num_gpu)
    order = np.lexsort((np.arange(len(nodes)), cpu + memory + gpu))
    return [int(n) for n in order if open_[n] and large[n]]


def moves_for(engine: Engine, k: int, there: Sequence[tuple[int, int, int, int]]) -> list[Near]:
    """Of some nodes, the one that fewest tasks would have to leave, with where they would go; none if none is found.

    `there`: number, class, node and GPUs of every task in place. Every move is tried in the engine and taken back.
    """
    by_node = defaultdict(list)
    for row in there:
        by_node[row[2]].append(row)
    best: list[tuple[int, int]] | None = None
    at = -1
    for n in _allowed(engine, k)[:TRIED]:
        most = MOST_MOVES if best is None else len(best) - 1
        found = _moves_off(engine, k, n, by_node[n], most)
        if found is not None:
            best, at = found, n
            if len(found) <= 1:
                break
    if best is None:
        return []
    names = engine.datacenter.names
    return [Near(names[at], f"task {number + 1} would move from {names[at]} to {names[to]}") for number, to in best]


def _moves_off(engine: Engine, k: int, n: int, tasks: Sequence[Any], most: int) -> list[tuple[int, int]] | None:
    """Moves (number of the task, its new node) after which class `k` fits node `n`; None if `most` are not enough."""
    state, plan = engine.state, engine.plan
    classes = engine.classes
    # Whole GPUs come free soonest where little is on them.
    order = sorted(tasks, key=lambda row: (classes[row[1]].num_gpu == 0, classes[row[1]].gpu_milli, row[0]))
    done: list[tuple[Any, int, int]] = []
    others = np.ones(len(engine.datacenter), dtype=np.bool_)
    others[n] = False
    try:
        for row in order[:most]:
            _, own, _, gpus = row
            release_one(state, plan, own, n, gpus)
            found = explain(engine, own, NO_LUCK, others)
            if found.node < 0:
                place_one(state, plan, own, n, gpus)
                continue
            place_one(state, plan, own, found.node, found.gpus)
            done.append((row, found.node, found.gpus))
            if fits(state.nodes[n], state.tasks[k]) == FITS:
                return [(row[0], to) for row, to, _ in done]
        return None
    finally:
        for row, to, gpus in reversed(done):
            release_one(state, plan, row[1], to, gpus)
            place_one(state, plan, row[1], n, row[3])
