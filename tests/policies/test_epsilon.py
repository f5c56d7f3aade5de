"""EPSILON: of the nodes within epsilon of the least fragmentation the one whose power rises least; from scratch too."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from builders import arrive, decide, explained, make_engine, make_node, make_task, place, release
from churn import Churn, Placed, churns
from reference import Gpus, Node, TargetClass, Task
from wattpack.errors import UserError
from wattpack.policies.epsilon import epsilon_policy

HALF, WHOLE = make_task(gpu=0.5, cpu=1), make_task(gpu=1, cpu=1)


def plain_terms(node: Node, task: Task, target: list[TargetClass]) -> tuple[float, int, Gpus]:
    """Fragmentation gained in whole milli, watts gained, the GPUs: the first of those that gain most."""
    before, watts = reference.fragmentation(node, target), sum(reference.node_power_w(node))
    found = []
    for gpus in reference.choices(node, task):
        reference.place(node, task, gpus)
        after, more = reference.fragmentation(node, target), sum(reference.node_power_w(node))
        reference.release(node, task, gpus)
        found.append((float(round(before - after)), watts - more, gpus))
    return max(found, key=lambda one: one[0])


@given(churns(), st.sampled_from([0, 40, 500]))
def test_decisions_are_those_of_a_plain_version(churn: Churn, epsilon: int) -> None:
    nodes, placed = churn.case.nodes, []
    policy = epsilon_policy(epsilon, name="near")
    engine = make_engine(nodes, churn.case.tasks, "near", policy, trace=churn.case.trace)
    target = reference.target_workload(churn.case.trace)
    for task, leaving in zip(churn.case.tasks, churn.leaving, strict=True):
        terms = {
            i: plain_terms(node, task, target)
            for i, node in enumerate(nodes)
            if reference.filter_reason(node, task) is None
        }
        most = max((gained for gained, _, _ in terms.values()), default=0.0)
        within = [i for i, (gained, _, _) in terms.items() if gained >= most - epsilon]
        chosen = max(within, key=lambda i: terms[i][1], default=None)  # the first of equals
        gpus = terms[chosen][2] if chosen is not None else ()
        assert arrive(engine, task) == (chosen, gpus)
        if chosen is not None:
            reference.place(nodes[chosen], task, gpus)
            placed.append(Placed(task, chosen, gpus))
        if leaving is not None and placed:
            gone = placed.pop(leaving % len(placed))
            release(engine, *gone)
            reference.release(nodes[gone.node], gone.task, gone.gpus)


@pytest.mark.parametrize(("epsilon", "node"), [(999, 1), (1000, 0)])
def test_epsilon_is_what_a_watt_may_cost_in_fragmentation(epsilon: int, node: int) -> None:
    """A task of 2 vCPU: on node 0, which is awake, 0 W, but the free GPU there has no vCPU left then: F + 1000.

    On idle node 1: 105 W and no fragmentation.
    """
    cpu_task = make_task(cpu=2)
    nodes = [make_node(gpus=2, cpu=3), make_node(gpus=2)]
    engine = make_engine(nodes, [cpu_task, WHOLE], "near", epsilon_policy(epsilon, "near"), trace=[WHOLE])
    place(engine, WHOLE, 0, (0,))
    assert decide(engine, cpu_task) == (node, ())


def test_a_node_out_of_reach_falls_below_all_others_and_stays_finite() -> None:
    engine = make_engine(
        [make_node(gpus=2), make_node(gpus=2)], [HALF, WHOLE], "near", epsilon_policy(400, "near"), trace=[WHOLE]
    )
    place(engine, HALF, 0, (0,))
    seen = explained(engine, HALF)
    # node 0 gains 500, node 1 loses 500: 1000 apart, 600 beyond epsilon; its watts are added to that
    assert seen.priced.tolist() == [[0, -(2**24) * 601], [0, -225]]
    assert seen.raw.tolist() == [[0, -(2**24) * 601 - 225]]
    assert all(math.isfinite(value) for value in seen.total)


@pytest.mark.parametrize("epsilon", [-1, float("nan")])
def test_a_negative_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(UserError, match="expected 0 or more"):
        epsilon_policy(epsilon)
