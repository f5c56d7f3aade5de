"""Constraints of every placement as rows of the configuration LP: GPUs, vCPU, memory, task limit, socket watts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.model.fit import FITS, MAX_TASKS, fits
from wattpack.model.power import VCPU_MILLI_PER_CORE
from wattpack.model.records import NodeRecord, Records, TaskRecord

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MAX_SOCKETS = 10_000  # of a node: each is a candidate line of the hull; the largest machines have 32
Pairs = tuple[Integers, Integers]


def allowed_pairs(tasks: Records[TaskRecord], nodes: Records[NodeRecord]) -> Pairs:
    """(class, type) wherever a task of the class fits an empty node of the type: models, GPUs, vCPU, memory."""
    pairs = [(k, t) for k in range(len(tasks)) for t in range(len(nodes)) if fits(nodes[t], tasks[k]) == FITS]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def capacity_rows(tasks: Any, nodes: Any, count: Integers, pairs: Pairs, sizes_milli: Integers) -> tuple[Any, Floats]:
    """Rows A and limits b of A [x, e] <= b that hold for any demand.

    First one row per type for its GPUs, then one per type and size for the room that patterns give; the columns of
    patterns are added to these. Then vCPU, memory, tasks, and the lines under the watts of sockets.
    """
    from scipy import sparse

    k, t = pairs
    at, types, sizes, columns = np.arange(len(k)), len(nodes), len(sizes_milli), len(k) + len(nodes)

    def row_a_type(amount: Any) -> Any:
        return sparse.csr_array((np.asarray(amount, np.float64), (t, at)), shape=(types, columns))

    sharing = np.flatnonzero(tasks.kind[k] == 0)
    size = np.searchsorted(sizes_milli, tasks.gpu_milli[k[sharing]])
    room = sparse.csr_array(
        (np.ones(len(sharing)), (t[sharing] * sizes + size, sharing)), shape=(types * sizes, columns)
    )
    rows = [row_a_type(np.where(tasks.kind > 0, tasks.num_gpu, 0)[k]), room]
    limits = [count * nodes.gpus, np.zeros(types * sizes)]
    # In units of a node: rows of similar magnitude keep the solver exact.
    rows.append(row_a_type(tasks.cpu_milli[k] / np.maximum(nodes.cpu_milli[t], 1)))
    rows.append(row_a_type(tasks.memory_mib[k] / np.maximum(nodes.memory_mib[t], 1)))
    rows.append(row_a_type(np.full(len(k), 1 / MAX_TASKS)))
    limits += [count, count, count]
    for n in range(types):
        mine = np.flatnonzero(t == n)
        for w_per_vcpu, w_at_zero in socket_lines(nodes[n]):
            row = np.zeros(columns)
            row[mine] = w_per_vcpu * tasks.cpu_milli[k[mine]] / 1000
            row[len(k) + n] = -1.0
            rows.append(sparse.csr_array(row[None, :]))
            limits.append(np.array([-count[n] * w_at_zero]))
    return sparse.vstack(rows).tocsr(), np.concatenate(limits).astype(np.float64)


def socket_lines(node: NodeRecord) -> list[tuple[float, float]]:
    """Lines (W per vCPU, W at 0 vCPU) under a node's socket watts above idle as a function of the vCPU in use.

    Their maximum is the largest convex function below the steps. Because it is convex, the mean of the steps over
    several nodes is at least its value at their mean use: it holds for all nodes of a type together.
    """
    if node.sockets > MAX_SOCKETS:
        raise UserError(
            f"bound: a node of {int(node.cpu_milli):,} milli-vCPU has {int(node.sockets):,} sockets, expected at most "
            f"{MAX_SOCKETS:,}"
        )
    step_w = (node.socket_max_mw - node.socket_idle_mw) / 1000
    lowest: dict[float, float] = {}  # the most vCPU in use -> watts of the sockets active then
    for active in range(int(node.sockets) + 1):
        most_milli = min(active * int(node.socket_cores) * VCPU_MILLI_PER_CORE, int(node.cpu_milli))
        lowest.setdefault(most_milli / 1000, active * step_w)
    corners: list[tuple[float, float]] = []
    for point in sorted(lowest.items()):
        while len(corners) > 1 and _slope(corners[-1], point) <= _slope(corners[-2], corners[-1]):
            corners.pop()
        corners.append(point)
    lines = [(_slope(a, b), a[1] - _slope(a, b) * a[0]) for a, b in pairwise(corners)]
    return lines or [(0.0, corners[0][1])]


def _slope(a: tuple[float, float], b: tuple[float, float]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0])
