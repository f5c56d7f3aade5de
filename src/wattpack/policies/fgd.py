"""FGD, fragmentation gradient descent: the node whose expected fragmentation rises least.

    score = int(100 * sigmoid((F_before - F_after) / 1000)), truncated

Weng et al., "Beware of Fragmentation", USENIX ATC 2023. The truncation is part of the policy: with real-valued scores
GRAR at full load falls from 0.952 to 0.918 (measured), because ties and a fixed node order fill nodes one by one.
"""

from __future__ import annotations

import math

from wattpack.jit import inner_kernel, kernel
from wattpack.model.fit import is_candidate
from wattpack.model.fragmentation import fragmentation_after, tally
from wattpack.model.policy import ANY_GPU, Policy
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord


@inner_kernel
def gradient_score(before: float, after: float) -> int:
    return int(1 / (1 + math.exp(-((before - after) / 1000))) * 100)


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    if task.num_gpu == 0 and node.cpu_left - task.cpu_milli >= world.cpu_most:
        terms[0] = gradient_score(0.0, 0.0)  # F does not change: enough CPU is left for every class of M
        return ANY_GPU
    tally(node, world)
    if task.kind != 0:
        terms[0] = gradient_score(node.fragmentation, fragmentation_after(node, task, 0, world))
        return ANY_GPU
    best = -1
    best_gpu = ANY_GPU
    for g in range(node.gpus):
        if not is_candidate(node, task, g):  # F depends on the amounts left, not on their order
            continue
        value = gradient_score(node.fragmentation, fragmentation_after(node, task, g, world))
        if value > best:
            best = value
            best_gpu = g
    terms[0] = best
    return best_gpu


FGD = Policy("fgd", "least rise of expected GPU fragmentation (the baseline)", score, amounts_only=True)
