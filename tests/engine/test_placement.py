"""The decision that placed a task of a run in time, explained: it is the one that the run made."""

from __future__ import annotations

import numpy as np
import pytest

from wattpack.datasets.alibaba2023_times import timed_trace
from wattpack.datasets.generators import generate
from wattpack.engine.core.explain import LIKE_ANOTHER, NOT_AWAKE
from wattpack.engine.moments.options import BACKFILL, FIFO, Sleep, TimeOptions
from wattpack.engine.moments.record import REFUSED
from wattpack.engine.moments.simulate import Simulation, new_simulation
from wattpack.engine.moments.why import placement
from wattpack.model.nodes import Datacenter
from wattpack.model.sleeping import AWAKE
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.model.timed_tasks import TimedTasks
from wattpack.policies.expression import parse

pytestmark = pytest.mark.compiled
ONE_GPU, BOTH, NEVER = TaskClass(1000, 1024, 1, 1000), TaskClass(1000, 1024, 2, 1000), TaskClass(1000, 1024, 9, 1000)


def fleet() -> Datacenter:
    models = ["A10", "T4", "G2", "T4"] * 5
    return Datacenter.of([f"n{i}" for i in range(20)], [64_000] * 20, [2**20] * 20, [4, 2, 8, 4] * 5, models)


def new(policy: str, tasks: TimedTasks, nodes: Datacenter, **options: object) -> Simulation:
    given = TimeOptions(**{"discipline": BACKFILL, **options})  # type: ignore[arg-type]
    return new_simulation(
        nodes, tasks, parse(policy), Target.of(tasks.workload), np.random.default_rng(5), options=given
    )


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        ("pwr:0.1+fgd:0.9", {}),
        ("ocs", {"discipline": FIFO}),
        ("random", {}),
        ("ocs", {"sleep": Sleep(idle_s=60.0, reserve_gpus=0)}),
        ("pwr:0.5+fgd:0.5", {"sleep": Sleep(idle_s=60.0, reserve_gpus=0)}),
        ("bestfit", {"sleep": Sleep(idle_s=60.0, reserve_gpus=0)}),
    ],
    ids=["mix", "ocs", "random", "ocs-sleep", "mix-sleep", "bestfit-sleep"],
)
def test_the_explained_decision_is_the_one_that_the_run_made(policy: str, options: dict[str, object]) -> None:
    nodes = fleet()
    load, days = (0.1, 1.0) if "sleep" in options else (0.6, 0.4)
    tasks = generate(timed_trace("default"), nodes.gpu_milli, load, days, np.random.default_rng(3))
    record = new(policy, tasks, nodes, **options).record()
    placed = np.flatnonzero(record.node >= 0)
    states = set()
    waited = placed[record.start_s[placed] > record.joined_s[placed]]
    for task in {*placed[:: max(1, len(placed) // 60)].tolist(), *waited[:40].tolist()}:
        simulation = new(policy, tasks, nodes, **options)
        found = placement(simulation, task)
        assert found is not None
        assert (found.node, found.gpus) == (record.node[task], record.gpus[task])
        if found.takes_part.sum() > 1:
            assert found.total[found.node] == np.nanmax(found.total)
        state = int(simulation.engine.state.nodes.closed[found.node])
        states.add(state == AWAKE)
        clock_s = float(simulation.run.now[0].clock_s)
        assert clock_s == record.start_s[task] if state == AWAKE else clock_s < record.start_s[task]
    assert states == ({True, False} if "sleep" in options else {True})


def test_a_decision_among_nodes_asleep_names_those_that_stand_for_others() -> None:
    """Three equal nodes fall asleep; the first task wakes one of them, and the others are like it."""
    nodes = Datacenter.of(["a", "b", "c"], [64_000] * 3, [2**20] * 3, [2] * 3, ["T4"] * 3)
    tasks = TimedTasks(Workload.of([BOTH, ONE_GPU, ONE_GPU]), np.array([0.0, 5000.0, 5001.0]), np.full(3, 1000.0))
    options = {"sleep": Sleep(idle_s=600.0, reserve_gpus=0)}
    first = placement(new("fgd", tasks, nodes, **options), 1)
    assert first is not None
    assert first.reasons == {LIKE_ANOTHER: 2}
    second = placement(new("fgd", tasks, nodes, **options), 2)
    assert second is not None
    assert second.node == first.node  # it wakes already
    assert [second.reason(n) for n in range(3) if n != second.node] == [LIKE_ANOTHER] * 2
    awake = placement(new("fgd", tasks, nodes, **options), 0)
    assert awake is not None
    assert (awake.reasons, awake.left_out) == ({}, NOT_AWAKE)


def test_a_task_that_no_node_takes_has_no_decision() -> None:
    nodes = Datacenter.of(["a"], [64_000], [2**20], [2], ["T4"])
    tasks = TimedTasks(Workload.of([NEVER, BOTH]), np.array([0.0, 1.0]), np.full(2, 10.0))
    simulation = new("fgd", tasks, nodes)
    assert placement(simulation, 0) is None
    assert simulation.run.tasks.outcome[0] == REFUSED
