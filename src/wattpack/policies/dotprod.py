"""DotProd: the smallest dot product of what the node has left and what the task asks.

s = (cpu_left / 128000 * cpu / 128000 + gpu_left / 8000 * gpu / 8000) / 2;  score = int(100 * (1 - s))
"""

from __future__ import annotations

from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU, Pick, Policy
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    # float64 in exactly this order: the result is truncated
    s = (float(node.cpu_left) / 128000) * (float(task.cpu_milli) / 128000) + (float(node.gpu_total) / 8000) * (
        float(task.gpu_request) / 8000
    )
    s /= 2
    terms[0] = int(100 * (1 - s))
    return ANY_GPU


DOTPROD = Policy("dotprod", "smallest dot product of free and requested", score, pick=Pick.TIGHTEST, amounts_only=True)
