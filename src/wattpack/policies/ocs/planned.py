"""Prices of a plan (plan.py) at each decision, and the memory of what came and where it is.

    at  = slice of the plan: of the amount of the task's kind that is expected, the part that has come
    z   = min(1, (held + dV) / (limit + dV))    the kind on a node type, and what the plan gives it there by slice `at`
    rho = gamma * spread * dV * z**20           nothing once the kind has come in full, or where the class is not known

dV is the amount of the class: effective GPUs, or for a task without GPU their like in vCPU.
"""

from __future__ import annotations

from wattpack.jit import kernel
from wattpack.model.records import Floats, NodeRecord, TaskRecord
from wattpack.policies.ocs.layout import MAX_TYPES, MEMORY, PARAM, SLICES, TERM

UNKNOWN = -1


@kernel
def class_of(task: TaskRecord, params: Floats) -> int:
    """The class of the plan that the task belongs to."""
    for c in range(int(params[PARAM.class_count])):
        if (
            params[PARAM.class_cpu + c] == task.cpu_milli
            and params[PARAM.class_request + c] == task.gpu_request
            and params[PARAM.class_models + c] == task.gpu_models
        ):
            return c
    return UNKNOWN


@kernel
def count_arrival(task: TaskRecord, params: Floats, memory: Floats) -> None:
    c = class_of(task, params)
    if c != UNKNOWN:
        memory[MEMORY.came + int(params[PARAM.class_kind + c])] += params[PARAM.class_amount + c]


@kernel
def count_held(node: NodeRecord, task: TaskRecord, params: Floats, memory: Floats, sign: float) -> None:
    """Before a change with -1 and after it with 1: together one task more, or one less, of its kind on the node's type.

    Every change is of one task, so the two differ by one in the node's number of tasks.
    """
    c = class_of(task, params)
    if c != UNKNOWN:
        place = int(params[PARAM.class_kind + c]) * MAX_TYPES + node.type
        memory[MEMORY.held + place] += sign * node.tasks * params[PARAM.class_amount + c]


@kernel
def plan_prices(task: TaskRecord, params: Floats, memory: Floats, gamma: float, prices: Floats) -> None:
    """-rho for each node type."""
    for node_type in range(MAX_TYPES):
        prices[TERM.plan + node_type] = 0.0
    c = class_of(task, params)
    if c == UNKNOWN:
        return
    kind, amount = int(params[PARAM.class_kind + c]), params[PARAM.class_amount + c]
    total = params[PARAM.kind_total + kind]
    progress = memory[MEMORY.came + kind] * SLICES
    if progress >= total * SLICES:
        return
    at = min(int(progress / total), SLICES - 1)
    for node_type in range(MAX_TYPES):
        place = kind * MAX_TYPES + node_type
        limit = params[PARAM.kind_limit + place * SLICES + at] + amount
        used = max(memory[MEMORY.held + place], 0.0) + amount
        z = used / limit if used < limit else 1.0
        prices[TERM.plan + node_type] = -gamma * params[PARAM.spread_w] * amount * z**20
