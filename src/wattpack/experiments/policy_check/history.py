"""A small datacenter and what happens to it, for `check_policy`: every kind of task comes, and some leave again."""

from __future__ import annotations

from typing import Any, NamedTuple

from wattpack.datasets.inflation import seeded
from wattpack.engine.core.engine import Engine
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.model.fit import FITS, fits
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Component, Mix
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.policies import REGISTRY

LEAVING = 12  # tasks, the latest first


class Moment(NamedTuple):
    """A task of class `k` comes, or leaves again, and node `n` becomes `record`; n = -1: it fits nowhere."""

    k: int
    n: int
    record: Any  # one NODE record
    leaves: bool = False


class History(NamedTuple):
    """`nodes`, `tasks` and `world` at the start are the engine's: notes and memory are still empty."""

    datacenter: Datacenter
    workload: Workload
    target: Target
    nodes: Any  # NODE records
    tasks: Any  # TASK records
    world: Any
    moments: list[Moment]


def new_history() -> History:
    """Nodes are drawn, so that they come into many different states; the draw is the same each time."""
    datacenter, workload = small_datacenter(), small_workload()
    target = Target.of(workload)
    engine = Engine(datacenter, workload.classes, Mix("random", (Component(REGISTRY["random"], 1000),), 0), target)
    luck = draw_luck(workload, seeded(1).policy)
    nodes: Any = engine.state.nodes
    start, moments = nodes.copy(), list[Moment]()
    for i, k in enumerate(workload.sequence.tolist()):
        run = run_arrivals(engine, Workload(workload.classes, workload.sequence[i : i + 1]), luck[i : i + 1])
        n = int(run.node[0])
        moments.append(Moment(k, n, nodes[n : n + 1].copy() if n >= 0 else None))
    history = History(datacenter, workload, target, start, engine.state.tasks.copy(), engine.state.world, moments)
    return history._replace(moments=moments + _leaving(history))


def _leaving(history: History) -> list[Moment]:
    """The latest tasks leave in the opposite order, so each node becomes what it was before."""
    before: list[Any] = []
    latest = {n: history.nodes[n : n + 1] for n in range(len(history.nodes))}
    for moment in history.moments:
        before.append(latest.get(moment.n))
        if moment.n >= 0:
            latest[moment.n] = moment.record
    pairs = [(moment, record) for moment, record in zip(history.moments, before, strict=True) if moment.n >= 0]
    return [Moment(moment.k, moment.n, record, leaves=True) for moment, record in reversed(pairs[-LEAVING:])]


def small_datacenter() -> Datacenter:
    """Two nodes each of four kinds, one kind without GPU."""
    kinds = [("G2", 96000, 393216, 8), ("T4", 104000, 524288, 2), ("V100M16", 32000, 131072, 4), ("", 32000, 131072, 0)]
    nodes = [
        (f"{model or 'cpu'}-{copy}", cpu, memory, gpus, model) for model, cpu, memory, gpus in kinds for copy in (1, 2)
    ]
    names, cpu, memory, gpus, models = zip(*nodes, strict=True)
    return Datacenter.of(names, cpu, memory, gpus, models, name="check_policy")


def small_workload() -> Workload:
    """Every kind of task, some with a constraint, until nothing fits any more."""
    kinds = [
        TaskClass(4000, 8192, 1, 500),
        TaskClass(8000, 16384, 1, 1000),
        TaskClass(2000, 4096, 0, 0),
        TaskClass(6000, 16384, 1, 810, "T4|G2"),
        TaskClass(16000, 32768, 4, 1000),
        TaskClass(1000, 2048, 1, 190),
        TaskClass(8000, 65536, 2, 1000, "V100M16"),
        TaskClass(32000, 131072, 8, 1000),
    ]
    return Workload.of(kinds * 6)


def fitting_nodes(nodes: Any, task: Any) -> list[int]:
    """Numbers of the nodes that hold the task."""
    return [n for n in range(len(nodes)) if fits(nodes[n], task) == FITS]
