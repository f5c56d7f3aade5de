"""The arrival run: tasks arrive one after another, each is placed or fails for good; totals are recorded after each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.failures import failure_reason
from wattpack.engine.core.faults import faulty
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import COLUMNS, NOWHERE, State
from wattpack.engine.core.take import NO_WISH, take_task
from wattpack.engine.runs.record import Run
from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload

MOST_CLASSES = 1024  # of an engine: beyond, tasks are taken in parts


@kernel
def take_in_order(
    state: State, plan: Plan, scores: Scores, sequence: Any, luck: Any, node: Any, gpus: Any, reason: Any, series: Any
) -> None:
    """Take in the tasks of `sequence` (classes) in order. Stops where `state.fault` is set.

    luck: float64[tasks, 2]. Filled per task: node int32 (NOWHERE if it failed), gpus int32 (bit set), reason uint8 (why
    it failed), series int64[tasks, COLUMNS] (the totals after it).
    """
    for i in range(len(sequence)):
        k: Any = np.int64(sequence[i])  # int64, as in all other calls of these steps: another type is another compile
        node[i], gpus[i] = take_task(state, plan, scores, k, luck[i], NO_WISH)
        if node[i] == NOWHERE:
            reason[i] = failure_reason(state, scores, k)
        for column in range(COLUMNS):
            series[i, column] = state.totals[column]
        if faulty(state, k, i):
            return


def run_arrivals(engine: Engine, workload: Workload, luck: NDArray[np.float64]) -> Run:
    """Let the tasks of `workload`, whose classes must be the engine's, arrive in order."""
    run = Run.empty(engine.datacenter, workload, engine.state.totals[:COLUMNS])
    if len(workload) > 0:
        columns = (run.node, run.gpus, run.reason, run.series)
        take_in_order(engine.state, engine.plan, engine.scores, workload.sequence, luck, *columns)
        engine.stop_if_faulty(workload)
    return run


def draw_luck(workload: Workload, rng: np.random.Generator | None) -> np.ndarray:
    """Two numbers in [0, 1) for each task, for policies that draw: the only randomness in a run."""
    return (rng or np.random.default_rng(0)).random((len(workload), 2))


def simulate(
    datacenter: Datacenter,
    workload: Workload,
    mix: Mix,
    target: Target,
    rng: np.random.Generator | None = None,
    profile: PowerProfile = PAPER,
) -> Run:
    """One arrival run on an empty copy of `datacenter`, ties to the first node. `rng` feeds policies that draw."""
    luck = draw_luck(workload, rng)
    if len(workload.classes) > MOST_CLASSES:
        return _run_in_parts(datacenter, workload, mix, target, luck, profile)
    return run_arrivals(Engine(datacenter, workload.classes, mix, target, profile), workload, luck)


def _run_in_parts(
    datacenter: Datacenter,
    workload: Workload,
    mix: Mix,
    target: Target,
    luck: NDArray[np.float64],
    profile: PowerProfile,
) -> Run:
    """The same run, a part of the tasks after another, each with an engine of its own classes only.

    Scores are kept for every class and node, and which classes fit is a table of classes by classes: with 50,000
    classes that took over 11 GB. A task of a class that was in an earlier part too is scored anew.
    """
    whole, engine = None, None
    for start, end in parts_by_classes(workload.sequence, MOST_CLASSES):
        used, sequence = np.unique(workload.sequence[start:end], return_inverse=True)
        classes = tuple(workload.classes[k] for k in used.tolist())
        if engine is None or whole is None:
            engine = Engine(datacenter, classes, mix, target, profile)
            whole = Run.empty(datacenter, workload, engine.state.totals[:COLUMNS])
        else:
            engine.change_classes(classes)
        names = tuple(workload.task_name(i) for i in range(start, end))
        part = run_arrivals(engine, Workload(classes, sequence.astype(np.int32), names, workload.name), luck[start:end])
        for column in ("node", "gpus", "reason", "series"):
            getattr(whole, column)[start:end] = getattr(part, column)
    assert whole is not None
    return whole


def parts_by_classes(sequence: NDArray[np.int32], most: int) -> list[tuple[int, int]]:
    """The tasks cut, in order, into parts that have at most `most` classes each: where each begins and ends."""
    found, start, seen = [], 0, set[int]()
    for i, k in enumerate(sequence.tolist()):
        if k not in seen and len(seen) == most:
            found.append((start, i))
            start, seen = i, set()
        seen.add(k)
    return [*found, (start, len(sequence))]
