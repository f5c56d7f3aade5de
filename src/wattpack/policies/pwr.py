"""PWR: the node whose power rises least.

    score = int(P_before - P_after) in watts, 0 or negative; normalised to 0..100 over the feasible nodes

Where speeds of GPUs are known, watts of a batch task count as often as it runs longer than at the reference speed.
Lettich et al., CCGrid 2025.
"""

from __future__ import annotations

from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU, Normalise, Policy
from wattpack.model.power import added_cpu_power_mw, added_power_mw, added_power_with_cpu_mw, paid_power_mw
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord


@kernel
def whole_watts(milliwatts: int) -> int:
    """Milliwatts as whole watts, truncated towards zero as by `int()`."""
    return milliwatts // 1000 if milliwatts >= 0 else -(-milliwatts // 1000)


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    if task.kind != 0:
        terms[0] = whole_watts(-paid_power_mw(added_power_mw(node, task, ANY_GPU, world.gpu_draw_mw), node, task))
        return ANY_GPU
    cpu_mw = added_cpu_power_mw(node, task)
    best = 0
    best_gpu = ANY_GPU
    for g in range(node.gpus):
        if node.gpu_left[g] < task.gpu_milli:
            continue
        added_mw = added_power_with_cpu_mw(cpu_mw, node, task, g, world.gpu_draw_mw)
        value = whole_watts(-paid_power_mw(added_mw, node, task))
        if best_gpu == ANY_GPU or value > best:
            best = value
            best_gpu = g
    terms[0] = best
    return best_gpu


PWR = Policy("pwr", "least rise of power", score, normalise=Normalise.MIN_MAX_100, amounts_only=True, by_work=True)
