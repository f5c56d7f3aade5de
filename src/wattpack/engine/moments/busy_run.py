"""How long nodes stay busy, as far as it is known: for policies that let nodes run empty (`Policy.extends`).

A node can sleep when its last task has left. Where lengths of tasks are told, exactly or as estimates, that is the
latest expected end of its tasks. Where they are not told, it is a distribution: groups of tasks alike (class, class of
service, owner) have survival curves, learnt from tasks that have ended and those that still run (lengths.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.state import NOWHERE, State
from wattpack.engine.moments.options import LEARNT, NOT_USED, TimeOptions
from wattpack.engine.moments.sleep_run import SleepRun
from wattpack.model.power import GPU_MILLI
from wattpack.model.records import RecordTable
from wattpack.model.timed_tasks import TimedTasks

NOBODY = -1

# Ages and times to come, in octaves: bin 0 is the first minute, bin b from FIRST_S * 2**(b - 1) to FIRST_S * 2**b.
BINS = 16  # up to 22 days
FIRST_S = 60.0

# Measured: docs/research/sleep.md.
PRICE = 0.4
UNSURE = 0.5  # part of the price that learnt lengths count for on nodes in use
# Enable only with exact durations; with noisy estimates (wrong by a factor of 2) the two waste energy.
EMPTY_NODE = 0.7  # part of the price that an empty node costs
EARLY = 0.1  # part of the price for a task that leaves long before its node ends
DOUBT = 20.0  # see `BusyRun.doubt`
OWNER_TASKS = 10  # an owner with fewer tasks of a class has no group there: it would lean on the wider one anyway

# What a choice reads of each node, side by side: the records of nodes lie far apart.
HOST = np.dtype([("saved_w", "f8"), ("gpu_milli", "f8"), ("cpu_milli", "f8"), ("slowness", "f8")])


class Host(Protocol):
    saved_w: float  # idle watts less those asleep
    gpu_milli: float  # at least 1, as cpu_milli: both are divisors
    cpu_milli: float
    slowness: float


class BusyRun(NamedTuple):
    """Arrays only, so that kernels change it in place. Empty where no policy asks for it."""

    on: bool
    learnt: bool  # whether lengths are learnt
    empty_price: float  # of the extension (extension.py), for empty nodes
    busy_price: float  # the same, for nodes in use
    early: float  # share of that price for a task that leaves long before its node ends
    doubt: float  # ended tasks of a class of service at which what was learnt counts half; 0: it counts at once
    hosts: RecordTable[Host]  # [nodes]
    best_value: NDArray[np.float64]  # [1] scratch: of the best node so far
    best_node: NDArray[np.int64]  # [1]

    # Nodes by type: empty ones of a type are equal, so that only the first of them can be chosen.
    by_type: NDArray[np.int64]  # [nodes] all nodes of the first type in node order, then those of the next
    place: NDArray[np.int64]  # [nodes] of a node in `by_type`
    type_of: NDArray[np.int64]  # [nodes]
    type_end: NDArray[np.int64]  # [types] place behind its last node
    first_empty: NDArray[np.int64]  # [types] no node of the type before this place is awake and empty

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
    wider: NDArray[np.int64]  # [groups] the wider group, NOBODY: there is none
    edge_s: NDArray[np.float64]  # [BINS] age at which a bin ends
    age_bin: NDArray[np.int64]  # [tasks]
    reached: NDArray[np.float64]  # [groups, BINS + 1] tasks that got to this bin
    ended: NDArray[np.float64]  # [groups, BINS] tasks that ended in it
    seen: NDArray[np.float64]  # [groups, 2] ended tasks: so far, and when its curves were made
    survive: NDArray[np.float64]  # [BINS + 3] scratch
    weight: NDArray[np.float64]  # [groups, BINS] of a time to come in the mean length of a new task
    gone: NDArray[np.float64]  # [groups, BINS, BINS] share of the tasks of this age that are gone by then
    node_gone: NDArray[np.float64]  # [nodes, BINS] probability that all tasks of the node are gone by then
    next_node: NDArray[np.int64]  # [1] whose tasks are looked at next: they grow older


def new_busy_run(state: State, sleep: SleepRun, tasks: TimedTasks, options: TimeOptions, wanted: bool) -> BusyRun:
    on = sleep.on and wanted and options.durations != NOT_USED
    learnt = on and options.durations == LEARNT
    nodes, count = (len(sleep.nodes), len(tasks)) if on else (0, 0)
    group, wider = groups_of(tasks) if learnt else (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    groups = len(wider)
    exact = on and not learnt and options.expected_s is None
    told = options.expected_s if options.expected_s is not None else tasks.duration_s
    types, type_of = np.unique(np.asarray(state.nodes.type)[:nodes], return_inverse=True)
    by_type = np.argsort(type_of, kind="stable")
    type_end = np.searchsorted(type_of[by_type], np.arange(len(types)), side="right")
    return BusyRun(
        on=on,
        learnt=learnt,
        empty_price=PRICE * (EMPTY_NODE if exact else 1.0),
        busy_price=PRICE * (UNSURE if learnt else 1.0),
        early=EARLY if exact else 0.0,
        doubt=DOUBT,
        hosts=hosts_of(state, sleep, nodes),
        best_value=np.zeros(1),
        best_node=np.full(1, NOWHERE, dtype=np.int64),
        by_type=by_type.astype(np.int64),
        place=np.argsort(by_type).astype(np.int64),
        type_of=type_of.astype(np.int64),
        type_end=type_end.astype(np.int64),
        first_empty=np.append(0, type_end)[:-1].astype(np.int64),
        first=np.full(nodes, NOBODY, dtype=np.int64),
        before=np.full(count, NOBODY, dtype=np.int64),
        after=np.full(count, NOBODY, dtype=np.int64),
        since_s=np.zeros(count),
        length_s=np.array(told[: 0 if learnt else count], dtype=np.float64),
        task_end_s=np.zeros(0 if learnt else count),
        end_s=np.zeros(nodes),
        group=group,
        wider=wider,
        edge_s=np.array([FIRST_S * 2.0**b for b in range(BINS)]),
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


def hosts_of(state: State, sleep: SleepRun, nodes: int) -> Any:
    records: Any = state.nodes
    found: Any = np.zeros(nodes, dtype=HOST).view(np.recarray)
    saved_mw: Any = sleep.nodes.idle_mw - sleep.nodes.asleep_mw
    found.saved_w = np.asarray(saved_mw, dtype=np.float64)[:nodes] / 1000
    found.gpu_milli = np.maximum(GPU_MILLI * np.asarray(records.gpus, dtype=np.int64)[:nodes], 1)
    found.cpu_milli = np.maximum(np.asarray(records.cpu_milli, dtype=np.int64)[:nodes], 1)
    found.slowness = np.asarray(records.slowness)[:nodes]
    return found


def groups_of(tasks: TimedTasks) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The group of each task, and the wider group of each group.

    Groups are classes of one class of service; the wider group is the class of service. Where owners are named, those
    with OWNER_TASKS tasks of such a group have one of their own, for which it is the wider one.
    """
    services, service = np.unique(np.array(tasks.service_class, dtype=object).astype(str), return_inverse=True)
    keys = tasks.workload.sequence.astype(np.int64) * max(len(services), 1) + service
    found, group = np.unique(keys, return_inverse=True)
    owners, owner = np.unique(np.array(tasks.owner, dtype=object).astype(str), return_inverse=True)
    pairs, of_pair, count = np.unique(group * max(len(owners), 1) + owner, return_inverse=True, return_counts=True)
    named = (owners[pairs % max(len(owners), 1)] != "") & (count >= OWNER_TASKS)
    own = np.cumsum(named) - 1  # groups of owners come first
    narrow = int(named.sum())
    wider = np.concatenate(
        [
            narrow + pairs[named] // max(len(owners), 1),
            narrow + len(found) + found % max(len(services), 1),
            np.full(len(services), NOBODY),
        ]
    )
    return np.where(named[of_pair], own[of_pair], narrow + group).astype(np.int64), wider.astype(np.int64)
