"""Step 6 of a decision: the GPUs of the chosen node."""

from __future__ import annotations

from typing import Any

from wattpack.engine.core.plan import Plan
from wattpack.engine.core.scores import Scores, score_component
from wattpack.engine.core.state import State
from wattpack.jit import inner, step
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.policy import Pick
from wattpack.model.power import GPU_MILLI

PICK_OWN = int(Pick.OWN)
PICK_TIGHTEST = int(Pick.TIGHTEST)


@inner
def pick(state: State, plan: Plan, scores: Scores, k: int, n: int, luck: float) -> int:
    """The GPUs of node `n` for a task of class `k`, as a bit set. `luck` in [0, 1) is for policies that draw."""
    node = state.nodes[n]
    task = state.tasks[k]
    if task.kind != 0:
        return free_gpus(node, task.num_gpu)
    how = plan.parts[plan.picker].pick
    if how == PICK_OWN:
        wish = score_component(state, plan, plan.picker, node, task, scores.one)
        if 0 <= wish < MAX_GPUS and node.gpu_left[wish] >= task.gpu_milli:
            return 1 << wish
        how = PICK_TIGHTEST  # the policy prefers no GPU
    if how == PICK_TIGHTEST:
        return tightest_gpu(node, task.gpu_milli)
    return drawn_gpu(node, task.gpu_milli, luck)


@step
def free_gpus(node: Any, wanted: int) -> int:
    """The first wholly free GPUs by index."""
    gpus = 0
    taken = 0
    for g in range(MAX_GPUS):
        if taken < wanted and node.gpu_left[g] == GPU_MILLI:
            gpus |= 1 << g
            taken += 1
    return gpus


@step
def tightest_gpu(node: Any, gpu_milli: int) -> int:
    """The GPU with the least left that fits, first of equals."""
    tightest = -1
    for g in range(node.gpus):
        left = node.gpu_left[g]
        if left >= gpu_milli and (tightest < 0 or left < node.gpu_left[tightest]):
            tightest = g
    return 1 << tightest


@step
def drawn_gpu(node: Any, gpu_milli: int, luck: float) -> int:
    """Any GPU that fits."""
    fitting = 0
    for g in range(node.gpus):
        fitting += node.gpu_left[g] >= gpu_milli
    drawn = int(luck * fitting)
    for g in range(node.gpus):
        if node.gpu_left[g] >= gpu_milli:
            if drawn == 0:
                return 1 << g
            drawn -= 1
    return 0
