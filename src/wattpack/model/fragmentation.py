"""Fragmentation: how much of a node's free GPU the target workload cannot use, in milli-GPU, by reason.

Bit-exact by specification: one running sum per reason over M's order, each term `share * float(milli)`, the six added
in this order. A true zero difference that rounding turns negative makes FGD's 50 a 49, and that is another decision.
"""

from __future__ import annotations

from typing import Any

from wattpack.jit import kernel
from wattpack.model.fit import allows
from wattpack.model.nodes import MAX_GPUS

LACKS_BOTH = 0
LACKS_GPU = 1  # includes the GPUs that are too small for a class that fits elsewhere on the node
LACKS_CPU = 2
CPU_ONLY_FITS = 3
CPU_ONLY_LACKS_CPU = 4
NO_ACCESS = 5
REASONS = ("lacks_both", "lacks_gpu", "lacks_cpu", "cpu_only_fits", "cpu_only_lacks_cpu", "no_access")


# Rows of `World.sizes`: for each distinct gpu_milli of M, how many GPUs of a node hold a request of that size, and the
# sum of what is left on those that are too small for it; for the node as it is, and after a hypothetical placement.
SIZE = 0
HOLDING = 1
TOO_SMALL = 2
HOLDING_AFTER = 3
TOO_SMALL_AFTER = 4
SIZE_ROWS = 5


@kernel
def tally(node: Any, sizes: Any) -> None:
    """Fill the rows HOLDING and TOO_SMALL of `sizes` (int64[5, sizes]) for the node as it is."""
    for t in range(sizes.shape[1]):
        size = sizes[SIZE, t]
        holding = 0
        too_small = 0
        for g in range(MAX_GPUS):  # a fixed length becomes vector instructions; beyond `gpus` nothing is left
            left = node.gpu_left[g]
            holding += left >= size
            too_small += 0 if left >= size else left
        sizes[HOLDING, t] = holding
        sizes[TOO_SMALL, t] = too_small


@kernel
def tally_after(node: Any, task: Any, gpu: int, sizes: Any) -> None:
    """Fill the rows ..._AFTER from `tally`'s, for `task` on `node`: a sharing task on `gpu`, others on free GPUs."""
    whole = task.num_gpu if task.kind > 0 else 0
    before = node.gpu_left[gpu]
    after = before - (task.gpu_milli if task.kind == 0 else 0)
    for t in range(sizes.shape[1]):
        size = sizes[SIZE, t]
        held, holds = before >= size, after >= size
        sizes[HOLDING_AFTER, t] = sizes[HOLDING, t] - whole - held + holds
        sizes[TOO_SMALL_AFTER, t] = sizes[TOO_SMALL, t] - (0 if held else before) + (0 if holds else after)


@kernel
def fragmentation_sums(model: int, cpu_left: int, total: int, holding_row: int, too_small_row: int, world: Any) -> Any:
    """The six sums of F_n(M) by reason, for `total` free milli-GPU and the given rows of `world.sizes`.

    Every class adds to every sum, 0.0 where the reason is not its own: adding 0.0 changes no bit, and selecting is
    four times as fast as branching (measured: 460 to 100 ns for the 35 classes of the Default trace).
    """
    target, sizes = world.target, world.sizes
    whole = float(total)
    lacks_both = lacks_gpu = lacks_cpu = cpu_only_fits = cpu_only_lacks_cpu = no_access = 0.0
    for m in range(len(target)):
        wanted = target[m]
        all_of_it = wanted.share * whole
        too_small = wanted.share * float(sizes[too_small_row, wanted.size_index])
        enough_cpu = cpu_left >= wanted.cpu_milli
        enough_gpu = sizes[holding_row, wanted.size_index] >= wanted.num_gpu
        cpu_only = wanted.num_gpu == 0
        access = allows(wanted.gpu_models, model) and not cpu_only
        cpu_only_fits += all_of_it if (cpu_only and enough_cpu) else 0.0
        cpu_only_lacks_cpu += all_of_it if (cpu_only and not enough_cpu) else 0.0
        no_access += 0.0 if (access or cpu_only) else all_of_it
        lacks_cpu += all_of_it if (access and enough_gpu and not enough_cpu) else 0.0
        lacks_both += all_of_it if (access and not enough_gpu and not enough_cpu) else 0.0
        lacks_gpu += (too_small if enough_gpu else all_of_it) if (access and enough_cpu) else 0.0
    return lacks_both, lacks_gpu, lacks_cpu, cpu_only_fits, cpu_only_lacks_cpu, no_access


@kernel
def node_sums(node: Any, world: Any) -> Any:
    """The six sums for the node as it is."""
    tally(node, world.sizes)
    return fragmentation_sums(node.model, node.cpu_left, node.gpu_total, HOLDING, TOO_SMALL, world)


@kernel
def fragmentation_after(node: Any, task: Any, gpu: int, world: Any) -> float:
    """F_n(M) if `task` were on `node`, a sharing task on GPU `gpu`. Call `tally` for the node before."""
    tally_after(node, task, gpu, world.sizes)
    cpu_left = node.cpu_left - task.cpu_milli
    total = node.gpu_total - task.gpu_request
    a, b, c, d, e, f = fragmentation_sums(node.model, cpu_left, total, HOLDING_AFTER, TOO_SMALL_AFTER, world)
    return a + b + c + d + e + f
