"""The nodes of a run that sleep: timers, what they draw, who waits for them. Empty where nodes do not sleep.

The state of a node is `closed` of its record in the State: AWAKE, or one of the others of model/sleeping.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.state import State
from wattpack.engine.moments.events import IDLE_ENDS, Events, new_events
from wattpack.engine.moments.options import Sleep
from wattpack.engine.moments.rows import SLEEP_CHANGE, SleepChange
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import nodes_power_mw
from wattpack.model.records import RecordTable
from wattpack.model.sleeping import RESERVE_PERCENT, idle_times_s, reserve_of, sleep_order

NODE_STATES = ("awake", "waking", "shutting down", "asleep")  # by the numbers of model/sleeping.py

# A node: 64 bytes.
SLEEP_NODE = np.dtype(
    [
        ("empty_since_s", "f8"),
        ("idle_s", "f8"),  # empty for this long, it may sleep; inf: never
        ("idle_mw", "i8"),  # drawn when empty and awake
        ("asleep_mw", "i8"),
        ("sleepy", "i8"),  # 1: empty for long enough, and awake
        ("first", "i8"),  # task that waits for its wake, or NOBODY; the others follow by `next`
        ("last", "i8"),
        ("timer", "i8"),  # 1: it is in `idle_ends`
    ]
)

# The only row of `SleepRun.now`.
SLEEP_NOW = np.dtype(
    [
        ("free_gpus", "i8"),  # wholly free, on nodes that are awake or waking
        ("asleep_mw", "i8"),  # drawn by nodes asleep
        ("saved_mw", "i8"),  # by nodes asleep, against idle
        ("transition_mw", "i8"),  # drawn by nodes that wake or shut down
        ("asleep_nodes", "i8"),
        ("waking_nodes", "i8"),
        ("transition_nodes", "i8"),  # that wake or shut down
        ("busy_nodes", "i8"),  # awake, with a task
        ("wakes", "i8"),  # so far
        ("asleep_node_s", "f8"),  # integral of the nodes asleep
    ]
)


class SleepNode(Protocol):
    empty_since_s: float
    idle_s: float
    idle_mw: int
    asleep_mw: int
    sleepy: int
    first: int
    last: int
    timer: int


class SleepNow(Protocol):
    free_gpus: int
    asleep_mw: int
    saved_mw: int
    transition_mw: int
    asleep_nodes: int
    waking_nodes: int
    transition_nodes: int
    busy_nodes: int
    wakes: int
    asleep_node_s: float


class SleepRun(NamedTuple):
    """Arrays only, so that kernels change it in place."""

    on: bool
    shutdown_s: float
    wake_s: float
    reserve_gpus: int
    nodes: RecordTable[SleepNode]
    now: RecordTable[SleepNow]  # [1]
    order: NDArray[np.int64]  # [nodes] in which they are looked at: most idle watts per GPU first
    sleepy_by_gpus: NDArray[np.int64]  # [MAX_GPUS + 1] how many sleepy nodes have that number of GPUs
    wake_for_reserve: bool
    asleep: NDArray[np.int64]  # [nodes] scratch: 1 where the node is asleep
    due: NDArray[np.int64]  # [nodes] scratch: nodes whose wake or shutdown ends now, or that go to sleep
    idle_ends: Events  # when nodes may have been empty for long enough: at most one a node, which may be too early
    changes: RecordTable[SleepChange]  # in order, the first `noted`; of length 0 where nobody asked
    noted: NDArray[np.int64]  # [1]


def new_sleep_run(state: State, sleep: Sleep | None, noted_tasks: int | None = None) -> SleepRun:
    """All nodes are awake, and empty since the start. Sets what a placement adds on the empty nodes of `state`.

    `noted_tasks`: tasks of the run, if every change of a node's state shall be noted.
    """
    on, told = sleep is not None, sleep or Sleep()
    count = len(state.nodes) if on else 0
    nodes: Any = np.zeros(count, dtype=SLEEP_NODE).view(np.recarray)
    now: Any = np.zeros(1, dtype=SLEEP_NOW).view(np.recarray)
    gpus = np.asarray(state.nodes.gpus, dtype=np.int64)[:count]
    nodes.idle_mw = np.asarray(nodes_power_mw(state.nodes), dtype=np.int64)[:count]
    nodes.asleep_mw = asleep_power_mw(nodes.idle_mw, told)
    nodes.idle_s = idle_times_s(nodes.idle_mw, nodes.asleep_mw, told.idle_s, told.shutdown_s + told.wake_s)
    nodes.first = nodes.last = -1
    now.free_gpus = gpus.sum()
    if on:
        empty: Any = state.nodes
        empty.wake_mw = nodes.idle_mw - nodes.asleep_mw
    reserve = reserve_of(f"{RESERVE_PERCENT}%", int(gpus.sum())) if told.reserve_gpus is None else told.reserve_gpus
    noted = 0 if noted_tasks is None else most_changes(count, noted_tasks, told.wake_for_reserve)
    changes: Any = np.zeros(noted, dtype=SLEEP_CHANGE).view(np.recarray)
    return SleepRun(
        on=on,
        shutdown_s=float(told.shutdown_s),
        wake_s=float(told.wake_s),
        reserve_gpus=reserve,
        nodes=nodes,
        now=now,
        order=sleep_order(nodes.idle_mw, gpus),
        sleepy_by_gpus=np.zeros(MAX_GPUS + 1, dtype=np.int64),
        wake_for_reserve=told.wake_for_reserve,
        asleep=np.zeros(count, dtype=np.int64),
        due=np.zeros(count, dtype=np.int64),
        idle_ends=first_idle_ends(nodes),
        changes=changes,
        noted=np.zeros(1, dtype=np.int64),
    )


def asleep_power_mw(idle_mw: NDArray[np.int64], sleep: Sleep) -> NDArray[np.int64]:
    """What nodes draw asleep: never more than idle."""
    return np.minimum(idle_mw, round(sleep.sleep_w * 1000))


def most_changes(nodes: int, tasks: int, wake_for_reserve: bool = False) -> int:
    """A task wakes at most one node, and a node shuts down once before its first wake and once after each.

    A task takes at most MAX_GPUS from the reserve, and every node that wakes for it adds one or more.
    """
    wakes = tasks * (1 + MAX_GPUS) if wake_for_reserve else tasks
    shutdowns = nodes + wakes
    return 2 * shutdowns + 2 * wakes


def first_idle_ends(nodes: Any) -> Events:
    """The timers of the nodes that may sleep, all empty since 0."""
    may_sleep = np.flatnonzero(np.isfinite(nodes.idle_s))
    soonest = may_sleep[np.lexsort((may_sleep, nodes.idle_s[may_sleep]))]
    events = new_events(len(nodes))
    rows, size = events.rows, len(soonest)
    rows.time_s[:size], rows.kind[:size], rows.number[:size] = nodes.idle_s[soonest], IDLE_ENDS, soonest  # a heap
    events.size[0] = size
    nodes.timer[soonest] = 1
    return events
