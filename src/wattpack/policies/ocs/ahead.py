"""What a node that is awake spares the next task, in watts: the look ahead of `ocs`.

    E(n) = socket_w * (F0(idle) + merit * F1(idle, GPUs)) + wake_w * sum over GPUs in use of G(left)

F0 and F1 are shares of the target workload, without and with GPU, that the vCPU left in n's powered sockets would hold
(F1: and its GPUs); G is the share that the rest of a GPU in use would hold. `socket_w` and `wake_w` are what waking
one costs. Only tasks of one GPU or a part of one count: with the others, nodes of four GPUs were broken up early.

The shares are tables, made once per target, behind the array of policies/ocs/statistics.py; names in capitals are
places in it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI, VCPU_MILLI_PER_CORE, PowerProfile, draw_table_mw
from wattpack.model.target import Target
from wattpack.model.tasks import MAX_MODELS
from wattpack.policies.ocs.statistics import LENGTH

VCPU_STEP_MILLI = 100
VCPU_STEPS = 641  # 0 to 64 vCPU: more idle vCPU of one node are taken for 64
LEVEL_MILLI = 50
FREE = GPU_MILLI // LEVEL_MILLI + 1  # level of a node with a free GPU; below: its largest part of a GPU in use
LEVELS = FREE + 1

# Places in the array.
WAKE_W = LENGTH  # watts of waking the GPU that is the middle one of the datacenter by watts
WAKE_SHARE = WAKE_W + 1  # of its watts at full use: 1 in the paper's step model, about 0 where they follow the use
MERIT = WAKE_SHARE + 1  # [MAX_MODELS] 1: GPU tasks are glad to come to this model; 0: it costs a socket's watts more
NO_GPU_FITS = MERIT + MAX_MODELS  # [VCPU_STEPS] F0
GPU_FITS = NO_GPU_FITS + VCPU_STEPS  # [LEVELS, VCPU_STEPS] F1
PART_FITS = GPU_FITS + LEVELS * VCPU_STEPS  # [1001] G


@kernel
def idle_milli(node: Any, cpu_left: int) -> int:
    """Milli-vCPU that powered sockets have free with `cpu_left` milli-vCPU left."""
    busy_cores = node.cores - cpu_left // VCPU_MILLI_PER_CORE
    active = (busy_cores + node.socket_cores - 1) // node.socket_cores
    return min(active * node.socket_cores * VCPU_MILLI_PER_CORE - (node.cpu_milli - cpu_left), cpu_left)


@kernel
def largest_part(node: Any, gpu: int, gpu_left: int) -> int:
    """Most milli left on a GPU in use, GPU `gpu` having `gpu_left`."""
    most = 0
    for g in range(node.gpus):
        left = gpu_left if g == gpu else node.gpu_left[g]
        if most < left < GPU_MILLI:
            most = left
    return most


@kernel
def sockets_ahead_w(node: Any, idle: int, gpu_free: int, gpu: int, gpu_left: int, params: Any) -> float:
    """Watts that the sockets of the node spare the next task, expected.

    `idle`: milli-vCPU that powered sockets have free; `gpu_left`: milli left on GPU `gpu`.
    """
    step = min(idle // VCPU_STEP_MILLI, VCPU_STEPS - 1)
    level = FREE if gpu_free > 0 else largest_part(node, gpu, gpu_left) // LEVEL_MILLI
    share = params[NO_GPU_FITS + step] + params[MERIT + node.model] * params[GPU_FITS + level * VCPU_STEPS + step]
    return share * (node.socket_max_mw - node.socket_idle_mw) * 0.001


@kernel
def part_ahead_w(left: int, params: Any) -> float:
    """Watts that one GPU is expected to spare the next sharing task; a free one is not awake and spares none."""
    return 0.0 if left == GPU_MILLI else params[WAKE_W] * params[PART_FITS + left]


def ahead_tables(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
    """The parameters of the look ahead, from place LENGTH on."""
    wake_w, wake_share, merit = gpu_merits(datacenter, profile)
    return np.concatenate([[wake_w, wake_share], merit, shares_that_fit(target)])


def gpu_merits(datacenter: Datacenter, profile: PowerProfile) -> tuple[float, float, NDArray[np.float64]]:
    """WAKE_W, WAKE_SHARE and MERIT.

    Without merits open sockets on hungry models counted as much as on others and drew tasks there too early: 0.3 points
    of saving at load 0.8 on the default trace.
    """
    merit = np.zeros(MAX_MODELS)
    gpus = np.bincount(datacenter.model, weights=datacenter.gpus, minlength=len(datacenter.models))
    if gpus.sum() == 0:
        return 0.0, 0.0, merit
    draw_mw = draw_table_mw(datacenter.models, profile)
    watts, wake_w = (draw_mw[:, GPU_MILLI] - draw_mw[:, 0]) / 1000, (draw_mw[:, 1] - draw_mw[:, 0]) / 1000
    by_watts = np.argsort(watts, kind="stable")
    middle = by_watts[np.searchsorted(np.cumsum(gpus[by_watts]), gpus.sum() / 2)]
    cpus = [profile.cpu(model) for model in datacenter.cpu_models]
    socket_w = float(np.average([cpu.max_w - cpu.idle_w for cpu in cpus], weights=np.bincount(datacenter.cpu_model)))
    socket_w = max(socket_w, 1e-3)
    merit[: len(watts)] = np.clip(1 - (watts - watts[middle]) / socket_w, 0.0, 1.0)
    return float(wake_w[middle]), float(wake_w[middle] / max(watts[middle], 1e-3)), merit


@lru_cache(maxsize=64)  # all runs of a comparison on one trace share it
def shares_that_fit(target: Target) -> NDArray[np.float64]:
    """NO_GPU_FITS, GPU_FITS and PART_FITS as one array."""
    no_gpu, gpu, part = np.zeros(VCPU_STEPS), np.zeros((LEVELS, VCPU_STEPS)), np.zeros(GPU_MILLI + 1)
    for task in target.uncut or target.classes:
        step = -(-task.cpu_milli // VCPU_STEP_MILLI)
        sharing = task.num_gpu == 1 and task.gpu_milli < GPU_MILLI
        if sharing:
            part[task.gpu_milli :] += task.share
        if step == 0:  # wakes no socket anywhere
            continue
        if task.num_gpu == 0:
            no_gpu[step:] += task.share
        elif task.num_gpu == 1:
            gpu[-(-task.gpu_milli // LEVEL_MILLI) if sharing else FREE :, step:] += task.share
    return np.concatenate([no_gpu, gpu.ravel(), part])
