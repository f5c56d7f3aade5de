"""An arrival run in which the target workload is not given but learnt from the tasks seen so far."""

from __future__ import annotations

import numpy as np

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.faults import NOWHERE
from wattpack.engine.core.state import COLUMNS, FAILED, REQUESTED
from wattpack.engine.core.take import place_many
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.engine.runs.record import Run
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload

LEARNT = "learnt"  # what a user says in the place of a trace
FIRST = 25  # tasks after which the target is learnt for the first time; then at twice as many, and so on


def lessons(tasks: int) -> list[int]:
    """The numbers of tasks after which the target is learnt: 0, 25, 50, 100, ... below `tasks`."""
    found = [0]
    while (after := max(FIRST, 2 * found[-1])) < tasks:
        found.append(after)
    return found


def simulate_learning(
    datacenter: Datacenter,
    workload: Workload,
    mix: Mix,
    rng: np.random.Generator | None = None,
    profile: PowerProfile = PAPER,
) -> Run:
    """`simulate` without a target: the engine is built anew for each lesson, with every task where it is.

    The run's fragmentation is measured against what was known at the time.
    """
    luck = draw_luck(workload, rng)
    whole: Run | None = None
    ends = [*lessons(len(workload))[1:], len(workload)]
    for start, end in zip(lessons(len(workload)), ends, strict=True):
        seen = workload.with_sequence(workload.sequence[:start])
        engine = Engine(datacenter, workload.classes, mix, Target.of(seen), profile)
        if whole is None:
            whole = Run.empty(datacenter, workload, engine.state.totals[:COLUMNS])
        else:
            put_back(engine, whole, start)
        names = workload.task_names[start:end] if workload.task_names else None
        tasks = Workload(workload.classes, workload.sequence[start:end], names, workload.name)
        part = run_arrivals(engine, tasks, luck[start:end])
        for column in ("node", "gpus", "reason", "series"):
            getattr(whole, column)[start:end] = getattr(part, column)
    assert whole is not None
    return whole


def put_back(engine: Engine, run: Run, tasks: int) -> None:
    """The first `tasks` of a run where it has put them."""
    placed = np.flatnonzero(run.node[:tasks] != NOWHERE)
    k = run.workload.sequence[placed].astype(np.int64)
    place_many(engine.state, engine.plan, k, run.node[placed].astype(np.int64), run.gpus[placed].astype(np.int64))
    for column in (REQUESTED, FAILED):
        engine.state.totals[column] = run.series[tasks - 1, column]
