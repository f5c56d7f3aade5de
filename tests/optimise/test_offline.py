"""The offline search: what it finds is real, never worse than its starts, never better than what is possible."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from builders import make_datacenter, make_node, make_target, make_task, make_workload
from optimise.brute import every_placement
from optimise.test_bound import nodes_drawn, tasks_drawn
from reference import Node, Task
from wattpack.datasets import alibaba2023
from wattpack.engine.core.state import occupy
from wattpack.errors import RunError
from wattpack.experiments.bound.curves import arrived_by
from wattpack.jit import kernel
from wattpack.model.power import LINEAR, PAPER
from wattpack.model.target import Target
from wattpack.model.tasks import task_records
from wattpack.optimise.bound.lp import ConfigurationLp
from wattpack.optimise.bound.moves import change
from wattpack.optimise.bound.offline import NOWHERE, Placement, Search, rank

SHORT_S = 0.01  # one block of moves for each start


def search(nodes: Sequence[Node], tasks: Sequence[Task]) -> list[Placement]:
    """All tasks in one workload: the starts, then the one found."""
    workload, datacenter = make_workload(tasks), make_datacenter(nodes)
    plan = ConfigurationLp(datacenter, workload.classes).solve(workload.counts())
    return Search(datacenter, workload).best(plan, make_target(tasks), SHORT_S)


@settings(max_examples=25)
@given(nodes=nodes_drawn, tasks=tasks_drawn)
def test_what_it_finds_lies_between_its_starts_and_the_best_there_is(nodes: list[Node], tasks: list[Task]) -> None:
    *starts, found = search(nodes, tasks)
    best = max(every_placement(nodes, tasks))
    assert all(rank(found) >= rank(start) for start in starts)
    possible = (best.gpu_milli / 1000, best.cpu_only_milli / 1000, best.negative_power_w)
    assert rank(found) <= tuple(value + 1e-6 for value in possible)


def test_it_brings_together_what_a_policy_spread() -> None:
    """FGD has no sense of watts; on one G2 and one T4 node all six tasks fit the three T4 GPUs: 0.6 + 0.4 each."""
    nodes = [make_node(gpus=4), make_node(gpus=3, model="T4")]
    tasks = [make_task(gpu=0.4, cpu=2)] * 3 + [make_task(gpu=0.6, cpu=2)] * 3
    found = search(nodes, tasks)[-1]
    # 3 T4 at 70 W, 4 G2 idle at 30 W; 12 vCPU in one socket of six
    assert (found.gpu_served, found.power_w) == (pytest.approx(3.0), 3 * 70 + 4 * 30 + 120 + 5 * 15)


@pytest.mark.parametrize("fault", ["another node's GPUs", "too many tasks on a GPU", "a GPU that is not there"])
def test_a_placement_that_does_not_hold_is_told(fault: str) -> None:
    nodes, tasks = [make_node(gpus=2), make_node(gpus=1)], [make_task(gpu=0.6), make_task(gpu=0.6), make_task(gpu=1)]
    workload = make_workload(tasks)
    made = Search(make_datacenter(nodes), workload)
    good = made.by_policy("fgd", make_target(tasks))
    made.check(good)
    node, gpus = good.node.copy(), good.gpus.copy()
    if fault == "another node's GPUs":
        gpus[2] = 0
    elif fault == "too many tasks on a GPU":
        node[1], gpus[1] = node[0], gpus[0]
    else:
        node[0], gpus[0] = 1, 1 << 5
    with pytest.raises(RunError, match="does not hold"):
        made.check(replace(good, node=node, gpus=gpus))


def test_power_that_was_counted_wrong_is_told() -> None:
    made = Search(make_datacenter([make_node(gpus=1)]), make_workload([make_task(gpu=1)]))
    good = made.by_policy("fgd", make_target([make_task(gpu=1)]))
    with pytest.raises(RunError, match="does not hold"):
        made.check(replace(good, power_w=good.power_w + 1))


def test_without_tasks_there_is_nothing_to_find() -> None:
    workload = make_workload([make_task(gpu=1)]).with_sequence(np.zeros(0, dtype=np.int32))
    datacenter = make_datacenter([make_node(gpus=1)])
    plan = ConfigurationLp(datacenter, workload.classes).solve(workload.counts())
    found = Search(datacenter, workload).best(plan, make_target([make_task(gpu=1)]), SHORT_S)[-1]
    assert (len(found.node), found.power_w) == (0, 30 + 3 * 15)


@pytest.mark.e2e  # 9 s of search
@pytest.mark.parametrize("load", [0.5, 0.95])
def test_on_the_built_in_datacenter_it_improves_on_policies_and_stays_above_the_bound(load: float) -> None:
    datacenter, trace = alibaba2023.datacenter(), alibaba2023.trace("gpushare40")
    arrived = arrived_by(trace, datacenter.gpu_milli, load, 11)
    lp = ConfigurationLp(datacenter, trace.classes)
    plan = lp.solve(arrived.counts())
    *starts, found = Search(datacenter, arrived).best(plan, Target.of(trace), 3.0)
    assert all(rank(found) > rank(start) for start in starts)
    assert found.gpu_served <= plan.gpu_served * (1 + 1e-6)
    own = lp.least_power(arrived.counts(), found.gpu_served, found.cpu_only_served)
    assert own.power_w < found.power_w < own.power_w * 1.1


def test_it_follows_the_power_profile() -> None:
    """Linear GPUs: 0.5 of a T4 draws 40 W, and no more than its tasks together wherever they lie."""
    tasks = [make_task(gpu=0.5)]
    workload, datacenter = make_workload(tasks), make_datacenter([make_node(gpus=1, model="T4")])
    plan = ConfigurationLp(datacenter, workload.classes, LINEAR).solve(workload.counts())
    found = Search(datacenter, workload, LINEAR).best(plan, make_target(tasks), SHORT_S)[-1]
    assert found.power_w == 40 + 3 * 15
    assert plan.power_w == pytest.approx(found.power_w)
    assert (found.node != NOWHERE).all()


@kernel
def both_changes(node: Any, like: Any, task: Any, gpus: int, sign: int) -> None:
    change(node, task, gpus, sign)
    occupy(like, task, gpus, sign)


@pytest.mark.parametrize(
    ("task", "gpus"), [(make_task(cpu=3), 0), (make_task(gpu=0.4), 0b10), (make_task(gpu=2), 0b101)]
)
def test_a_node_changes_as_in_the_engine_in_all_that_the_search_reads(task: Task, gpus: int) -> None:
    datacenter, workload = make_datacenter([make_node(gpus=4), make_node(gpus=4)]), make_workload([task])
    tasks = task_records(workload.classes, datacenter, PAPER.default_cpu)
    nodes = datacenter.records()
    for sign in (1, -1):
        both_changes(nodes[0], nodes[1], tasks[0], gpus, sign)
        for name in ("cpu_left", "memory_left", "tasks", "gpu_left", "gpu_free", "gpu_most"):
            assert np.array_equal(nodes[name][0], nodes[name][1]), name
