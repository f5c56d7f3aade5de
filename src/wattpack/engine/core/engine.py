"""A datacenter under one policy: the State, Plan and Scores that every run and the live service work on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.columns import new_columns
from wattpack.engine.core.faults import BAD_SCORE, CLASS, KIND, NO_FAULT, NOT_FINITE, raise_fault
from wattpack.engine.core.plan import new_plan
from wattpack.engine.core.score_cache import new_scores
from wattpack.engine.core.state import filter_all, new_state
from wattpack.errors import RunError, UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix, new_world
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload, check_class, task_records

MOST_BYTES = 8 * 10**9
MANY_CLASSES = 4096  # fewer take little


def check_room(classes: tuple[TaskClass, ...], nodes: int) -> None:
    """Refuse classes that would take too much memory before any is taken: tables by amount and class, and scores."""
    if len(classes) <= MANY_CLASSES:
        return
    amounts = max(len({task.cpu_milli for task in classes}), len({task.memory_mib for task in classes}))
    needed = len(classes) * (16 * amounts + 3 * nodes)
    if needed > MOST_BYTES:
        raise UserError(
            f"{len(classes):,} different requests on {nodes:,} nodes take about {needed / 1e9:,.0f} GB, expected at "
            f"most {MOST_BYTES / 1e9:,.0f}: round what tasks ask for, to whole vCPU and GiB for example"
        )


class Engine:
    """A datacenter under one policy, ready to take tasks of the given classes.

    A run knows its classes from the start. A live cluster does not: `spare` of them can be added later. Where speeds of
    GPUs count: `batch`, classes that run `slowness` times as long, by model.
    """

    def __init__(
        self,
        datacenter: Datacenter,
        classes: tuple[TaskClass, ...],
        mix: Mix,
        target: Target,
        profile: PowerProfile = PAPER,
        spare: int = 0,
        batch: NDArray[np.bool_] | None = None,
        slowness: NDArray[np.float64] | None = None,
    ) -> None:
        check_room(classes, len(datacenter))
        world = new_world(datacenter, target, profile)
        self.datacenter, self.classes, self.mix, self.profile, self.spare = datacenter, classes, mix, profile, spare
        self.plan = new_plan(mix, datacenter, target, profile, world)
        blank = TaskClass(0, 0, 0, 0)
        self.sharing = len(classes) if self.plan.amounts_only else 0
        self.state = new_state(datacenter, classes + (blank,) * spare, world, self.plan, profile, self.sharing, batch)
        if slowness is not None:
            nodes: Any = self.state.nodes
            nodes.slowness = slowness[datacenter.model]
        self.scores = new_scores(self.state, self.plan)

    def add_class(self, task: TaskClass) -> int:
        """Add a class, in the place of a spare one; returns its number."""
        check_class(task)
        if self.spare == 0:
            raise RunError(f"no spare class left beside {len(self.classes)}")
        k = len(self.classes)
        self.state.tasks[k] = task_records([task], self.datacenter, self.profile.default_cpu)[0]
        # No scores of this class are cached yet, so none become wrong. The other classes keep their bits.
        self.state = self.state._replace(columns=new_columns(self.state.tasks, self.state.nodes, self.sharing))
        filter_all(self.state)
        self.classes, self.spare = (*self.classes, task), self.spare - 1
        return k

    def change_classes(self, classes: tuple[TaskClass, ...]) -> None:
        """Take tasks of these classes from now on, and no others. Nodes, totals and the policies' memory stay.

        What is cached follows from the nodes alone and is worked out again: decisions are the same.
        """
        tasks: Any = task_records(classes, self.datacenter, self.profile.default_cpu)
        self.sharing = len(classes) if self.plan.amounts_only else 0
        columns = new_columns(tasks, self.state.nodes, self.sharing)
        words, nodes, ring = columns.by_type.shape[1], len(self.state.nodes), len(self.state.changed)
        self.state = self.state._replace(
            tasks=tasks,
            columns=columns,
            fit=np.zeros((nodes, words), dtype=np.int64),
            held=np.zeros((nodes, words), dtype=np.int64),
            touched=np.zeros((words, ring), dtype=np.int64),
        )
        filter_all(self.state)
        self.classes, self.spare = classes, 0
        self.scores = new_scores(self.state, self.plan)

    def stop_if_faulty(self, workload: Workload | None = None) -> None:
        """Raise a RunError if the kernel that was called last met a score or price that is not finite."""
        if self.state.fault[KIND] != NO_FAULT:
            if self.state.fault[KIND] == BAD_SCORE:  # it stays in the cache: nothing more is chosen from that column
                self.scores.cache.asked[
                    self.state.columns.of[int(self.state.fault[CLASS])].column
                ].overflow = NOT_FINITE
            raise_fault(self.state, self.plan, self.mix, self.datacenter, self.classes, workload)
