"""Tables of the look ahead of `ocs`: what a node that is awake spares the next task (E in node.py).

    F0(idle)         share of the target's tasks that ask for no GPU and at most `idle` vCPU
    F1(idle, GPUs)   the same for tasks of one GPU or a part of one that a GPU of the node has room for
    G(left)          share of the target's tasks that ask for a part of a GPU of at most `left`
    wake_w           watts of waking a GPU of the median model; merit: how little a model draws against that one

Tasks of several GPUs do not count: with them, nodes of four GPUs were broken up early.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI, PowerProfile, draw_table_mw
from wattpack.model.target import Target
from wattpack.model.tasks import MAX_MODELS
from wattpack.policies.ocs.layout import FREE, LEVEL_MILLI, LEVELS, PARAM, VCPU_STEP_MILLI, VCPU_STEPS


class FittingShares(NamedTuple):
    """Shares of the target's tasks that fit."""

    no_gpu: NDArray[np.float64]  # [VCPU_STEPS] F0
    gpu: NDArray[np.float64]  # [LEVELS, VCPU_STEPS] F1
    part: NDArray[np.float64]  # [1001] G


def fill_merits(params: NDArray[np.float64], datacenter: Datacenter, profile: PowerProfile) -> None:
    """Fill what the look ahead knows of watts; modifies `params`."""
    params[PARAM.wake_w], params[PARAM.wake_share], merit = gpu_merits(datacenter, profile)
    params[PARAM.merit : PARAM.no_gpu_fits] = merit


def fill_look_ahead(params: NDArray[np.float64], target: Target) -> None:
    """Fill the shares of the target that fit; modifies `params`."""
    shares = shares_that_fit(target)
    params[PARAM.no_gpu_fits : PARAM.gpu_fits] = shares.no_gpu
    params[PARAM.gpu_fits : PARAM.part_fits] = shares.gpu.ravel()
    params[PARAM.part_fits : PARAM.reserve_count] = shares.part


def gpu_merits(datacenter: Datacenter, profile: PowerProfile) -> tuple[float, float, NDArray[np.float64]]:
    """`wake_w`, `wake_share` and `merit`.

    Without merit, powered sockets beside power-hungry GPUs counted as much as others and drew tasks there too early:
    0.3 points of saving at load 0.8 on the default trace.
    """
    merit = np.zeros(MAX_MODELS)
    gpus = np.bincount(datacenter.model, weights=datacenter.gpus, minlength=len(datacenter.models))
    if gpus.sum() == 0:
        return 0.0, 0.0, merit
    draw_mw = draw_table_mw(datacenter.models, profile)
    watts, wake_w = (draw_mw[:, GPU_MILLI] - draw_mw[:, 0]) / 1000, (draw_mw[:, 1] - draw_mw[:, 0]) / 1000
    by_watts = np.argsort(watts, kind="stable")
    median = by_watts[np.searchsorted(np.cumsum(gpus[by_watts]), gpus.sum() / 2)]
    cpus = [profile.cpu(model) for model in datacenter.cpu_models]
    socket_w = float(np.average([cpu.max_w - cpu.idle_w for cpu in cpus], weights=np.bincount(datacenter.cpu_model)))
    socket_w = max(socket_w, 1e-3)
    merit[: len(watts)] = np.clip(1 - (watts - watts[median]) / socket_w, 0.0, 1.0)
    return float(wake_w[median]), float(wake_w[median] / max(watts[median], 1e-3)), merit


def shares_that_fit(target: Target) -> FittingShares:
    """F0, F1 and G of a target workload."""
    no_gpu, gpu, part = np.zeros(VCPU_STEPS), np.zeros((LEVELS, VCPU_STEPS)), np.zeros(GPU_MILLI + 1)
    for task in target.uncut or target.classes:
        step = -(-task.cpu_milli // VCPU_STEP_MILLI)
        sharing = task.num_gpu == 1 and task.gpu_milli < GPU_MILLI
        if sharing:
            part[task.gpu_milli :] += task.share
        if step == 0:  # a task without vCPU wakes no socket anywhere
            continue
        if task.num_gpu == 0:
            no_gpu[step:] += task.share
        elif task.num_gpu == 1:
            gpu[-(-task.gpu_milli // LEVEL_MILLI) if sharing else FREE :, step:] += task.share
    return FittingShares(no_gpu, gpu, part)
