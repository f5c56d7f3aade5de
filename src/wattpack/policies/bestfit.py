"""BestFit: the node with the least CPU and GPU left after the placement.

    s = 0.5 * (cpu_left - cpu) / 128000 + 0.5 * (gpu_left - gpu) / 8000;  score = int((1 - s) * 100)

Normalised min-max over the feasible nodes (all equal: 0).
"""

from __future__ import annotations

from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU, Normalise, Pick, Policy
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    # float64 in exactly this order: the result is truncated
    s = 0.5 * float(node.cpu_left - task.cpu_milli) / 128000
    s += 0.5 * float(node.gpu_total - task.gpu_request) / 8000
    terms[0] = int((1 - s) * 100)
    return ANY_GPU


BESTFIT = Policy(
    "bestfit", "least CPU and GPU left", score, normalise=Normalise.MIN_MAX_0, pick=Pick.TIGHTEST, amounts_only=True
)
