"""Fragmentation: how much of a node's free GPU the target workload cannot use, in milli-GPU, by reason.

Bit-exact by specification: one running sum per reason over M's order, each term `share * float(milli)`, the six added
in this order. A true zero difference that rounding turns negative makes FGD's 50 a 49, and that is another decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.jit import inner, inner_kernel
from wattpack.model.fit import allows
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import GPU_MILLI
from wattpack.model.records import NodeRecord, TaskRecord, WorldRecord

LACKS_BOTH = 0
LACKS_GPU = 1  # includes the GPUs that are too small for a class that fits elsewhere on the node
LACKS_CPU = 2
CPU_ONLY_FITS = 3
CPU_ONLY_LACKS_CPU = 4
NO_ACCESS = 5
REASONS = ("lacks_both", "lacks_gpu", "lacks_cpu", "cpu_only_fits", "cpu_only_lacks_cpu", "no_access")


# F asks of the GPUs, for each distinct gpu_milli of M (a size), how many of them hold a request of that size and how
# much is left on those that are too small for it. Both are sums over the GPUs of what one GPU adds, which depends on
# what it has left: a row of `World.adds`. Both numbers are in one integer, HOLDS * the first + the second, so a tally
# is a sum of rows. (Counting anew GPU by GPU and size by size took 100 ns, twice the sums below; this takes 20.)
HOLDS = 1 << 16
assert MAX_GPUS * GPU_MILLI < HOLDS
# Rows of `World.tally`: the sums over the GPUs of the node as it is, and after a hypothetical placement.
NOW = 0
AFTER = 1
WIDTH = 8  # sizes are padded to a multiple: no odd ones are left over after the vector instructions


def adds_table(sizes: Sequence[int]) -> NDArray[np.int32]:
    """int32[1001, sizes]: what a GPU adds to the tally of each size, by what it has left."""
    left = np.arange(GPU_MILLI + 1)[:, None]
    padded = np.full(max(1, -(-len(sizes) // WIDTH)) * WIDTH, GPU_MILLI, dtype=np.int64)
    padded[: len(sizes)] = sizes
    return np.where(left >= padded, HOLDS, left).astype(np.int32)


@inner_kernel
def tally(node: NodeRecord, world: WorldRecord) -> None:
    """Fill the row NOW of `world.tally` for the node as it is."""
    adds, now, left = world.adds, world.tally[NOW], node.gpu_left
    a, b, c, d = left[0], left[1], left[2], left[3]
    for t in range(len(now)):
        now[t] = (adds[a, t] + adds[b, t]) + (adds[c, t] + adds[d, t])
    for g in range(4, node.gpus, 4):  # four at once: half the time of one; beyond `gpus` nothing is left or added
        a, b, c, d = left[g], left[g + 1], left[g + 2], left[g + 3]
        for t in range(len(now)):
            now[t] += (adds[a, t] + adds[b, t]) + (adds[c, t] + adds[d, t])


@inner
def tally_after(node: NodeRecord, task: TaskRecord, gpu: int, world: WorldRecord) -> None:
    """Fill the row AFTER from `tally`'s, for `task` on `node`: a sharing task on `gpu`, others on free GPUs."""
    adds, now, after = world.adds, world.tally[NOW], world.tally[AFTER]
    if task.kind == 0:
        before = node.gpu_left[gpu]
        for t in range(len(now)):
            after[t] = now[t] - adds[before, t] + adds[before - task.gpu_milli, t]
    else:
        taken = task.num_gpu * HOLDS  # a free GPU holds every size
        for t in range(len(now)):
            after[t] = now[t] - taken


@inner
def fragmentation_sums(model: int, cpu_left: int, total: int, row: int, world: WorldRecord) -> Any:
    """The six sums of F_n(M) by reason, for `total` free milli-GPU and the given row of `world.tally`.

    Every class adds to every sum, 0.0 where the reason is not its own: adding 0.0 changes no bit, and selecting is
    four times as fast as branching (measured: 460 to 100 ns for the 35 classes of the Default trace).
    """
    target, tallied = world.target, world.tally[row]
    whole = float(total)
    lacks_both = lacks_gpu = lacks_cpu = cpu_only_fits = cpu_only_lacks_cpu = no_access = 0.0
    for m in range(len(target)):
        wanted = target[m]
        of_size = tallied[wanted.size_index]
        all_of_it = wanted.share * whole
        too_small = wanted.share * float(of_size & (HOLDS - 1))
        enough_cpu = cpu_left >= wanted.cpu_milli
        enough_gpu = of_size >= wanted.num_gpu * HOLDS
        cpu_only = wanted.num_gpu == 0
        access = allows(wanted.gpu_models, model) and not cpu_only
        cpu_only_fits += all_of_it if (cpu_only and enough_cpu) else 0.0
        cpu_only_lacks_cpu += all_of_it if (cpu_only and not enough_cpu) else 0.0
        no_access += 0.0 if (access or cpu_only) else all_of_it
        lacks_cpu += all_of_it if (access and enough_gpu and not enough_cpu) else 0.0
        lacks_both += all_of_it if (access and not enough_gpu and not enough_cpu) else 0.0
        lacks_gpu += (too_small if enough_gpu else all_of_it) if (access and enough_cpu) else 0.0
    return lacks_both, lacks_gpu, lacks_cpu, cpu_only_fits, cpu_only_lacks_cpu, no_access


@inner_kernel
def node_sums(node: NodeRecord, world: WorldRecord) -> Any:
    """The six sums for the node as it is."""
    tally(node, world)
    return fragmentation_sums(node.model, node.cpu_left, node.gpu_total, NOW, world)


@inner_kernel
def fragmentation_after(node: NodeRecord, task: TaskRecord, gpu: int, world: WorldRecord) -> float:
    """F_n(M) if `task` were on `node`, a sharing task on GPU `gpu`. Call `tally` for the node before."""
    tally_after(node, task, gpu, world)
    cpu_left = node.cpu_left - task.cpu_milli
    total = node.gpu_total - task.gpu_request
    a, b, c, d, e, f = fragmentation_sums(node.model, cpu_left, total, AFTER, world)
    return a + b + c + d + e + f
