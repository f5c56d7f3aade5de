"""The one State of a run, and its two changes: `place` and `release`, exact inverses of each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.columns import Columns, fitting_classes, new_columns, steps_reached
from wattpack.engine.core.faults import FAULT_PLACES
from wattpack.engine.core.plan import Plan
from wattpack.jit import call_for_none, inner, kernel
from wattpack.model.fragmentation import node_sums
from wattpack.model.nodes import MAX_GPUS, Datacenter
from wattpack.model.policy import AFTER_CHANGE, ARRIVAL, BEFORE_CHANGE, DEPARTURE, World
from wattpack.model.power import GPU_MILLI, PowerProfile, cpu_power_mw, gpu_power_mw
from wattpack.model.records import NodeRecord, RecordTable, TaskRecord
from wattpack.model.tasks import TaskClass, task_records

# Columns of `State.totals` and of a recorded series, all integers.
REQUESTED = 0  # milli-GPU of the tasks that arrived
ALLOCATED = 1  # milli-GPU of the tasks that are placed
FAILED = 2  # tasks that fitted nowhere
CPU_POWER = 3  # milliwatts
GPU_POWER = 4  # milliwatts
BASE_POWER = 5  # milliwatts
FRAGMENTATION = 6  # six columns from here: by reason, millionths of a milli-GPU
COLUMNS = FRAGMENTATION + 6
# Two more in `State.totals`.
CHANGES = COLUMNS  # number of changes of nodes so far
NEXT_LOOK = COLUMNS + 1  # place in the policy's order where the next window of nodes begins (model/policy.py, `Look`)

MICRO = 1_000_000
NOWHERE = -1  # in place of a node: the task fits none, or a fault was noted


class State(NamedTuple):
    """Everything that changes during a run. Arrays only, so that kernels change it in place."""

    nodes: RecordTable[NodeRecord]  # in node order
    tasks: RecordTable[TaskRecord]  # the classes of the workload
    world: World
    totals: NDArray[np.int64]  # [COLUMNS + 2]
    fault: NDArray[np.float64]  # a score or price that is not finite, see faults.py
    memory: NDArray[np.float64]  # memory of the policies, one slice per component
    columns: Columns
    fit: NDArray[np.int64]  # [nodes, words] classes that fit the node now
    held: NDArray[
        np.int64
    ]  # [nodes, words] classes whose cached scores list this node as feasible; scores.py writes it
    # Two rings of the latest changes of nodes: change i is in place i % len.
    changed: NDArray[np.int32]  # the node, -1: it has changed again since
    touched: NDArray[
        np.int64
    ]  # [words, ring] classes that have to look at the change: `held` before it or `fit` after it


def new_state(
    datacenter: Datacenter,
    classes: tuple[TaskClass, ...],
    world: World,
    plan: Plan,
    profile: PowerProfile,
    sharing: int,
    batch: NDArray[np.bool_] | None = None,
) -> State:
    """The empty datacenter. Of the classes, the first `sharing` may share a column; `batch`: as `TASK.batch`."""
    nodes = datacenter.records(profile)
    tasks: Any = task_records(classes, datacenter, profile.default_cpu)
    if batch is not None:
        tasks.batch = batch
    columns, ring = new_columns(tasks, nodes, sharing), max(1024, 4 * len(nodes))
    state = State(
        nodes=nodes,
        tasks=tasks,
        world=world,
        totals=np.zeros(COLUMNS + 2, dtype=np.int64),
        fault=np.zeros(FAULT_PLACES),
        memory=np.zeros(max(1, int(plan.parts.memory_end[-1]))),
        columns=columns,
        fit=np.zeros((len(nodes), columns.by_type.shape[1]), dtype=np.int64),
        held=np.zeros((len(nodes), columns.by_type.shape[1]), dtype=np.int64),
        changed=np.zeros(ring, dtype=np.int32),
        touched=np.zeros((columns.by_type.shape[1], ring), dtype=np.int64),
    )
    settle_all(state, plan, np.full(int(nodes.type.max()) + 1, -1, dtype=np.int64))
    return state


@kernel
def settle_all(state: State, plan: Plan, first_of_type: Any) -> None:
    """Power and fragmentation of the empty nodes, computed once per type, and the totals over all nodes."""
    for n in range(len(state.nodes)):
        node = state.nodes[n]
        first = first_of_type[node.type]
        if first < 0:
            first_of_type[node.type] = n
            settle(node, state.world)
            filter_node(state, n)
        else:
            like = state.nodes[first]
            for w in range(state.fit.shape[1]):
                state.fit[n, w] = state.fit[first, w]
            node.cpu_power_mw = like.cpu_power_mw
            node.gpu_power_mw = like.gpu_power_mw
            node.fragmentation = like.fragmentation
            for reason in range(6):
                node.fragmentation_micro[reason] = like.fragmentation_micro[reason]
        count(state.totals, node, 1)
        if plan.remembers and len(state.tasks) > 0:
            remember(state, plan, AFTER_CHANGE, node, state.tasks[0])


@inner
def settle(node: Any, world: World) -> None:
    """Recompute what follows from what is left on the node: power and fragmentation."""
    node.cpu_power_mw = cpu_power_mw(node, node.cpu_left)
    node.gpu_power_mw = gpu_power_mw(node, world.gpu_draw_mw)
    sums = node_sums(node, world)
    node.fragmentation = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5]
    for reason in range(6):
        node.fragmentation_micro[reason] = int(np.rint(sums[reason] * MICRO))


@inner
def count(totals: Any, node: Any, sign: int) -> None:
    """Add (1) or subtract (-1) the node's share of the totals."""
    totals[CPU_POWER] += sign * node.cpu_power_mw
    totals[GPU_POWER] += sign * node.gpu_power_mw
    totals[BASE_POWER] += sign * node.base_mw
    for reason in range(6):
        totals[FRAGMENTATION + reason] += sign * node.fragmentation_micro[reason]


