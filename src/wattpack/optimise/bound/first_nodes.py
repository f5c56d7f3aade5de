"""Nodes packed one after another, largest tasks first: real patterns to start the LP over whole nodes with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.jit import kernel
from wattpack.model.fit import MAX_TASKS
from wattpack.model.power import GPU_MILLI
from wattpack.model.records import Floats, Integers, NodeRecord, RecordTable, TaskRecord
from wattpack.optimise.bound.node_patterns import NodePattern, NodePricing

MOST_PACKED = 600  # nodes of a type

Patterns = list[NodePattern]


@kernel
def pack(
    node: NodeRecord, tasks: RecordTable[TaskRecord], order: Integers, left: Floats, held: Integers, fill: Integers
) -> int:
    """Fill nodes like `node`, each with the first tasks in `order` that still fit; returns how many nodes hold any.

    order: classes. left: float64[classes] tasks that are left, used up. held: int64[nodes, classes] and fill:
    int64[nodes, GPUs] milli in use, both 0 before.
    """
    for n in range(len(held)):
        cpu, memory, total = node.cpu_milli, node.memory_mib, 0
        for at in range(len(order)):
            k = order[at]
            task = tasks[k]
            while left[k] >= 1 and cpu >= task.cpu_milli and memory >= task.memory_mib and total < MAX_TASKS:
                if task.kind == 0:
                    tightest = -1
                    for g in range(node.gpus):
                        if fill[n, g] + task.gpu_milli <= GPU_MILLI and (
                            tightest < 0 or fill[n, g] > fill[n, tightest]
                        ):
                            tightest = g
                    if tightest < 0:
                        break
                    fill[n, tightest] += task.gpu_milli
                elif task.num_gpu > 0:
                    free = 0
                    for g in range(node.gpus):
                        free += fill[n, g] == 0
                    if free < task.num_gpu:
                        break
                    wanted = task.num_gpu
                    for g in range(node.gpus):
                        if wanted > 0 and fill[n, g] == 0:
                            fill[n, g] = GPU_MILLI
                            wanted -= 1
                left[k] -= 1
                held[n, k] += 1
                cpu -= task.cpu_milli
                memory -= task.memory_mib
                total += 1
        if total == 0:
            return n
    return len(held)


def packed_nodes(node: Any, tasks: Any, left: NDArray[np.float64], pricing: NodePricing, small: bool) -> Patterns:
    """The patterns of nodes that take `left` tasks of each class, as far as `MOST_PACKED` nodes go.

    small: of tasks with as much GPU, those with little vCPU first.
    """
    order = np.lexsort((tasks.cpu_milli if small else -tasks.cpu_milli, -tasks.gpu_milli, -tasks.num_gpu))
    order = order[left[order] >= 1]
    held = np.zeros((MOST_PACKED, len(tasks)), dtype=np.int64)
    fill = np.zeros((MOST_PACKED, max(1, int(node.gpus))), dtype=np.int64)
    used = pack(node, tasks, order, left.copy(), held, fill)
    patterns, first = np.unique(held[:used], axis=0, return_index=True)
    return [pricing.pattern(counts, fill[place]) for counts, place in zip(patterns, first.tolist(), strict=True)]
