"""What `ocs` knows of a fleet: node shapes, which of them can hold a class, and the watts its prices are multiples of.

Demand that no node can ever hold counts nowhere: `placeable` takes such classes out of the target workload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI, VCPU_MILLI_PER_CORE, PowerProfile, draw_table_mw
from wattpack.model.target import Target, TargetClass
from wattpack.model.tasks import models_mask


class Shape(NamedTuple):
    """Nodes alike in what decides whether a class of the target ever fits: a class has no memory and no CPU model."""

    cpu_milli: int
    gpus: int
    model: int
    nodes: int  # how many there are


class FleetWatts(NamedTuple):
    """Watts of a fleet: a price in watts is a multiple of one of these."""

    gpu_w: float  # of one GPU above idle, mean over the GPUs: 137 W in the built-in datacenter with the paper's watts
    spread_w: float  # most that a GPU and a socket can cost more in one place than in another: 395 W there


def node_shapes(datacenter: Datacenter) -> tuple[tuple[Shape, ...], NDArray[np.int64]]:
    """The shapes of the nodes, and the shape of each node type (`Datacenter.types`)."""
    _, first, counts = np.unique(datacenter.types, return_index=True, return_counts=True)
    columns = (datacenter.cpu_milli[first], datacenter.gpus[first], datacenter.model[first])
    rows = [(int(cpu), int(gpus), int(model)) for cpu, gpus, model in zip(*columns, strict=True)]
    nodes: dict[tuple[int, int, int], int] = {}
    for row, count in zip(rows, counts.tolist(), strict=True):
        nodes[row] = nodes.get(row, 0) + count
    of_type = np.array([list(nodes).index(row) for row in rows], dtype=np.int64)
    return tuple(Shape(*row, count) for row, count in nodes.items()), of_type


def holders(task: TargetClass, shapes: Sequence[Shape], models: int) -> int:
    """The shapes, as bits, that can hold a task of the class while empty; `models`: those that it may use, as bits."""
    return sum(
        1 << place
        for place, shape in enumerate(shapes)
        if shape.gpus >= task.num_gpu and shape.cpu_milli >= task.cpu_milli and models >> shape.model & 1
    )


def placeable(target: Target, shapes: tuple[Shape, ...], models: tuple[str, ...]) -> Target:
    """The target without the classes that fit no node; the same target where all fit, or none does."""
    classes = target.uncut or target.classes
    kept = [c for c, task in enumerate(classes) if holders(task, shapes, models_mask(task.gpu_spec, models))]
    if len(kept) in (0, len(classes)):
        return target
    total = sum(classes[c].share for c in kept)
    memory_mib = tuple(target.memory_mib[c] for c in kept) if target.memory_mib else ()
    uncut = tuple(classes[c]._replace(share=classes[c].share / total) for c in kept)
    return replace(target, uncut=uncut, memory_mib=memory_mib)


def fleet_watts(datacenter: Datacenter, profile: PowerProfile) -> FleetWatts:
    sockets = [profile.cpu(model) for model in datacenter.cpu_models]
    nodes = np.bincount(datacenter.cpu_model, minlength=len(sockets))
    socket_w = float(np.average([cpu.max_w - cpu.idle_w for cpu in sockets], weights=nodes))
    gpus = np.bincount(datacenter.model, weights=datacenter.gpus, minlength=len(datacenter.models))
    if gpus.sum() == 0:
        return FleetWatts(0.0, socket_w)
    draw_mw = draw_table_mw(datacenter.models, profile)
    watts = (draw_mw[:, GPU_MILLI] - draw_mw[:, 0]) / 1000
    present = watts[gpus > 0]
    return FleetWatts(float(np.average(watts, weights=gpus)), float(present.max() - present.min()) + socket_w)


def socket_vcpu(datacenter: Datacenter, profile: PowerProfile) -> float:
    """vCPU of a socket, mean over the sockets: a socket of a small node has no more than the node."""
    nodes = datacenter.records(profile)
    sockets = int(nodes.sockets.sum())
    vcpu = np.minimum(nodes.socket_cores * VCPU_MILLI_PER_CORE, nodes.cpu_milli) / 1000
    return float((vcpu * nodes.sockets).sum()) / sockets if sockets > 0 else 0.0
