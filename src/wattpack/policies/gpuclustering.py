"""GpuClustering: nodes that hold tasks of the same GPU kind (sharing, or the same number of whole GPUs).

0 for a CPU-only task; else 75 only this kind, 50 this and others, 25 none, 0 only others
plus 25 * (8000 - gpu_left) // 8000
"""

from __future__ import annotations

from wattpack.jit import kernel
from wattpack.model.nodes import KINDS
from wattpack.model.policy import ANY_GPU, Pick, Policy
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    terms[0] = 0
    if task.num_gpu == 0:
        return ANY_GPU
    same = node.kinds[task.kind] > 0
    others = False
    for kind in range(KINDS):
        if kind != task.kind and node.kinds[kind] > 0:
            others = True
            break
    if same:
        base = 50 if others else 75
    else:
        base = 0 if others else 25
    terms[0] = base + 25 * (8000 - node.gpu_total) // 8000
    return ANY_GPU


GPUCLUSTERING = Policy(
    "gpuclustering", "nodes with tasks of the same GPU kind", score, pick=Pick.TIGHTEST, amounts_only=True
)
