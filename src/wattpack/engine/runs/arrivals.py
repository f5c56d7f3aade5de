"""The arrival run: tasks come one after another, each is placed or fails for good; a sample after every task."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.engine.core.columns import new_columns
from wattpack.engine.core.decide import NOWHERE, decide, pick
from wattpack.engine.core.failures import failure_reason
from wattpack.engine.core.faults import BAD_SCORE, CLASS, KIND, NO_FAULT, NOT_FINITE, faulty, raise_fault
from wattpack.engine.core.plan import Plan, new_plan
from wattpack.engine.core.scores import Scores, new_scores
from wattpack.engine.core.state import COLUMNS, FAILED, State, arrive, filter_all, new_state, place
from wattpack.engine.runs.record import Run
from wattpack.errors import RunError
from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix, new_world
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload, check_class, task_records


@kernel
def run_arrivals(
    state: State, plan: Plan, scores: Scores, sequence: Any, luck: Any, node: Any, gpus: Any, reason: Any, series: Any
) -> None:
    """Place the tasks of `sequence` (classes) in order.

    luck: float64[tasks, 2]. Filled per task: node int32 (NOWHERE if it failed), gpus int32 (bit set), reason uint8 (why
    it failed), series int64[tasks, COLUMNS] (the totals after it). Stops where `state.fault` is set.
    """
    for i in range(len(sequence)):
        k: Any = np.int64(sequence[i])  # as everyone else calls the steps: another type would be another compile
        arrive(state, plan, k)
        n = decide(state, plan, scores, k, luck[i, 0])
        node[i] = n
        if n == NOWHERE:
            state.totals[FAILED] += 1
            reason[i] = failure_reason(state, scores, k)
        else:
            picked = pick(state, plan, scores, k, n, luck[i, 1])
            gpus[i] = picked
            place(state, plan, k, n, picked)
        for column in range(COLUMNS):
            series[i, column] = state.totals[column]
        if faulty(state, k, i):
            return


class Engine:
    """A datacenter under one policy: its State, Plan and Scores, ready to take tasks of the given classes.

    A run knows its classes; a live cluster does not: `spare` classes can be added later.
    """

    def __init__(
        self,
        datacenter: Datacenter,
        classes: tuple[TaskClass, ...],
        mix: Mix,
        target: Target,
        profile: PowerProfile = PAPER,
        spare: int = 0,
    ) -> None:
        world = new_world(datacenter, target, profile)
        self.datacenter, self.classes, self.mix, self.profile, self.spare = datacenter, classes, mix, profile, spare
        self.plan = new_plan(mix, datacenter, target, profile, world)
        blank = TaskClass(0, 0, 0, 0)
        self.sharing = len(classes) if self.plan.amounts_only else 0
        self.state = new_state(datacenter, classes + (blank,) * spare, world, self.plan, profile, self.sharing)
        self.scores = new_scores(self.state, self.plan)

    def add_class(self, task: TaskClass) -> int:
        """Take in a class that was not known before, in the place of a spare one; returns its number."""
        check_class(task)
        if self.spare == 0:
            raise RunError(f"no spare class left beside {len(self.classes)}")
        k = len(self.classes)
        self.state.tasks[k] = task_records([task], self.datacenter, self.profile.default_cpu)[0]
        # The first look at the class is still to come, so no scores are wrong; the bits of the others stay as they are.
        self.state = self.state._replace(columns=new_columns(self.state.tasks, self.state.nodes, self.sharing))
        filter_all(self.state)
        self.classes, self.spare = (*self.classes, task), self.spare - 1
        return k

    def run(self, workload: Workload, luck: np.ndarray) -> Run:
        """Take the tasks of `workload`, whose classes must be the engine's, in order of arrival."""
        run = Run.empty(self.datacenter, workload, self.state.totals[:COLUMNS])
        if len(workload) > 0:
            columns = (run.node, run.gpus, run.reason, run.series)
            run_arrivals(self.state, self.plan, self.scores, workload.sequence, luck, *columns)
            self.stop_if_faulty(workload)
        return run

    def stop_if_faulty(self, workload: Workload | None = None) -> None:
        """Raise if the kernel that was called last came upon a score or price that is not finite."""
        if self.state.fault[KIND] != NO_FAULT:
            if self.state.fault[KIND] == BAD_SCORE:  # it stays in the scores: nothing is chosen from them any more
                self.scores.asked[self.state.columns.of[int(self.state.fault[CLASS])].column].overflow = NOT_FINITE
            raise_fault(self.state, self.plan, self.mix, self.datacenter, self.classes, workload)


def draw_luck(workload: Workload, rng: np.random.Generator | None) -> np.ndarray:
    """Two numbers in [0, 1) for each task, for policies that draw: the only chance in a run."""
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
    engine = Engine(datacenter, workload.classes, mix, target, profile)
    return engine.run(workload, draw_luck(workload, rng))
