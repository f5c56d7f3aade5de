"""Statistics of the target workload for `ocs`: worth of a part of a GPU, vCPU per GPU, multi-GPU sizes, model sets.

They are computed once per target and set of GPU models, in plain Python and one small linear program, and handed to
the kernels in one float64 array (`Params` in layout.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wattpack.model.nodes import MAX_GPUS, Datacenter
from wattpack.model.power import GPU_MILLI
from wattpack.model.target import Target, TargetClass
from wattpack.model.tasks import models_mask
from wattpack.policies.ocs.layout import MAX_GROUPS, MAX_SETS, MAX_SIZES, PARAM, QUANTILES

LEAST_KAPPA = 0.5  # vCPU per GPU
# V is rounded to multiples of this, so that running sums over the datacenter are exact and `release` undoes `place`.
GRAIN = 2.0**-20


def statistics(datacenter: Datacenter, target: Target, service: float) -> NDArray[np.float64]:
    """The parameters of `ocs` as one array, but for those of the look ahead (ahead.py), which are 0."""
    params = target_statistics(target, datacenter.models).copy()
    params[PARAM.capacity] = datacenter.gpus.sum()
    params[PARAM.service] = service
    return params


@lru_cache(maxsize=64)  # all runs of a comparison on one trace share it
def target_statistics(target: Target, models: tuple[str, ...]) -> NDArray[np.float64]:
    """The parameters that depend neither on the datacenter's size nor on the knob."""
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
    fill_model_sets(params, model_sets(classes, demand, models), len(models))
    return params


def fill_model_sets(params: NDArray[np.float64], sets: Sequence[tuple[int, float]], models: int) -> None:
    """Fill in the sets (models as bits, demand) and the groups of models that are in the same sets."""
    params[PARAM.set_count] = len(sets)
    fill(params, PARAM.set_demand, [share for _, share in sets])
    params[PARAM.group_of : PARAM.model_in] = -1
    groups: list[list[int]] = []
    for model in range(models):
        row = [mask >> model & 1 for mask, _ in sets]
        fill(params, PARAM.model_in + model * MAX_SETS, row)
        if any(row) and row not in groups and len(groups) < MAX_GROUPS:
            fill(params, PARAM.group_in + len(groups) * MAX_SETS, row)
            groups.append(row)
        if row in groups:
            params[PARAM.group_of + model] = groups.index(row)
    params[PARAM.group_count] = len(groups)


def fill(params: NDArray[np.float64], at: int, values: ArrayLike) -> None:
    """Write `values` into `params` from place `at` on."""
    found = np.asarray(values, dtype=np.float64)
    params[at : at + len(found)] = found


def gpu_worth(classes: Sequence[TargetClass]) -> NDArray[np.float64]:
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


def model_sets(
    classes: Sequence[TargetClass], demand: NDArray[np.float64], models: Sequence[str]
) -> list[tuple[int, float]]:
    """(A as bits, d_A): sets of models that classes name and unions of two such sets, except the set of all models."""
    everything = sum(1 << m for m, model in enumerate(models) if model != "")
    asked: dict[int, float] = {}
    for task, share in zip(classes, demand.tolist(), strict=True):
        if task.num_gpu > 0 and task.gpu_spec != "" and (mask := models_mask(task.gpu_spec, models)):
            asked[mask] = asked.get(mask, 0.0) + share
    specs = sorted(asked, key=lambda mask: -asked[mask])
    found = dict.fromkeys([*specs, *(a | b for a, b in combinations(specs, 2))])
    sets = [mask for mask in found if mask != everything][:MAX_SETS]
    return [(mask, sum(share for spec, share in asked.items() if spec & ~mask == 0)) for mask in sets]
