"""An arrival run beside tasks that stay where they are: on nodes that take no new task of their kind, or held there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import COLUMNS
from wattpack.engine.core.take import place_many
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.engine.runs.record import Run
from wattpack.engine.windows.batch import ALONE, Batch, run_windows
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload, task_records


@dataclass(frozen=True)
class Staying:
    """Tasks that no policy may place anew, by number, with their nodes and GPUs (bit sets)."""

    task: NDArray[np.int64]
    node: NDArray[np.int64]
    gpus: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.task)


def staying_tasks(
    datacenter: Datacenter,
    workload: Workload,
    node: NDArray[np.int32],
    gpus: NDArray[np.int32],
    profile: PowerProfile = PAPER,
) -> Staying:
    """The placed tasks (`node` is -1 for the others) whose node would not take them today."""
    tasks: Any = task_records(workload.classes, datacenter, profile.default_cpu)
    placed = np.flatnonzero(node >= 0)
    pools = tasks.pools[workload.sequence[placed]]
    stay = placed[(pools >> datacenter.pool[node[placed]]) & 1 == 0]
    return Staying(stay, node[stay].astype(np.int64), gpus[stay].astype(np.int64))


def simulate_beside(
    staying: Staying,
    datacenter: Datacenter,
    workload: Workload,
    mix: Mix,
    target: Target,
    rng: np.random.Generator | None = None,
    profile: PowerProfile = PAPER,
    batch: Batch = ALONE,
    arrival_s: NDArray[np.float64] | None = None,
) -> Run:
    """`simulate`, or with a batch `simulate_windows`, after the staying tasks were put where they are.

    Rows of the series are in the order of placing: the staying tasks first.
    """
    engine = Engine(datacenter, workload.classes, mix, target, profile)
    whole = Run.empty(datacenter, workload, engine.state.totals[:COLUMNS])
    count, k = len(staying), workload.sequence[staying.task].astype(np.int64)
    for i in range(count):
        one = slice(i, i + 1)
        place_many(engine.state, engine.plan, k[one], staying.node[one], staying.gpus[one])
        whole.series[i] = engine.state.totals[:COLUMNS]
    whole.node[staying.task], whole.gpus[staying.task] = staying.node, staying.gpus
    others = np.setdiff1d(np.arange(len(workload)), staying.task)
    names = tuple(workload.task_name(i) for i in others.tolist())
    rest = Workload(workload.classes, workload.sequence[others], names, workload.name)
    luck = draw_luck(workload, rng)[others]
    if batch.tasks > 1:
        part = run_windows(engine, rest, luck, batch, None if arrival_s is None else arrival_s[others])
    else:
        part = run_arrivals(engine, rest, luck)
    for column in ("node", "gpus", "reason"):
        getattr(whole, column)[others] = getattr(part, column)
    whole.series[count:] = part.series
    wait_s = None
    if part.wait_s is not None:
        wait_s = np.zeros(len(workload))
        wait_s[others] = part.wait_s
    order = others if part.order is None else others[part.order]
    return whole.with_windows(np.concatenate([staying.task, order]), wait_s)
