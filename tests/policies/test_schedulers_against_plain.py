"""Every scheduler that people run decides as its plain second program, tests/schedulers_reference.py, task by task."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schedulers_reference
from builders import decisions, make_datacenter, make_engine, make_mix, make_node, make_target, make_task, make_workload
from cases import Case, cases
from reference import Node, Task
from wattpack.engine.core.engine import Engine
from wattpack.engine.runs.arrivals import run_arrivals
from wattpack.policies import GROUPS, REGISTRY, RUN_BY_PEOPLE

NAMES = [policy.name for policy in GROUPS[RUN_BY_PEOPLE]] + ["kube@1.34", "kube@1.35"]


def both(
    nodes: list[Node], tasks: list[Task], policy: str, luck: np.ndarray
) -> tuple[list[tuple[str | None, tuple[int, ...]]], list[tuple[str | None, tuple[int, ...]]]]:
    engine = make_engine(nodes, tasks, policy)
    run = run_arrivals(engine, make_workload(tasks), luck)
    plain = [replace(node) for node in nodes]
    return decisions(run), schedulers_reference.replay(plain, tasks, policy, luck[:, 0].tolist())


@given(case=cases(), policy=st.sampled_from(NAMES))
def test_on_small_random_clusters(case: Case, policy: str) -> None:
    ours, plain = both(
        case.nodes, case.tasks, policy, np.random.default_rng(len(case.tasks)).random((len(case.tasks), 2))
    )
    assert ours == plain


def large_cluster(seed: int, count: int) -> tuple[list[Node], list[Task]]:
    """More than 100 nodes of five types, named in another order than they stand; tasks that fill most of them."""
    rng = np.random.default_rng(seed)
    shapes = [(8, 96, 393_216), (4, 64, 262_144), (2, 48, 131_072), (1, 32, 65_536), (0, 128, 786_432)]
    names = rng.permutation(count)
    nodes = []
    for i in range(count):
        gpus, cpu, memory_mib = shapes[rng.integers(len(shapes))]
        nodes.append(make_node(gpus=gpus, cpu=cpu, memory_mib=memory_mib, name=f"n{names[i]}"))
    kinds = [0, 0, 0.1, 0.25, 0.5, 0.5, 0.9, 1, 1, 1, 2, 4, 8]
    tasks = []
    for i in range(4 * count):
        gpu = float(kinds[rng.integers(len(kinds))])
        cpu, memory_mib = int(rng.choice([0, 1, 4, 8, 12])), int(rng.choice([0, 512, 8_192, 30_517]))
        tasks.append(make_task(gpu=gpu, cpu=cpu, memory_mib=memory_mib, name=f"t{i}"))
    return nodes, tasks


@pytest.mark.parametrize("count", [99, 137])
@pytest.mark.parametrize("policy", NAMES)
def test_on_clusters_around_and_above_a_hundred_nodes(policy: str, count: int) -> None:
    nodes, tasks = large_cluster(seed=7, count=count)
    ours, plain = both(nodes, tasks, policy, np.random.default_rng(1).random((len(tasks), 2)))
    assert ours == plain
    assert {node for node, _ in ours} > {None}  # some tasks fit nowhere at the end, others do


@pytest.mark.parametrize("policy", ["slurm", "slurmlln"])
def test_slurm_goes_by_the_order_of_the_file_whatever_order_the_run_has(policy: str) -> None:
    nodes, tasks = large_cluster(seed=3, count=60)
    order = np.random.default_rng(5).permutation(len(nodes))
    datacenter, workload = make_datacenter(nodes).ordered(order), make_workload(tasks)
    engine = Engine(datacenter, workload.classes, make_mix(policy), make_target(tasks))
    run = run_arrivals(engine, workload, np.zeros((len(tasks), 2)))
    shuffled = [replace(nodes[i]) for i in order]
    in_file = np.argsort(order).tolist()
    assert decisions(run) == schedulers_reference.replay(shuffled, tasks, policy, file_order=in_file)
    unshuffled = schedulers_reference.replay([replace(node) for node in nodes], tasks, policy)
    assert decisions(run) == unshuffled


def test_all_fourteen_are_there() -> None:
    assert len(NAMES) == 16
    assert set(NAMES[:14]) < set(REGISTRY)
