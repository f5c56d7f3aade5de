"""The timed run: tasks come and go; those that fit nowhere are dropped. Means over time after a warm-up.

Events are ordered by (time, kind, sequence), departures before arrivals: what leaves at the moment another comes has
made room for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.decide import NOWHERE, decide, pick
from wattpack.engine.core.faults import faulty
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.scores import Scores
from wattpack.engine.core.state import (
    ALLOCATED,
    COLUMNS,
    CPU_POWER,
    FAILED,
    FRAGMENTATION,
    GPU_POWER,
    MICRO,
    State,
    arrive,
    change,
    place,
    release,
)
from wattpack.engine.runs.arrivals import Engine
from wattpack.engine.runs.departures import Departures, delay, no_departures, pop, push
from wattpack.jit import inner, inner_kernel, kernel
from wattpack.model.tasks import Workload


@inner
def pass_time(totals: Any, since_s: float, until_s: float, means: Any) -> None:
    """Add what held from `since_s` to `until_s` to the integrals of the totals; means[COLUMNS] is the time."""
    for column in range(COLUMNS):
        means[column] += totals[column] * (until_s - since_s)
    means[COLUMNS] += until_s - since_s


@inner_kernel
def let_leave(
    state: State,
    plan: Plan,
    heap: Departures,
    since_s: float,
    until_s: float,
    measured: bool,
    sequence: Any,
    node: Any,
    gpus: Any,
    integrals: Any,
) -> None:
    """Everything that leaves from `since_s` to `until_s`, and the time that passes."""
    now = since_s
    while heap.size[0] > 0 and heap.time_s[0] <= until_s:
        if measured:
            pass_time(state.totals, now, heap.time_s[0], integrals)
        now = heap.time_s[0]
        gone = pop(heap)
        left: Any = (np.int64(sequence[gone]), np.int64(node[gone]), np.int64(gpus[gone]))
        release(state, plan, left[0], left[1], left[2])
    if measured:
        pass_time(state.totals, now, until_s, integrals)


@kernel
def run_timed(
    state: State,
    plan: Plan,
    scores: Scores,
    sequence: Any,
    arrival_s: Any,
    duration_s: Any,
    luck: Any,
    measured_from: int,
    heap: Departures,
    node: Any,
    gpus: Any,
    integrals: Any,
    begin: int,
    end: int,
    clock: Any,
) -> None:
    """Let the tasks come and go, those from `begin` to `end`. `clock`, float64[1]: the time of the last event.

    `integrals`, float64[COLUMNS + 1]: over the time from arrival `measured_from` on. Filled per task: node int32
    (NOWHERE if it was dropped), gpus int32 (bit set).
    """
    now = clock[0]
    for i in range(begin, end):
        measured = i > measured_from
        let_leave(state, plan, heap, now, arrival_s[i], measured, sequence, node, gpus, integrals)
        now = arrival_s[i]
        k: Any = np.int64(sequence[i])
        arrive(state, plan, k)
        n = decide(state, plan, scores, k, luck[i, 0])
        node[i] = n
        if n == NOWHERE:
            state.totals[FAILED] += 1
        else:
            picked = pick(state, plan, scores, k, n, luck[i, 1])
            gpus[i] = picked
            place(state, plan, k, n, picked)
            push(heap, now + duration_s[i], i)
        if faulty(state, k, i):
            return
    clock[0] = now


class Steady(NamedTuple):
    """Means over the measured time."""

    eopc_w: float
    cpu_w: float
    gpu_w: float
    allocated_gpus: float
    grar: float  # of the tasks that came while measured: GPU placed / GPU asked for
    fragmentation_gpus: float
    arrivals: int  # measured
    moves: int = 0  # of tasks that were placed already, while measured
    lost_gpu_s: float = 0.0  # GPU-seconds that moved tasks were paused, while measured
    measured_s: float = 0.0
    mean_wait_s: float = 0.0  # of the tasks that came while measured: from arrival until their window closed
    largest_wait_s: float = 0.0

    @property
    def w_per_gpu(self) -> float:
        """Watts per GPU allocated: the fair measure where policies serve different amounts."""
        return self.eopc_w / self.allocated_gpus if self.allocated_gpus > 0 else float("nan")

    @property
    def paused_gpus(self) -> float:
        """GPUs that were held by paused tasks, mean over time."""
        return self.lost_gpu_s / self.measured_s if self.measured_s > 0 else 0.0


@kernel
def move_one(state: State, plan: Plan, k: int, source: int, old: int, to: int, new: int) -> None:
    """A task of class `k` goes from GPUs `old` of node `source` to `new` of `to`; the room there must be free already.

    To policies that remember, it has neither come nor left.
    """
    change(state, plan, k, to, new, 1)
    change(state, plan, k, source, old, -1)


# Given the tasks that are there, moves some of them: changes the state of the engine and `node` and `gpus`. Returns
# those that were moved, int64[moves]: a task that was moved twice stands there twice.
Mover = Callable[[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]], NDArray[np.int64]]


class Rounds:
    """Moves after every so many arrivals, at the moment of the last of them; what they cost, while measured.

    A moved task is paused for `pause_s` on its new place and leaves so much later.
    """

    def __init__(self, mover: Mover, every: int, pause_s: float = 0.0) -> None:
        self.mover, self.every, self.pause_s = mover, every, pause_s
        self.moves, self.lost_gpu_s = 0, 0.0

    def move(
        self, heap: Departures, workload: Workload, node: NDArray[np.int32], gpus: NDArray[np.int32], measured: bool
    ) -> None:
        moved = self.mover(heap.task[: heap.size[0]].copy(), node, gpus)
        if self.pause_s > 0:
            delay(heap, moved, self.pause_s)
        if measured:
            self.moves += len(moved)
            self.lost_gpu_s += self.pause_s * float(workload.gpu_request_milli()[moved].sum()) / 1000


def simulate_timed(
    engine: Engine,
    workload: Workload,
    arrival_s: NDArray[np.float64],
    duration_s: NDArray[np.float64],
    luck: NDArray[np.float64],
    measured_from: int,
    rounds: Rounds | None = None,
) -> tuple[Steady, NDArray[np.int32], NDArray[np.int32]]:
    """Run `workload` with these times (arrivals ascending) on `engine`; also the node and the GPUs of each task."""
    tasks = len(workload)
    node, gpus = np.full(tasks, NOWHERE, dtype=np.int32), np.zeros(tasks, dtype=np.int32)
    heap, integrals = no_departures(tasks), np.zeros(COLUMNS + 1)
    state, plan, scores = engine.state, engine.plan, engine.scores
    clock, stride = arrival_s[:1].copy(), rounds.every if rounds is not None else max(tasks, 1)
    for begin in range(0, tasks, stride):
        if rounds is not None and begin > 0:
            rounds.move(heap, workload, node, gpus, begin > measured_from)
        times = (arrival_s, duration_s, luck, measured_from)
        part = (begin, min(begin + stride, tasks), clock)
        run_timed(state, plan, scores, workload.sequence, *times, heap, node, gpus, integrals, *part)
        engine.stop_if_faulty(workload)
    return steady_of(workload, node, integrals, measured_from, rounds), node, gpus


def steady_of(
    workload: Workload,
    node: NDArray[np.int32],
    integrals: NDArray[np.float64],
    measured_from: int,
    rounds: Rounds | None = None,
) -> Steady:
    """The means of a run: `node` by task, `integrals` as `run_timed` fills them."""
    means = integrals[:COLUMNS] / integrals[COLUMNS] if integrals[COLUMNS] > 0 else np.full(COLUMNS, np.nan)
    asked = workload.gpu_request_milli()[measured_from:]
    placed = asked[node[measured_from:] != NOWHERE].sum()
    return Steady(
        eopc_w=float(means[CPU_POWER] + means[GPU_POWER]) / 1000,
        cpu_w=float(means[CPU_POWER]) / 1000,
        gpu_w=float(means[GPU_POWER]) / 1000,
        allocated_gpus=float(means[ALLOCATED]) / 1000,
        grar=float(placed / asked.sum()) if asked.sum() > 0 else 1.0,
        fragmentation_gpus=float(means[FRAGMENTATION:].sum()) / MICRO / 1000,
        arrivals=len(workload) - measured_from,
        moves=rounds.moves if rounds is not None else 0,
        lost_gpu_s=rounds.lost_gpu_s if rounds is not None else 0.0,
        measured_s=float(integrals[COLUMNS]),
    )
