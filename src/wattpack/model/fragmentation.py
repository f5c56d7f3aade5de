"""Fragmentation: how much of a node's free GPU the target workload cannot use, in milli-GPU, by reason.

Bit-exact by specification: one running sum per reason over M's order, each term `share * float(milli)`, the six added
in this order. Where rounding turns a true zero difference negative, FGD's score is 49 instead of 50: another decision.
"""

from __future__ import annotations

from collections.abc import Sequence

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
Sums = tuple[float, float, float, float, float, float]  # milli-GPU by reason, in this order
REASONS = ("lacks_both", "lacks_gpu", "lacks_cpu", "cpu_only_fits", "cpu_only_lacks_cpu", "no_access")


# For each distinct gpu_milli of M (a size), F needs two sums over the node's GPUs: how many can hold a request of that
# size, and how much is left on those that cannot. What one GPU adds to them depends on what it has left: a row of
# `World.adds`. Both sums are in one integer, HOLDS * the first + the second, so a tally is a sum of rows. (Counting GPU
# by GPU and size by size took 100 ns, twice the time of the sums below; this takes 20 ns.)
HOLDS = 1 << 16
assert MAX_GPUS * GPU_MILLI < HOLDS
# Rows of `World.tally`: the sums over the GPUs of the node in its current state, and after a hypothetical placement.
NOW = 0
AFTER = 1
WIDTH = 8  # sizes are padded to a multiple of this, so that vector instructions handle all of them


def adds_table(sizes: Sequence[int]) -> NDArray[np.int32]:
    """int32[1001, sizes]: what a GPU adds to the tally of each size, by what it has left."""
    left = np.arange(GPU_MILLI + 1)[:, None]
    padded = np.full(max(1, -(-len(sizes) // WIDTH)) * WIDTH, GPU_MILLI, dtype=np.int64)
    padded[: len(sizes)] = sizes
    return np.where(left >= padded, HOLDS, left).astype(np.int32)


@inner_kernel
def tally(node: NodeRecord, world: WorldRecord) -> None:
    """Fill the row NOW of `world.tally` for the node in its current state."""
    adds, now, left = world.adds, world.tally[NOW], node.gpu_left
    # Four GPUs at once take half the time of one by one. Beyond `gpus` nothing is left, which adds nothing.
    first, second, third, fourth = left[0], left[1], left[2], left[3]
    for size in range(len(now)):
        now[size] = (adds[first, size] + adds[second, size]) + (adds[third, size] + adds[fourth, size])
    for g in range(4, node.gpus, 4):
        first, second, third, fourth = left[g], left[g + 1], left[g + 2], left[g + 3]
        for size in range(len(now)):
            now[size] += (adds[first, size] + adds[second, size]) + (adds[third, size] + adds[fourth, size])


@inner
def tally_after(node: NodeRecord, task: TaskRecord, gpu: int, world: WorldRecord) -> None:
    """Fill the row AFTER from the row NOW, for `task` on `node`: a sharing task on `gpu`, others on free GPUs."""
    adds, now, after = world.adds, world.tally[NOW], world.tally[AFTER]
    if task.kind == 0:
        before = node.gpu_left[gpu]
        for size in range(len(now)):
            after[size] = now[size] - adds[before, size] + adds[before - task.gpu_milli, size]
    else:
        taken = task.num_gpu * HOLDS  # a free GPU holds every size
        for size in range(len(now)):
            after[size] = now[size] - taken


@inner
def fragmentation_sums(model: int, cpu_left: int, total: int, row: int, world: WorldRecord) -> Sums:
    """The six sums of F_n(M) by reason, for `total` free milli-GPU and the given row of `world.tally`.

    Every class adds to every sum, 0.0 where the reason does not apply: adding 0.0 changes no bit, and selecting is four
    times as fast as branching (measured: 460 to 100 ns for the 35 classes of the Default trace).
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
def node_sums(node: NodeRecord, world: WorldRecord) -> Sums:
    """The six sums for the node in its current state."""
    tally(node, world)
    return fragmentation_sums(node.model, node.cpu_left, node.gpu_total, NOW, world)


@inner_kernel
def fragmentation_after(node: NodeRecord, task: TaskRecord, gpu: int, world: WorldRecord) -> float:
    """F_n(M) if `task` were placed on `node`, a sharing task on GPU `gpu`. Requires `tally` for the node first."""
    tally_after(node, task, gpu, world)
    cpu_left = node.cpu_left - task.cpu_milli
    total = node.gpu_total - task.gpu_request
    sums = fragmentation_sums(node.model, cpu_left, total, AFTER, world)
    return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5]
