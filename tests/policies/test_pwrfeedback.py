"""PWRFEEDBACK: alpha follows the fragmentation of the datacenter; without feedback it is the mix."""

import numpy as np
import pytest
from hypothesis import given

import reference
from builders import make_engine, make_node, make_task, place
from churn import Churn, assert_decide_alike, churns, play
from wattpack.errors import UserError
from wattpack.policies.pwrfeedback import pwrfeedback_policy, weigh

AVOIDABLE = ("lacks_both", "lacks_gpu", "lacks_cpu")


@given(churns())
def test_with_a_limit_out_of_reach_every_decision_is_that_of_the_mix(churn: Churn) -> None:
    nodes, tasks, trace = churn.case.nodes, churn.case.tasks, churn.case.trace
    constant = pwrfeedback_policy(most=0.2, limit=1e9, name="constant")
    ours = make_engine(nodes, tasks, "constant", constant, trace=trace)
    assert_decide_alike(churn, ours, make_engine(nodes, tasks, "pwr:0.2+fgd:0.8", trace=trace))


@given(churns())
def test_its_memory_is_the_fragmentation_of_all_nodes_by_the_three_reasons(churn: Churn) -> None:
    target = reference.target_workload(churn.case.trace)
    engine = make_engine(churn.case.nodes, churn.case.tasks, "pwrfeedback", trace=churn.case.trace)
    for _ in play(churn, engine):
        parts = [reference.fragmentation_by_reason(node, target) for node in churn.case.nodes]
        milli = sum(part[reason] for part in parts for reason in AVOIDABLE)
        assert engine.state.memory[0] / 1e6 == pytest.approx(milli, abs=1e-3)


def test_alpha_falls_to_nothing_as_gpus_become_useless() -> None:
    """M asks for whole GPUs. 10 GPUs, of each so many are half full: phi is 0, 0.05, 0.1 of the datacenter."""
    half, whole = make_task(gpu=0.5, cpu=1), make_task(gpu=1, cpu=1)
    policy = pwrfeedback_policy(most=0.4, limit=0.1, name="fed")
    engine = make_engine([make_node(gpus=5)] * 2, [half, whole], "fed", policy, trace=[whole])
    seen = []
    for g in range(3):
        prices = np.zeros(2)
        weigh(engine.state.tasks[0], engine.state.world, engine.plan.params, engine.state.memory, prices)
        seen.append(prices.tolist())
        place(engine, half, 0, (g,))
    assert seen == [[400, 600], [200, 800], [0, 1000]]


def test_knobs_out_of_range_are_refused() -> None:
    with pytest.raises(UserError, match="most 2, expected 0 to 1"):
        pwrfeedback_policy(most=2)
    with pytest.raises(UserError, match="limit 0, expected a share of the GPUs above 0"):
        pwrfeedback_policy(limit=0)
