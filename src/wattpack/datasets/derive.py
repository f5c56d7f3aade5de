"""Variants of any trace at any percentage: more multi-GPU, more or less sharing-GPU, more constrained-GPU tasks.

They follow the rules by which the published variants of the Default trace were made, as far as their counts show; where
the counts differ from the paper's text, the counts win, and a comment says so. Default: 8,152 tasks, 1,088 without GPU,
3,078 sharing (1,731.8 GPUs), 3,911 of one GPU, 16, 15, 44 of 2, 4, 8 GPUs (75 tasks, 444 GPUs); 6,086.8 GPUs in all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets import alibaba2023
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import Workload, task_kind

SHARING = 0  # a task's kind, as `task_kind` has it: 0 sharing, s for s whole GPUs, -1 without GPU
SPEC_TRACES = ("gpuspec10", "gpuspec20", "gpuspec25", "gpuspec33")


class Profile(TypedDict):
    """Fractions of 1. Keys of the first two: GPU request of a task, `0`, `(0,1)`, `1`, `2`, `4`, `8`, others if any."""

    population_share: dict[str, float]
    gpu_demand_share: dict[str, float]
    constrained_share: float  # of the GPU tasks


def profile(trace: Workload) -> Profile:
    """Shares of tasks and demand by GPU request (the paper's table I), and the share of GPU tasks that name a model."""
    tasks, demand_milli = Counter[int](), Counter[int]()
    constrained = 0
    for task, count in zip(trace.classes, trace.counts().tolist(), strict=True):
        kind = task_kind(task.num_gpu, task.gpu_milli)
        tasks[kind] += count
        demand_milli[kind] += count * task.num_gpu * task.gpu_milli
        constrained += count if kind >= 0 and task.gpu_spec else 0
    kinds = sorted({-1, SHARING, 1, 2, 4, 8} | set(tasks))
    names = {kind: {-1: "0", SHARING: "(0,1)"}.get(kind, str(kind)) for kind in kinds}
    all_tasks, all_demand = max(tasks.total(), 1), max(demand_milli.total(), 1)
    return {
        "population_share": {names[kind]: tasks[kind] / all_tasks for kind in kinds},
        "gpu_demand_share": {names[kind]: demand_milli[kind] / all_demand for kind in kinds},
        "constrained_share": constrained / max(tasks.total() - tasks[-1], 1),
    }


def multi_gpu(trace: Workload, percent: float, rng: np.random.Generator) -> Workload:
    """Tasks of 2 or more GPUs are added until they ask for at least `percent` % of the GPU demand.

    The paper says that the demand of tasks with *1 or more* whole GPUs grows *by* 20, 30, 40, 50 %. The published
    traces differ: they are Default in its order, followed by 172, 356, 594, 909 further tasks, all of 2, 4 or
    8 GPUs (one-GPU tasks stay at 3,911), and 20, 30, 40, 50 % is the *share* of multi-GPU tasks in the demand:
    20.4, 30.2, 40.2, 50.3 (Default: 7.3). The demand of whole-GPU tasks grows by 23, 46, 77, 121 %. The added tasks
    follow Default's multi-GPU classes as draws with replacement do (22, 22, 56 % of the 172 ask for 2, 4, 8 GPUs; 21,
    20, 59 % in Default), so they are drawn that way here.
    """
    _check_percent(percent, "multi_gpu", most=99)
    request_milli, kind = _by_task(trace)
    multi = np.flatnonzero(kind >= 2)
    others_milli = int(request_milli[kind < 2].sum())
    have_milli = int(request_milli[multi].sum())
    need_milli = others_milli * percent / (100 - percent) - have_milli
    if len(multi) == 0:
        raise UserError(f"multi_gpu {percent}: {trace.name} has no task of 2 or more GPUs, expected some to draw from")
    if need_milli < 0:
        share = 100 * have_milli / (others_milli + have_milli)
        raise UserError(
            f"multi_gpu {percent}: multi-GPU tasks are {share:.1f} % of {trace.name} already, expected less"
        )
    # no multi-GPU task asks for less than two GPUs: enough draws for any outcome
    drawn = multi[rng.integers(len(multi), size=int(need_milli // (2 * GPU_MILLI)) + 1)]
    added = drawn[: int(np.searchsorted(_sums_of_first(request_milli[drawn]), need_milli, side="left"))]
    return _renamed(trace, np.concatenate([trace.sequence, trace.sequence[added]]), f"multigpu{percent:g}")


def sharing_gpu(trace: Workload, percent: float, rng: np.random.Generator) -> Workload:
    """Sharing tasks ask for `percent` % of the GPU demand; the number of GPU tasks and all CPU-only tasks stay.

    Published: 8,152 tasks in every variant, the same 1,088 CPU-only ones, 4,001, 5,233, 6,279, 7,064 sharing tasks
    with 40.07, 60.01, 80.04, 100 % of the demand. The kind that shrinks is a subset of Default's tasks (no class
    above its count there; chi-square of the classes 15.3, as for draws without replacement, 16.7). The kind that grows
    is drawn anew with replacement (rare classes of Default are gone; chi-square 50 to 77 on 52 degrees of freedom).
    On Default the draws miss `percent` by 0.1 points at most, by a few tenths within half a point of its own share.
    """
    _check_percent(percent, "sharing_gpu", most=100)
    request_milli, kind = _by_task(trace)
    sharing, whole = np.flatnonzero(kind == SHARING), np.flatnonzero(kind >= 1)
    if len(sharing) == 0 or len(whole) == 0:
        raise UserError(
            f"sharing_gpu {percent}: {trace.name} has {len(sharing)} sharing and {len(whole)} whole-GPU tasks"
        )
    gpu_tasks = len(sharing) + len(whole)
    whole_grows = 100 * int(request_milli[sharing].sum()) > percent * int(request_milli.sum())
    growing, shrinking = (whole, sharing) if whole_grows else (sharing, whole)
    grown = growing[rng.integers(len(growing), size=gpu_tasks)]
    shrunk = rng.permutation(shrinking)
    # Every split into n growing and gpu_tasks - n shrinking tasks that these draws allow; the closest share wins.
    kept = np.arange(len(shrinking) + 1)
    shrunk_milli = _sums_of_first(request_milli[shrunk])[kept]
    grown_milli = _sums_of_first(request_milli[grown])[gpu_tasks - kept]
    sharing_milli = shrunk_milli if whole_grows else grown_milli
    shares = 100 * sharing_milli / (shrunk_milli + grown_milli)
    best = int(np.argmin(np.abs(shares - percent)))
    picked = np.concatenate([np.flatnonzero(kind < 0), grown[: gpu_tasks - best], shrunk[:best]])
    return _renamed(trace, trace.sequence[picked], f"gpushare{percent:g}")


def constrained_gpu(trace: Workload, percent: float, datacenter: Datacenter, rng: np.random.Generator) -> Workload:
    """`percent` % of the GPU tasks name GPU models; nothing else changes. Models named before are forgotten.

    Published: the tasks of Default, in order, of which 732, 1,444, 1,759, 2,388 of 7,064 (10.4, 20.4, 24.9, 33.8 %)
    got a spec. Whether and which depends on a task's kind, not on its vCPU or memory: classes of a kind differ by no
    more than chance, and a few 8-GPU tasks name a model whose nodes are too small for them. Sharing tasks are
    constrained 0.85 times as often as GPU tasks on average, one-GPU tasks 1.11 times, larger ones 1.00 times (67 of
    300: too few to tell 2, 4, 8 apart). Sharing tasks ask for T4 (64 %), P100 (34) or any of five models (2); one-GPU
    tasks for T4 (45), G2 (23), V100M16|V100M32 (11), P100|V100M16|V100M32 (6), G3 (5) and twelve other specs; 8-GPU
    tasks for G2 or G3. No variant contains another. Rates and specs are taken here from those four traces; a kind
    that they do not have (3 GPUs) has the specs of the next smaller one. The number of constrained tasks is exact.

    In another datacenter only those specs are drawn that name a model it has. Where none is left for a kind, a task
    names one model, drawn by the number of GPUs on the nodes with enough GPUs for it (on all nodes if none has).
    """
    _check_percent(percent, "constrained_gpu", most=100)
    if datacenter.gpu_milli == 0:
        raise UserError(f"constrained_gpu {percent}: {datacenter.name} has no GPU, expected models to ask for")
    _, kind = _by_task(trace)
    kinds = sorted(set(kind[kind >= 0].tolist()))
    rates, specs_by_kind = _published_specs()
    sizes = [int((kind == k).sum()) for k in kinds]
    total = round(percent / 100 * sum(sizes))
    spec_of_task: dict[int, str] = {}
    for k, constrained in zip(kinds, _apportion(total, sizes, [rates[min(k, 2)] for k in kinds]), strict=True):
        tasks = rng.permutation(np.flatnonzero(kind == k))[:constrained]
        specs = _specs_for(k, specs_by_kind[max(known for known in specs_by_kind if known <= k)], datacenter)
        drawn = rng.integers(len(specs), size=constrained)
        spec_of_task.update((task, specs[i]) for task, i in zip(tasks.tolist(), drawn.tolist(), strict=True))
    tasks_now = [
        trace.classes[k]._replace(gpu_spec=spec_of_task.get(i, "")) for i, k in enumerate(trace.sequence.tolist())
    ]
    found = Workload.of(tasks_now, trace.task_names, name=f"{trace.name}-gpuspec{percent:g}")
    return replace(found, in_order=trace.in_order)


def _published_specs() -> tuple[list[float], dict[int, list[str]]]:
    """Constrained share of sharing, one-GPU, multi-GPU tasks in the published variants; all specs there by kind."""
    tasks, constrained = [0, 0, 0], [0, 0, 0]
    specs: dict[int, list[str]] = {}
    for name in SPEC_TRACES:
        trace = alibaba2023.trace(name)
        for task, count in zip(trace.classes, trace.counts().tolist(), strict=True):
            kind = task_kind(task.num_gpu, task.gpu_milli)
            if kind >= 0:
                tasks[min(kind, 2)] += count
            if kind >= 0 and task.gpu_spec:
                constrained[min(kind, 2)] += count
                specs.setdefault(kind, []).extend([task.gpu_spec] * count)
    return [part / whole for part, whole in zip(constrained, tasks, strict=True)], specs


def _specs_for(kind: int, published: list[str], datacenter: Datacenter) -> list[str]:
    """What to draw from, uniformly: each spec as often as it should come."""
    usable = [spec for spec in published if not set(spec.split("|")).isdisjoint(datacenter.models)]
    if usable:
        return usable
    enough = datacenter.gpus >= max(kind, 1)
    gpus = np.where(enough, datacenter.gpus, 0) if enough.any() else datacenter.gpus
    return [datacenter.models[model] for model in np.repeat(datacenter.model, gpus).tolist()]


def _apportion(total: int, sizes: list[int], weights: list[float]) -> list[int]:
    """`total` split over groups by size times weight, none above its size; largest remainders round up."""
    quotas = np.zeros(len(sizes))
    below = np.ones(len(sizes), dtype=bool)  # groups that are not filled up
    size, weight = np.array(sizes, dtype=float), np.array(weights, dtype=float)
    while below.any():
        scale = (total - size[~below].sum()) / (size * weight)[below].sum()
        quotas[below] = (scale * size * weight)[below]
        over = below & (quotas >= size)
        if not over.any():
            break
        quotas[over] = size[over]
        below &= ~over
    parts = np.floor(quotas + 1e-9).astype(int)
    parts[np.argsort(parts - quotas, kind="stable")[: total - parts.sum()]] += 1
    return [int(part) for part in parts]


def _by_task(trace: Workload) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Requested milli-GPU and kind of every task."""
    kinds = np.array([task_kind(task.num_gpu, task.gpu_milli) for task in trace.classes], dtype=np.int64)
    return trace.gpu_request_milli(), kinds[trace.sequence]


def _sums_of_first(amounts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Element n: sum of the first n amounts, from 0 to all of them."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(amounts)])


def _renamed(trace: Workload, sequence: NDArray[np.int32], variant: str) -> Workload:
    return Workload(trace.classes, sequence, None, f"{trace.name}-{variant}", trace.in_order)


def _check_percent(percent: float, variant: str, most: int) -> None:
    if not 0 <= percent <= most:
        raise UserError(f"{variant} {percent}: expected a percentage from 0 to {most}")
