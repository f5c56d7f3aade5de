"""Statistics of the target workload for `ocs`: worth of a part of a GPU, vCPU per GPU, multi-GPU sizes.

They are computed once per target, in plain Python and one small linear program, and handed to the kernels in one
float64 array (`Params` in layout.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import GPU_MILLI
from wattpack.model.target import Target, TargetClass
from wattpack.policies.ocs.fleet import Shape
from wattpack.policies.ocs.layout import GRAIN, MAX_SIZES, PARAM, QUANTILES

LEAST_KAPPA = 0.5  # vCPU per GPU


def statistics(target: Target, shapes: Sequence[Shape]) -> NDArray[np.float64]:
    """The parameters of `ocs` as one array; those of ahead.py, fleet.py, scarcity.py and the knob are 0."""
    params = np.zeros(PARAM.end)
    classes = target.uncut or target.classes
    worth = gpu_worth(classes)
    fill(params, PARAM.worth, worth)
    demand = demand_shares(classes, worth)
    strands = 1 / (1000 * vcpu_quantiles(classes, worth, demand)[::-1])
    fill(params, PARAM.strands, strands)
    fill(params, PARAM.strand_sums + 1, np.cumsum(strands))

    sizes = multi_gpu_sizes(classes, demand)
    params[PARAM.size_count] = len(sizes)
    for i, (size, cpu_milli, share) in enumerate(sizes):
        params[PARAM.size + i], params[PARAM.size_demand + i] = size, share
        params[PARAM.size_per_cpu + i] = 1 / cpu_milli
        fill(params, PARAM.size_gpus + i * (MAX_GPUS + 1), np.arange(MAX_GPUS + 1) // size * size)
    gpus = sum(task.share * effective_gpus(task, worth) for task in classes)
    vcpu_milli = sum(task.share * task.cpu_milli for task in classes)
    # Without demand for one of the two, vCPU limits nothing.
    params[PARAM.gpus_per_vcpu] = gpus / vcpu_milli if gpus > 0 and vcpu_milli > 0 else 1.0
    vcpu_for = sum(shape.nodes * shape.cpu_milli for shape in shapes) * params[PARAM.gpus_per_vcpu]
    params[PARAM.capacity] = min(sum(shape.nodes * shape.gpus for shape in shapes), vcpu_for)
    return params


def usable_gpus(params: NDArray[np.float64], shapes: Sequence[Shape]) -> list[float]:
    """GPUs of each shape of nodes that have vCPU while all are free: GV - S of an empty node, times the nodes."""
    strands = params[PARAM.strands : PARAM.strands + QUANTILES]
    return [shape.nodes * float(np.minimum(shape.gpus, shape.cpu_milli * strands).mean()) for shape in shapes]


def fill(params: NDArray[np.float64], at: int, values: ArrayLike) -> None:
    """Write `values` into `params` from place `at` on."""
    found = np.asarray(values, dtype=np.float64)
    params[at : at + len(found)] = found


@lru_cache(maxsize=64)  # fleets and learnt targets ask again and again for the worth of the same classes
def gpu_worth(classes: tuple[TargetClass, ...]) -> NDArray[np.float64]:
    """V(r) for r = 0..1000 milli: the most that sharing tasks in r milli are worth; a whole GPU is worth 1.

    The worth of a size is its dual in the cutting-stock LP: the fewest GPUs that hold the target's sharing tasks.
    """
    count: dict[int, float] = {}
    for task in classes:
        if task.num_gpu == 1 and task.gpu_milli < GPU_MILLI:
            count[task.gpu_milli] = count.get(task.gpu_milli, 0.0) + task.share
    sizes = sorted(count)
    worth = np.zeros(GPU_MILLI + 1)
    if sizes:
        worth = best_fillings(sizes, cutting_stock_duals(sizes, [count[size] for size in sizes]))
    worth = np.minimum(np.rint(worth / GRAIN) * GRAIN, 1.0)
    worth[GPU_MILLI] = 1.0
    return worth


def cutting_stock_duals(sizes: Sequence[int], counts: Sequence[float]) -> list[float]:
    """Worth in GPUs of a piece of each size, by column generation: a column is a way to fill one GPU."""
    from scipy.optimize import linprog  # 0.3 s to import, so only where it is needed

    columns = [[GPU_MILLI // size if i == j else 0 for j in range(len(sizes))] for i, size in enumerate(sizes)]
    wanted = np.array(counts) / sum(counts)
    while True:
        solved = linprog(np.ones(len(columns)), A_ub=-np.array(columns, float).T, b_ub=-wanted, method="highs")
        duals = np.maximum(-solved.ineqlin.marginals, 0.0).tolist()
        best = best_fillings(sizes, duals)
        column = filling(sizes, duals, best)
        # If the column is known already, the excess over 1 is the solver's tolerance.
        if best[GPU_MILLI] <= 1 + 1e-9 or column in columns:
            return duals
        columns.append(column)


def best_fillings(sizes: Sequence[int], values: Sequence[float]) -> NDArray[np.float64]:
    """For r = 0..1000: the largest value of pieces (any number of each size) that fit into r milli."""
    best = [0.0] * (GPU_MILLI + 1)
    pairs = list(zip(sizes, values, strict=True))
    for r in range(1, GPU_MILLI + 1):
        most = best[r - 1]
        for size, value in pairs:
            if size > r:
                break
            most = max(most, best[r - size] + value)
        best[r] = most
    return np.array(best)


def filling(sizes: Sequence[int], values: Sequence[float], best: NDArray[np.float64]) -> list[int]:
    """How many pieces of each size make up best[1000]."""
    pieces, r = [0] * len(sizes), GPU_MILLI
    while r > 0:
        for i, (size, value) in enumerate(zip(sizes, values, strict=True)):
            if size <= r and value > 0 and best[r - size] + value == best[r]:
                pieces[i] += 1
                r -= size
                break
        else:
            r -= 1
    return pieces


def effective_gpus(task: TargetClass, worth: NDArray[np.float64]) -> float:
    """GPUs that a task takes; for a sharing task, the worth of its part."""
    if task.num_gpu == 1 and task.gpu_milli < GPU_MILLI:
        return float(worth[task.gpu_milli])
    return float(task.num_gpu)


def demand_shares(classes: Sequence[TargetClass], worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """d_k: the share of the target's effective GPUs that each class asks for."""
    demand = np.array([task.share * effective_gpus(task, worth) for task in classes])
    return demand / max(demand.sum(), 1e-300)


