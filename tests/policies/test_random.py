"""Random: the two draws of a task decide, and nothing else does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from builders import (
    arrive,
    decide,
    decisions,
    explained,
    make_datacenter,
    make_engine,
    make_mix,
    make_node,
    make_target,
    make_task,
    make_workload,
    place,
)
from cases import Case, cases
from reference import Gpus, Node, Task
from wattpack.engine.runs.arrivals import simulate

HALF, WHOLE = make_task(gpu=0.5), make_task(gpu=1)


@pytest.mark.parametrize(("luck", "node"), [(0.0, 0), (0.33, 0), (0.34, 2), (0.66, 2), (0.67, 3), (0.999999, 3)])
def test_the_first_draw_picks_one_of_the_nodes_that_fit(luck: float, node: int) -> None:
    """Nodes 0, 2 and 3 of four fit: a third each."""
    nodes = [make_node(gpus=1), make_node(gpus=0), make_node(gpus=1), make_node(gpus=1)]
    engine = make_engine(nodes, [WHOLE], "random")
    seen = explained(engine, WHOLE, (luck, 0.0))
    assert [score for score in seen.normalised[0].tolist() if score == 100] == [100]
    assert seen.normalised[0, node] == 100
    assert decide(engine, WHOLE, (luck, 0.0)) == (node, (0,))


@pytest.mark.parametrize(("luck", "gpu"), [(0.0, 0), (0.49, 0), (0.5, 3), (0.999999, 3)])
def test_the_second_draw_picks_one_of_the_gpus_that_fit(luck: float, gpu: int) -> None:
    """GPUs 1 and 2 are full: 0 and 3 have a half each."""
    engine = make_engine([make_node(gpus=4)], [HALF, WHOLE], "random")
    place(engine, WHOLE, 0, (1,))
    place(engine, WHOLE, 0, (2,))
    assert decide(engine, HALF, (0.0, luck)) == (0, (gpu,))


def test_a_whole_gpu_task_takes_the_first_free_gpus_all_the_same() -> None:
    engine = make_engine([make_node(gpus=4)], [make_task(gpu=2)], "random")
    assert arrive(engine, make_task(gpu=2), (0.9, 0.9)) == (0, (0, 1))


def test_in_a_mix_the_drawn_node_has_100_and_the_others_0() -> None:
    """pwr gives all three 100; 0.5 * 100 more for the drawn one."""
    engine = make_engine([make_node()] * 3, [HALF], "random:0.5+pwr:0.5")
    seen = explained(engine, HALF, (0.5, 0.0))
    assert seen.total.tolist() == [50_000, 100_000, 50_000]
    assert seen.node == 1


@given(cases(), st.integers(0, 2**32 - 1))
def test_decisions_are_those_of_plain_draws(case: Case, seed: int) -> None:
    inputs = make_datacenter(case.nodes), make_workload(case.tasks), make_mix("random"), make_target(case.trace)
    run = simulate(*inputs, rng=np.random.default_rng(seed))
    luck = np.random.default_rng(seed).random((len(case.tasks), 2)).tolist()
    expected = [plain_draw(case.nodes, task, *pair) for task, pair in zip(case.tasks, luck, strict=True)]
    assert decisions(run) == expected


def plain_draw(nodes: list[Node], task: Task, node_luck: float, gpu_luck: float) -> tuple[str | None, Gpus]:
    feasible = [node for node in nodes if reference.filter_reason(node, task) is None]
    if not feasible:
        return None, ()
    node = feasible[int(node_luck * len(feasible))]
    ways = reference.choices(node, task)
    gpus = ways[int(gpu_luck * len(ways))]
    reference.place(node, task, gpus)
    return node.name, gpus
