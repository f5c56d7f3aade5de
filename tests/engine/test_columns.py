"""Bits that say which classes fit a node, and columns of scores that classes share."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from builders import arrive, make_datacenter, make_engine, make_mix, make_node, make_target, make_task, task_class
from churn import Churn, churns, engine_for, play
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import node_order, run_workload, seeded
from wattpack.engine.core.columns import BITS
from wattpack.engine.core.engine import Engine
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.model.fit import FITS, fits
from wattpack.model.target import Target
from wattpack.policies import REGISTRY

ALONE = {name: replace(policy, amounts_only=False) for name, policy in REGISTRY.items()}  # no shared columns


@given(churns())
def test_the_bits_say_what_the_filter_says_of_each_class(churn: Churn) -> None:
    engine = engine_for(churn)
    state = engine.state
    for _ in play(churn, engine):
        for n, node in enumerate(state.nodes):
            for k, one in enumerate(state.columns.of):
                assert bool(state.fit[n, one.word] & one.bit) == (fits(node, state.tasks[k]) == FITS)


def test_classes_that_differ_in_memory_and_models_share_a_column() -> None:
    tasks = [
        make_task(gpu=1, memory_mib=1),
        make_task(gpu=2),
        make_task(gpu=1, memory_mib=2),
        make_task(gpu=1, spec="T4"),
    ]
    for policy in ("fgd", "pwr:0.1+fgd:0.9", "ocs", "pwrload", "epsilon"):
        assert make_engine([make_node()], tasks, policy).state.columns.of.column.tolist() == [0, 1, 0, 0]


def test_classes_do_not_share_where_a_policy_may_read_all_of_a_task() -> None:
    tasks = [make_task(gpu=1, memory_mib=1), make_task(gpu=1, memory_mib=2)]
    for policy in ("random", "random:0.1+pwr:0.9"):
        assert make_engine([make_node()], tasks, policy).state.columns.of.column.tolist() == [0, 1]
    assert make_engine([make_node()], tasks, "fgd", *ALONE.values()).state.columns.of.column.tolist() == [0, 1]


def test_the_classes_of_a_column_are_in_one_word() -> None:
    """BITS - 1 classes of their own and two that share: these do not fit into what is left of the first word."""
    tasks = [make_task(gpu=1, cpu=n) for n in range(BITS - 1)]
    tasks += [make_task(gpu=2, memory_mib=1), make_task(gpu=2, memory_mib=2)]
    columns = make_engine([make_node()], tasks, "fgd").state.columns
    assert columns.of.word.tolist() == [0] * (BITS - 1) + [1, 1]
    assert columns.of.bit.tolist() == [1 << n for n in range(BITS - 1)] + [1, 2]
    assert columns.all[-1].tolist() == (BITS - 1, 1, 3, 2)


def test_more_classes_than_a_word_has_bits_share_two_columns() -> None:
    """As many nodes as classes; node n has room for the memory of classes 0 to n, and each class takes the first."""
    tasks = [make_task(gpu=1, memory_mib=m) for m in range(1, BITS + 8)]
    engine = make_engine([make_node(gpus=1, memory_mib=task.memory_mib) for task in tasks], tasks, "fgd")
    assert len(engine.state.columns.all) == 2
    assert [arrive(engine, task)[0] for task in tasks] == list(range(len(tasks)))
    assert arrive(engine, tasks[0]) == (None, ())


def test_a_class_that_is_added_later_has_a_column_of_its_own_and_the_others_keep_theirs() -> None:
    """`small` fills node 0; `large` is added then and needs the memory of node 2."""
    small, large = make_task(gpu=1, memory_mib=1), make_task(gpu=1, memory_mib=8)
    nodes = [make_node(gpus=1, memory_mib=4), make_node(gpus=1, memory_mib=4), make_node(gpus=1, memory_mib=8)]
    engine = Engine(make_datacenter(nodes), (task_class(small),), make_mix("fgd"), make_target([small]), spare=2)
    assert arrive(engine, small) == (0, (0,))
    before = engine.state.columns
    assert engine.add_class(task_class(large)) == 1
    state = engine.state
    for name in ("of", "all"):
        assert getattr(state.columns, name).tolist() == getattr(before, name).tolist()
    for n, node in enumerate(state.nodes):
        for k, one in enumerate(state.columns.of):
            assert bool(state.fit[n, one.word] & one.bit) == (fits(node, state.tasks[k]) == FITS)
    assert arrive(engine, large) == (2, (0,))
    assert arrive(engine, small) == (1, (0,))
    assert arrive(engine, large) == arrive(engine, small) == (None, ())


@pytest.mark.compiled
@pytest.mark.parametrize(
    "policy",
    ["fgd", "pwr:0.1+fgd:0.9", "bestfit", "dotprod", "gpupacking", "gpuclustering", "ocs", "pwrload", "epsilon"],
)
def test_shared_columns_decide_as_columns_of_one_class(policy: str) -> None:
    """A third of the tasks with constraints: 457 classes in 91 columns."""
    seeds, trace, whole = seeded(5), alibaba2023.trace("gpuspec33"), alibaba2023.datacenter()
    workload = run_workload(trace, whole.gpu_milli, seeds.workload)
    datacenter, luck = whole.ordered(node_order(whole, seeds.node_order)), draw_luck(workload, None)
    shared, alone = (
        Engine(datacenter, workload.classes, make_mix(policy, *own), Target.of(trace)) for own in ((), ALONE.values())
    )
    assert len(shared.state.columns.all) < len(alone.state.columns.all) == len(workload.classes)
    one, other = run_arrivals(shared, workload, luck), run_arrivals(alone, workload, luck)
    for column in ("node", "gpus", "reason", "series"):
        assert np.array_equal(getattr(one, column), getattr(other, column))
