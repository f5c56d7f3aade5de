"""PWREXPECTED: without look-ahead it is PWR; with it, scores are those of a plain version that places and counts."""

import pytest
from hypothesis import given

import reference
from builders import decide, explained, make_engine, make_node, make_task, place
from churn import Churn, assert_decide_alike, churns, play
from reference import Node, TargetClass, Task
from wattpack.errors import UserError
from wattpack.policies.pwrexpected import pwrexpected_policy

HALF, WHOLE = make_task(gpu=0.5, cpu=1), make_task(gpu=1, cpu=1)


# ---- the same from scratch -------------------------------------------------------------------------------------------


def added_w(node: Node, wanted: Task) -> int | None:
    """Watts of the cheapest way to place it, None where it does not fit. A class of M has no memory, no CPU model."""
    if reference.filter_reason(node, wanted) not in (None, "memory", "task_limit"):
        return None
    before, found = sum(reference.node_power_w(node)), []
    for gpus in reference.choices(node, wanted):
        reference.place(node, wanted, gpus)
        found.append(sum(reference.node_power_w(node)) - before)
        reference.release(node, wanted, gpus)
    return min(found)


def as_task(wanted: TargetClass) -> Task:
    return Task("", wanted.cpu_milli, 0, wanted.num_gpu, wanted.gpu_milli, wanted.gpu_spec)


def expected_w(node: Node, target: list[TargetClass], elsewhere: list[int]) -> float:
    total = 0.0
    for wanted, most in zip(target, elsewhere, strict=True):
        watts = added_w(node, as_task(wanted))
        total += wanted.p * (most if watts is None else min(watts, most))
    return total


def plain_score(node: Node, task: Task, target: list[TargetClass], elsewhere: list[int]) -> float:
    before = sum(reference.node_power_w(node)) + expected_w(node, target, elsewhere)
    found = []
    for gpus in reference.choices(node, task):
        reference.place(node, task, gpus)
        found.append(before - sum(reference.node_power_w(node)) - expected_w(node, target, elsewhere))
        reference.release(node, task, gpus)
    return max(found)


@given(churns())
def test_scores_are_those_of_a_plain_version(churn: Churn) -> None:
    nodes, target = churn.case.nodes, reference.target_workload(churn.case.trace)
    empty = [[added_w(node, as_task(wanted)) for node in nodes] for wanted in target]
    elsewhere = [min((watts for watts in found if watts is not None), default=0) for found in empty]
    engine = make_engine(nodes, churn.case.tasks, "pwrexpected", trace=churn.case.trace)
    for _ in play(churn, engine):
        for task in churn.case.tasks[:4]:
            seen = explained(engine, task)
            for i, node in enumerate(nodes):
                if reference.filter_reason(node, task) is None:
                    # truncated to watts after sums in milliwatts: a watt apart at most
                    assert seen.raw[0, i] == pytest.approx(plain_score(node, task, target, elsewhere), abs=1.01)


@given(churns())
def test_without_look_ahead_every_decision_is_that_of_pwr(churn: Churn) -> None:
    nodes, tasks, trace = churn.case.nodes, churn.case.tasks, churn.case.trace
    blind = pwrexpected_policy(tasks=0, name="blind")
    ours = make_engine(nodes, tasks, "blind", blind, trace=trace)
    assert_decide_alike(churn, ours, make_engine(nodes, tasks, "pwr", trace=trace))


def test_an_open_gpu_is_kept_for_those_who_need_it() -> None:
    """A CPU task of 31 vCPU is free of charge on both nodes; node 0 has half a GPU open, and it would take the vCPU.

    M: halves with 1 vCPU, 0 W on node 0, 225 W on an empty node. On node 0 the next half would cost 105 W for another
    socket; node 1 has no GPU, so a half costs 225 W elsewhere before and after.
    """
    cpu_task, small = make_task(cpu=31), make_task(cpu=1)
    nodes = [make_node(gpus=1, cpu=64), make_node(gpus=0, cpu=64)]
    engine = make_engine(nodes, [HALF, cpu_task, small], "pwrexpected", trace=[HALF])
    place(engine, HALF, 0, (0,))
    place(engine, small, 1)
    assert explained(engine, cpu_task).raw.tolist() == [[-105, 0]]
    assert decide(engine, cpu_task) == (1, ())


def test_opening_a_gpu_is_paid_for_by_those_who_follow() -> None:
    """M: halves of 1 vCPU. On an idle G2 node a half adds 225 W, after which the next one adds 0 instead of 225."""
    engine = make_engine([make_node(gpus=1)], [HALF, WHOLE], "pwrexpected", trace=[HALF])
    assert explained(engine, HALF).raw.tolist() == [[0]]
    assert explained(engine, WHOLE).raw.tolist() == [[-225]]  # no half fits any more: 225 W elsewhere as before


@pytest.mark.parametrize("tasks", [-1, 1001, float("nan")])
def test_a_look_ahead_out_of_range_is_refused(tasks: float) -> None:
    with pytest.raises(UserError, match="expected 0 to 1000"):
        pwrexpected_policy(tasks=tasks)
