"""How long nodes stay busy, as far as it is known: for policies that let nodes run empty (`Policy.extends`).

A node can sleep when its last task has left. Where lengths of tasks are told, exactly or as estimates, that is the
latest expected end of its tasks. Where they are not told, it is a distribution: groups of tasks alike (class, class of
service) have survival curves, learnt from tasks that have ended and those that still run (lengths.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.moments.options import LEARNT, NOT_USED, TimeOptions
from wattpack.engine.moments.sleep_run import SleepRun
from wattpack.model.timed_tasks import TimedTasks

NOBODY = -1

# Ages and times to come, in octaves: bin 0 is the first minute, bin b from FIRST_S * 2**(b - 1) to FIRST_S * 2**b.
BINS = 16  # up to 22 days
FIRST_S = 60.0

PRICE = 0.4  # see docs/research/sleep.md


class BusyRun(NamedTuple):
    """Arrays only, so that kernels change it in place. Empty where no policy asks for it."""

    on: bool
    learnt: bool  # whether lengths are learnt
    price: float  # of the extension (extension.py)
    longest: float  # the largest `slowness` of a node
    saved_w: NDArray[np.float64]  # [nodes] idle watts less those asleep

    # Who is on a node: a list through `before` and `after`.
    first: NDArray[np.int64]  # [nodes] task or NOBODY
    before: NDArray[np.int64]  # [tasks]
    after: NDArray[np.int64]  # [tasks]
    since_s: NDArray[np.float64]  # [tasks] when it was placed, then when it started

    # Told lengths.
    length_s: NDArray[np.float64]  # [tasks] expected, at the reference speed
    task_end_s: NDArray[np.float64]  # [tasks] expected
    end_s: NDArray[np.float64]  # [nodes] expected end of the last task

    # Learnt lengths. The last groups are the wider ones that the others belong to.
    group: NDArray[np.int64]  # [tasks]
    wider: NDArray[np.int64]  # [groups] the wider group, NOBODY: it is one
    age_bin: NDArray[np.int64]  # [tasks]
    reached: NDArray[np.float64]  # [groups, BINS + 1] tasks that got to this bin
    ended: NDArray[np.float64]  # [groups, BINS] tasks that ended in it
    seen: NDArray[np.float64]  # [groups, 2] ended tasks: so far, and when its curves were made
    survive: NDArray[np.float64]  # [BINS + 3] scratch
    weight: NDArray[np.float64]  # [groups, BINS] of a time to come in the mean length of a new task
    gone: NDArray[np.float64]  # [groups, BINS, BINS] share of the tasks of this age that are gone by then
    node_gone: NDArray[np.float64]  # [nodes, BINS] probability that all tasks of the node are gone by then
    next_node: NDArray[np.int64]  # [1] whose tasks are looked at next: they grow older


def new_busy_run(sleep: SleepRun, tasks: TimedTasks, options: TimeOptions, wanted: bool) -> BusyRun:
    on = sleep.on and wanted and options.durations != NOT_USED
    learnt = on and options.durations == LEARNT
    nodes, count = (len(sleep.nodes), len(tasks)) if on else (0, 0)
    group, wider = groups_of(tasks) if learnt else (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    groups = len(wider)
    told = options.expected_s if options.expected_s is not None else tasks.duration_s
    saved: Any = sleep.nodes.idle_mw - sleep.nodes.asleep_mw
    return BusyRun(
        on=on,
        learnt=learnt,
        price=PRICE,
        longest=1.0 if options.speeds is None else float(options.speeds.slowness.max(initial=1.0)),
        saved_w=np.asarray(saved, dtype=np.float64)[:nodes] / 1000,
        first=np.full(nodes, NOBODY, dtype=np.int64),
        before=np.full(count, NOBODY, dtype=np.int64),
        after=np.full(count, NOBODY, dtype=np.int64),
        since_s=np.zeros(count),
        length_s=np.array(told[: 0 if learnt else count], dtype=np.float64),
        task_end_s=np.zeros(0 if learnt else count),
        end_s=np.zeros(nodes),
        group=group,
        wider=wider,
        age_bin=np.zeros(len(group), dtype=np.int64),
        reached=np.zeros((groups, BINS + 1)),
        ended=np.zeros((groups, BINS)),
        seen=np.full((groups, 2), -1.0),
        survive=np.zeros(BINS + 3),
        weight=np.zeros((groups, BINS)),
        gone=np.zeros((groups, BINS, BINS)),
        node_gone=np.ones((nodes if learnt else 0, BINS)),
        next_node=np.zeros(1, dtype=np.int64),
    )


def groups_of(tasks: TimedTasks) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The group of each task, by class and class of service, and the wider group of each group, by class of service."""
    services = sorted(set(tasks.service_class))
    place = {name: i for i, name in enumerate(services)}
    service = np.array([place[name] for name in tasks.service_class], dtype=np.int64)
    keys = tasks.workload.sequence.astype(np.int64) * max(len(services), 1) + service
    found, group = np.unique(keys, return_inverse=True)
    wider = len(found) + found % max(len(services), 1)
    return group.astype(np.int64), np.append(wider, np.full(len(services), NOBODY)).astype(np.int64)
