"""A datacenter with its tasks where they are, and what they serve and draw: for `replay --placements` and `defrag`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.placements import Placements
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import ALLOCATED, BASE_POWER, CPU_POWER, FRAGMENTATION, GPU_POWER, MICRO
from wattpack.engine.runs.record import Run, gpu_index_text
from wattpack.errors import UserError
from wattpack.experiments.lineup import BASELINE
from wattpack.model.node_watts import idle_and_full_w
from wattpack.model.nodes import Datacenter
from wattpack.model.pools import ANY_POOL, CPU
from wattpack.model.power import GPU_MILLI, PowerProfile, total_power
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.policies.expression import parse


@dataclass(frozen=True)
class Placed:
    """What placed tasks serve and draw."""

    power_w: float
    served_gpus: float
    requested_gpus: float
    fragmentation_gpus: float
    tasks: int
    nodes_in_use: int

    @property
    def grar(self) -> float:
        return self.served_gpus / self.requested_gpus if self.requested_gpus else 1.0


@dataclass(frozen=True)
class Emptied:
    """Nodes that hold tasks now and would hold none."""

    nodes: tuple[str, ...]
    idle_w: float  # what they draw together with nothing on them
    newly_used: int  # nodes that hold nothing now and would hold tasks


def emptied_nodes(
    before: NDArray[np.int32],
    after: NDArray[np.int32],
    datacenter: Datacenter,
    profile: PowerProfile,
    others: Collection[str] = (),
) -> Emptied:
    """`before`, `after`: the node of each task, -1 for none. `others`: nodes with pods that are not tasks.

    A node that takes only tasks without GPU has pods whose devices are not understood: it is not empty without ours.
    """
    used, using = (np.isin(np.arange(len(datacenter)), node[node >= 0]) for node in (before, after))
    has_others = np.array([CPU in pool.only.split("|") for pool in datacenter.pools])[datacenter.pool]
    has_others |= np.array([name in others for name in datacenter.names], bool)
    empty = np.flatnonzero(used & ~using & ~has_others)
    idle_w = idle_and_full_w(datacenter, profile)[0]
    names = tuple(datacenter.names[n] for n in empty.tolist())
    return Emptied(names, float(idle_w[empty].sum()), int((using & ~used).sum()))


def engine_with(
    placements: Placements, datacenter: Datacenter, workload: Workload, target: Target, profile: PowerProfile
) -> Engine:
    """The datacenter with every task where it is. A task that does not fit there is an error in the file.

    A task may well be on a node that takes no new one of its kind: cordoned or tainted since, or with devices that are
    not understood.
    """
    from wattpack.optimise.bound.offline import place_all  # 0.3 s of scipy that a plain replay does without

    engine = Engine(datacenter, workload.classes, parse(BASELINE), target, profile)
    pools = engine.state.tasks.pools.copy()
    engine.state.tasks.pools[:] = ANY_POOL
    fault = int(place_all(engine.state, engine.plan, workload.sequence, placements.node, placements.gpus))
    engine.state.tasks.pools[:] = pools
    if fault >= 0:
        name, node = workload.task_name(fault), datacenter.names[placements.node[fault]]
        gpus = gpu_index_text(int(placements.gpus[fault])) or "none"
        raise UserError(
            f"{placements.file}: task {name} does not fit on node {node} (GPUs {gpus}), expected room for it"
        )
    return engine


def measure_placements(
    placements: Placements, datacenter: Datacenter, workload: Workload, target: Target, profile: PowerProfile
) -> Placed:
    """Of the placements as they are."""
    totals = engine_with(placements, datacenter, workload, target, profile).state.totals
    return Placed(
        power_w=int(total_power(totals[CPU_POWER], totals[GPU_POWER], totals[BASE_POWER])) / 1000,
        served_gpus=int(totals[ALLOCATED]) / GPU_MILLI,
        requested_gpus=int(workload.gpu_request_milli().sum()) / GPU_MILLI,
        fragmentation_gpus=float(totals[FRAGMENTATION : FRAGMENTATION + 6].sum()) / MICRO / GPU_MILLI,
        tasks=int((placements.node >= 0).sum()),
        nodes_in_use=len(np.unique(placements.node[placements.node >= 0])),
    )


def measure_run(run: Run) -> Placed:
    """Of a policy's own run, after its last task."""
    if len(run) == 0:
        power_w = int(total_power(run.start[CPU_POWER], run.start[GPU_POWER], run.start[BASE_POWER])) / 1000
        return Placed(power_w, 0, 0, float(run.start[FRAGMENTATION:].sum()) / MICRO / GPU_MILLI, 0, 0)
    return Placed(
        power_w=float(run.power_w[-1]),
        served_gpus=float(run.allocated_milli[-1]) / GPU_MILLI,
        requested_gpus=float(run.requested_milli[-1]) / GPU_MILLI,
        fragmentation_gpus=float(run.fragmentation_milli[-1]) / GPU_MILLI,
        tasks=int((run.node >= 0).sum()),
        nodes_in_use=len(np.unique(run.node[run.node >= 0])),
    )
