"""GpuPacking: GPUs in use first, then free GPUs of nodes in use, then idle nodes; spares whole nodes for large tasks.

0                                     CPU-only task
max(33 - free, free)                  all GPUs of the node are free
max(50 - free GPUs used, 33)          the tightest GPUs that serve the task include a free one
max(100 - sum(left * 100 // 1000) // 10, 50)   over the used GPUs otherwise
"""

from __future__ import annotations

from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU, Pick, Policy
from wattpack.model.power import GPU_MILLI
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    terms[0] = 0
    if task.num_gpu == 0:
        return ANY_GPU
    if node.gpu_free == node.gpus:
        terms[0] = max(33 - node.gpu_free, node.gpu_free)
    elif task.kind > 0:
        # A whole-GPU task uses free GPUs only.
        terms[0] = max(50 - task.num_gpu, 33)
    else:
        tightest = GPU_MILLI + 1
        for g in range(node.gpus):
            if task.gpu_milli <= node.gpu_left[g] < tightest:
                tightest = node.gpu_left[g]
        if tightest == GPU_MILLI:
            terms[0] = max(50 - 1, 33)
        else:
            terms[0] = max(100 - (tightest * 100 // GPU_MILLI) // 10, 50)
    return ANY_GPU


GPUPACKING = Policy("gpupacking", "GPUs in use first, idle nodes last", score, pick=Pick.TIGHTEST, amounts_only=True)