@inner
def remember(state: State, plan: Plan, event: int, node: Any, task: Any) -> None:
    """Report an event to every component that keeps a memory."""
    for component in range(len(plan.parts)):
        part = plan.parts[component]
        if part.memory_end > part.memory_at:
            params = plan.params[part.params_at : part.params_end]
            memory = state.memory[part.memory_at : part.memory_end]
            call_for_none(plan.remember[component], (event, node, task, state.world, params, memory))


@inner
def occupy(node: Any, task: Any, gpus: int, sign: int) -> None:
    """Update what is left on a node after a task has come (1) or gone (-1); `settle` follows for power and the rest."""
    node.cpu_left -= sign * task.cpu_milli
    node.memory_left -= sign * task.memory_mib
    node.tasks += sign
    node.no_cpu += sign * int(task.cpu_milli == 0)
    node.no_memory += sign * int(task.memory_mib == 0)
    if task.kind >= 0:
        node.kinds[task.kind] += sign
    for g in range(MAX_GPUS):
        if (gpus >> g) & 1:
            before = node.gpu_left[g]
            after = before - sign * task.gpu_milli
            node.gpu_left[g] = after
            node.gpu_total -= sign * task.gpu_milli
            node.gpu_free += int(after == GPU_MILLI) - int(before == GPU_MILLI)
    node.gpu_most = 0
    for g in range(MAX_GPUS):
        node.gpu_most = max(node.gpu_most, node.gpu_left[g])


@inner
def change(state: State, plan: Plan, k: int, n: int, gpus: int, sign: int) -> None:
    """Take (1) the resources of class `k` from node `n`, or return them (-1). `gpus`: bit g for GPU g."""
    node = state.nodes[n]
    task = state.tasks[k]
    if plan.remembers:
        remember(state, plan, BEFORE_CHANGE, node, task)
    count(state.totals, node, -1)
    occupy(node, task, gpus, sign)
    settle(node, state.world)
    count(state.totals, node, 1)
    state.totals[ALLOCATED] += sign * task.gpu_request
    if plan.remembers:
        remember(state, plan, AFTER_CHANGE, node, task)
    log_change(state, n)


@inner
def filter_node(state: State, n: int) -> None:
    """Recompute which classes fit the node."""
    node = state.nodes[n]
    cpu = steps_reached(state.columns.cpu_steps, node.cpu_left)
    memory = steps_reached(state.columns.memory_steps, node.memory_left)
    for w in range(state.fit.shape[1]):
        state.fit[n, w] = fitting_classes(state.columns, node, w, cpu, memory)


@kernel
def filter_all(state: State) -> None:
    """Recompute which classes fit each node, after the classes have changed."""
    for n in range(len(state.nodes)):
        filter_node(state, n)


@inner
def log_change(state: State, n: int) -> None:
    """Write the change into the rings and delete the node's previous change, if it is still there.

    Most classes neither list the node as feasible nor fit it now: they need not look at it.
    """
    filter_node(state, n)
    node = state.nodes[n]
    number, ring = state.totals[CHANGES], len(state.changed)
    new, old = number % ring, (node.changed_at - 1) % ring
    struck = node.changed_at > 0 and node.changed_at - 1 + ring > number
    if struck:
        state.changed[old] = -1
    for w in range(state.fit.shape[1]):
        if struck:
            state.touched[w, old] = 0
        state.touched[w, new] = state.held[n, w] | state.fit[n, w]
    state.changed[new] = n
    state.totals[CHANGES] = number + 1
    node.changed_at = number + 1


@inner
def arrive(state: State, plan: Plan, k: int) -> None:
    """A task of class `k` has arrived; whether it can be placed is not known yet."""
    state.totals[REQUESTED] += state.tasks[k].gpu_request
    if plan.remembers:
        remember(state, plan, ARRIVAL, state.nodes[0], state.tasks[k])


@inner
def place(state: State, plan: Plan, k: int, n: int, gpus: int) -> None:
    """Put a task of class `k` on node `n` and the GPUs of the bit set `gpus`."""
    change(state, plan, k, n, gpus, 1)


@inner
def release(state: State, plan: Plan, k: int, n: int, gpus: int) -> None:
    """Take a task of class `k` off node `n` again: every integer is what it was before `place`."""
    change(state, plan, k, n, gpus, -1)
    if plan.remembers:
        remember(state, plan, DEPARTURE, state.nodes[n], state.tasks[k])