def vcpu_quantiles(
    classes: Sequence[TargetClass], worth: NDArray[np.float64], demand: NDArray[np.float64]
) -> NDArray[np.float64]:
    """kappa_q, ascending: vCPU per effective GPU at the middles of QUANTILES equal parts of the demand."""
    pairs = sorted(
        (task.cpu_milli / 1000 / effective_gpus(task, worth), share)
        for task, share in zip(classes, demand.tolist(), strict=True)
        if share > 0
    )
    if not pairs:
        return np.full(QUANTILES, LEAST_KAPPA)
    ratios, shares = (np.array(column) for column in zip(*pairs, strict=True))
    middles = (np.arange(QUANTILES) + 0.5) / QUANTILES
    at = np.minimum(np.searchsorted(np.cumsum(shares), middles), len(ratios) - 1)
    return np.maximum(ratios[at], LEAST_KAPPA)


def multi_gpu_sizes(classes: Sequence[TargetClass], demand: NDArray[np.float64]) -> list[tuple[int, float, float]]:
    """(s, c_s, d_s) for each multi-GPU size, ascending: size, mean milli-vCPU, demand for s or more GPUs."""
    counts: dict[int, float] = {}
    cpu: dict[int, float] = {}
    asked: dict[int, float] = {}
    for task, share in zip(classes, demand.tolist(), strict=True):
        if task.num_gpu > 1:
            counts[task.num_gpu] = counts.get(task.num_gpu, 0.0) + task.share
            cpu[task.num_gpu] = cpu.get(task.num_gpu, 0.0) + task.share * task.cpu_milli
            asked[task.num_gpu] = asked.get(task.num_gpu, 0.0) + share
    kept = sorted(sorted(asked, key=lambda size: -asked[size])[:MAX_SIZES])
    return [
        (size, max(cpu[size] / counts[size], 1.0), sum(share for other, share in asked.items() if other >= size))
        for size in kept
    ]
