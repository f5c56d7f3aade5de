"""The plan of `ocsplan`: how much of each kind of task each node type takes by each load while the datacenter fills.

A linear program, solved once for a fleet, target and profile. A kind is: GPUs, share or whole GPUs, a band of vCPU per
GPU, and the node types that can hold it. The load up to HORIZON is cut in SLICES. In each slice a kind asks for its
share of the slice, in amounts (effective GPUs, statistics.py), and what it gets on a node type stays there.

    least  sum over slices of watts after the slice / load, and UNSERVED_W for what is refused
    so that on each node type  amounts <= GPUs, vCPU <= vCPU, less a margin

It takes tasks and nodes for a fluid: the prices of slots and scarce shapes stay beside it. What it brings and what
else was tried: docs/research/ocs-on-other-fleets.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI, PowerProfile, draw_table_mw
from wattpack.model.target import Target, TargetClass
from wattpack.model.tasks import models_mask
from wattpack.policies.ocs.layout import GRAIN, MAX_CLASSES, MAX_KINDS, MAX_TYPES, PARAM, SLICES
from wattpack.policies.ocs.statistics import effective_gpus, gpu_worth

HORIZON = 0.9  # load that is planned for; with 0.6 more is saved and GRAR is missed on 9 more of 92 random settings
VCPU_BANDS = (2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128)  # vCPU per GPU
UNSERVED = 30  # times the dearest amount: every task that fits is served


class NodeType(NamedTuple):
    """What the plan knows of a node type."""

    nodes: int
    gpus: int
    cpu_milli: int
    model: int
    gpu_w: float  # of a GPU from idle to full use
    linear: float  # 1 where half a GPU draws half of that, 0 where it draws all of it
    vcpu_w: float


class Plan(NamedTuple):
    classes: tuple[TargetClass, ...]
    kind: NDArray[np.int64]  # of each class
    amount: NDArray[np.float64]  # of each class
    total: NDArray[np.float64]  # of each kind, up to the horizon
    limit: NDArray[np.float64]  # [kinds, types, SLICES] at the end of each slice


def fill_plan(
    params: NDArray[np.float64], datacenter: Datacenter, target: Target, profile: PowerProfile, margin: float
) -> None:
    """Write the plan into the parameters; nothing where there is none."""
    types = node_types(datacenter, profile)
    plan = make_plan(target, types, datacenter.models, margin) if len(types) <= MAX_TYPES else None
    if plan is None:
        return
    masks = [models_mask(one.gpu_spec, datacenter.models) for one in plan.classes]
    columns: dict[int, Sequence[float] | NDArray[np.float64] | NDArray[np.int64]] = {
        PARAM.class_cpu: [one.cpu_milli for one in plan.classes],
        PARAM.class_request: [one.num_gpu * one.gpu_milli for one in plan.classes],
        PARAM.class_models: masks,
        PARAM.class_kind: plan.kind,
        PARAM.class_amount: plan.amount,
        PARAM.kind_total: plan.total,
    }
    for place, values in columns.items():
        params[place : place + len(values)] = values
    limit = np.zeros((MAX_KINDS, MAX_TYPES, SLICES))
    limit[: plan.limit.shape[0], : plan.limit.shape[1]] = plan.limit
    params[PARAM.kind_limit : PARAM.end] = limit.ravel()
    params[PARAM.class_count] = len(plan.classes)


def node_types(datacenter: Datacenter, profile: PowerProfile) -> tuple[NodeType, ...]:
    """The node types in the order of their numbers in the records."""
    nodes = datacenter.records(profile)
    draw_w = draw_table_mw(datacenter.models, profile) / 1000
    numbers, first, count = np.unique(nodes.type, return_index=True, return_counts=True)
    found = list[NodeType]()
    for place, number in zip(first.tolist(), count.tolist(), strict=True):
        node = nodes[place]
        gpu_w = half_w = 0.0
        if node.gpus > 0:
            idle_w, half_w, full_w = draw_w[node.model, [0, GPU_MILLI // 2, GPU_MILLI]].tolist()
            gpu_w, half_w = full_w - idle_w, half_w - idle_w
        linear = min(1.0, max(0.0, 2 * (1 - half_w / gpu_w))) if gpu_w > 0 else 0.0
        vcpu_w = (node.socket_max_mw - node.socket_idle_mw) * node.sockets / max(int(node.cpu_milli), 1)
        shape = (int(number), int(node.gpus), int(node.cpu_milli), int(node.model))
        found.append(NodeType(*shape, gpu_w, linear, float(vcpu_w)))
    return tuple(found) if numbers.tolist() == list(range(len(numbers))) else ()


@lru_cache(maxsize=64)  # all runs of a comparison on one trace share it
def make_plan(target: Target, types: tuple[NodeType, ...], models: tuple[str, ...], margin: float = 0.0) -> Plan | None:
    """None where no task fits, or where there are more classes or kinds than a plan has room for."""
    asked = target.uncut or target.classes
    worth = gpu_worth(asked)
    fits = {one: fitting(one, types, models) for one in asked}
    classes = tuple(one for one in asked if any(fits[one]))
    if not 0 < len(classes) <= MAX_CLASSES:
        return None
    share = np.array([one.share for one in classes])
    milli = np.array([one.num_gpu * one.gpu_milli for one in classes]) / GPU_MILLI
    gpus = np.array([effective_gpus(one, worth) for one in classes])
    vcpu = np.array([one.cpu_milli for one in classes]) / 1000
    all_gpus = sum(one.nodes * one.gpus for one in types)
    if share @ milli <= 0 or all_gpus == 0 or share @ vcpu <= 0:
        return None
    # A task without GPU counts by its vCPU, at the target's GPUs per vCPU. Multiples of GRAIN: sums are exact.
    amount = np.where(gpus > 0, gpus, vcpu * (share @ gpus) / (share @ vcpu))
    amount = np.maximum(np.round(amount / GRAIN), 1) * GRAIN
    names = [_kind(one, float(effective), fits[one]) for one, effective in zip(classes, gpus, strict=True)]
    if len(set(names)) > MAX_KINDS:
        names = [(one.num_gpu, False, 0, fits[one]) for one in classes]
    kinds = list(dict.fromkeys(names))
    if len(kinds) > MAX_KINDS:
        return None
    kind = np.array([kinds.index(name) for name in names], dtype=np.int64)
    tasks_per_load = all_gpus / float(sum(one.share * one.num_gpu * one.gpu_milli for one in asked) / GPU_MILLI)

    def of_kind(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(kind, share * values, minlength=len(kinds)).astype(np.float64)

    size = of_kind(amount)
    per_amount = _PerAmount(of_kind(gpus) / size, of_kind(vcpu) / size, of_kind(milli) / size)
    demand = size * tasks_per_load
    may = np.array([name[3] for name in kinds], dtype=bool)
    limit = _solve(demand, per_amount, may, types, margin)
    return None if limit is None else Plan(classes, kind, amount, demand * HORIZON, limit)


class _PerAmount(NamedTuple):
    """What one unit of the amount of each kind asks for."""

    gpus: NDArray[np.float64]  # effective
    vcpu: NDArray[np.float64]
    milli: NDArray[np.float64]  # GPUs as asked for


def fitting(task: TargetClass, types: tuple[NodeType, ...], models: tuple[str, ...]) -> tuple[bool, ...]:
    """Which node types can hold the task while empty."""
    mask = models_mask(task.gpu_spec, models)
    return tuple(
        one.gpus >= task.num_gpu and one.cpu_milli >= task.cpu_milli and bool(mask >> one.model & 1) for one in types
    )


def _kind(task: TargetClass, gpus: float, fits: tuple[bool, ...]) -> tuple[int, bool, int, tuple[bool, ...]]:
    band = int(np.searchsorted(VCPU_BANDS, task.cpu_milli / 1000 / (gpus if gpus > 0 else 1)))
    return task.num_gpu, task.num_gpu == 1 and task.gpu_milli < GPU_MILLI, band, fits


def _solve(
    demand: NDArray[np.float64],
    per_amount: _PerAmount,
    may: NDArray[np.bool_],
    types: tuple[NodeType, ...],
    margin: float,
) -> NDArray[np.float64] | None:
    """demand: of each kind for one unit of load. The amount of each kind on each node type by the end of each slice."""
    from scipy import sparse  # 0.3 s to import, so only where it is needed
    from scipy.optimize import linprog

    gpu_w, linear, vcpu_w = (np.array([one[field] for one in types]) for field in (4, 5, 6))
    cost_w = np.outer(per_amount.gpus, gpu_w * (1 - linear)) + np.outer(per_amount.milli, gpu_w * linear)
    cost_w += np.outer(per_amount.vcpu, vcpu_w)
    kind, place = np.nonzero(may)
    pairs, kinds = len(kind), len(demand)
    loads = HORIZON * np.arange(1, SLICES + 1) / SLICES
    later = np.cumsum((1 / loads)[::-1])[::-1]  # a placement draws its watts in this slice and all later ones
    refused_w = UNSERVED * cost_w[may].max() * (per_amount.milli + 0.05)
    cost = np.concatenate([np.outer(later, cost_w[kind, place]).ravel(), np.outer(later, refused_w).ravel()])
    served = sparse.csr_array((np.ones(pairs), (kind, np.arange(pairs))), shape=(kinds, pairs))
    balance = sparse.hstack([sparse.block_diag([served] * SLICES), sparse.eye_array(kinds * SLICES)]).tocsr()

    def use(per_pair: NDArray[np.float64]) -> Any:
        of_type = sparse.csr_array((per_pair, (place, np.arange(pairs))), shape=(len(types), pairs))
        return sparse.hstack([of_type] * SLICES + [sparse.csr_array((len(types), kinds * SLICES))]).tocsr()

    capacity = [one.nodes * one.gpus for one in types] + [one.nodes * one.cpu_milli / 1000 for one in types]
    solved = linprog(
        cost,
        sparse.vstack([use(per_amount.gpus[kind]), use(per_amount.vcpu[kind])]).tocsr(),
        np.array(capacity) * (1 - margin),
        balance,
        np.tile(demand * HORIZON / SLICES, SLICES),
        method="highs",
    )
    if solved.status != 0:
        return None
    limit = np.zeros((kinds, len(types), SLICES))
    limit[kind, place] = np.cumsum(solved.x[: pairs * SLICES].reshape(SLICES, pairs), axis=0).T
    return limit
