"""PWRLOAD: with a constant alpha it is the mix, decision by decision; otherwise alpha follows the GPU in use."""

import numpy as np
import pytest
from hypothesis import given

from builders import arrive, decide, explained, make_engine, make_node, make_task, place, release
from churn import Churn, assert_decide_alike, churns
from wattpack.engine.core.engine import Engine
from wattpack.errors import UserError
from wattpack.policies.pwrload import pwrload_policy, weigh

WHOLE = make_task(gpu=1, cpu=4)


def prices(engine: Engine) -> list[float]:
    """Of PWR and of FGD, in thousandths, for a task that comes now."""
    found = np.zeros(2)
    weigh(engine.state.tasks[0], engine.state.world, engine.plan.params, engine.state.memory, found)
    return found.tolist()


@given(churns())
def test_with_a_constant_alpha_every_decision_is_that_of_the_mix(churn: Churn) -> None:
    nodes, tasks, trace = churn.case.nodes, churn.case.tasks, churn.case.trace
    constant = pwrload_policy(early=0.1, late=0.1, name="constant")
    ours = make_engine(nodes, tasks, "constant", constant, trace=trace)
    assert_decide_alike(churn, ours, make_engine(nodes, tasks, "pwr:0.1+fgd:0.9", trace=trace))


def test_alpha_falls_from_early_to_late_as_gpus_are_taken() -> None:
    """4 GPUs: alpha 0.5 - 0.45 * 0, 1/4, 2/4 and 4/4; back again when tasks leave."""
    engine = make_engine([make_node(gpus=4)], [WHOLE], "pwrload")
    assert prices(engine) == [500, 500]
    place(engine, WHOLE, 0, (0,))
    assert prices(engine) == [388, 612]  # 0.3875, to whole thousandths
    place(engine, WHOLE, 0, (1,))
    assert prices(engine) == [275, 725]
    place(engine, WHOLE, 0, (2,))
    place(engine, WHOLE, 0, (3,))
    assert prices(engine) == [50, 950]
    for g in range(4):
        release(engine, WHOLE, 0, (g,))
    assert prices(engine) == [500, 500]


def test_it_starts_to_fall_where_it_is_told_to() -> None:
    """From half use on: 0.4 at half, 0.2 at three quarters, 0 at full use."""
    late = pwrload_policy(early=0.4, late=0.0, start=0.5, name="late")
    engine = make_engine([make_node(gpus=4)], [WHOLE], "late", late)
    seen = []
    for g in range(4):
        place(engine, WHOLE, 0, (g,))
        seen.append(prices(engine)[0])
    assert seen == [400, 400, 200, 0]


def test_the_choice_changes_with_the_use_while_the_nodes_in_question_do_not() -> None:
    """A task of 2 vCPU. Node 0 is awake, 0 W, but its free GPU would have no vCPU left: F + 1000, FGD's 26.

    On idle node 1: 105 W, FGD's 50. With 1 of 12 GPUs in use alpha is 0.458: 46 + 14 against 27, node 0; with 9 of 12
    it is 0.125: 12 + 23 against 44, node 1.
    """
    cpu_task, small = make_task(cpu=2), make_task(gpu=1, cpu=1)
    nodes = [make_node(gpus=2, cpu=3), make_node(gpus=2), make_node(gpus=8, cpu=8)]
    policy = pwrload_policy(early=0.5, late=0.0, name="swayed")
    engine = make_engine(nodes, [cpu_task, small], "swayed", policy, trace=[small])
    place(engine, small, 0, (0,))
    assert decide(engine, cpu_task) == (0, ())
    for g in range(8):
        place(engine, small, 2, (g,))
    seen = explained(engine, cpu_task)
    assert seen.priced[:, :2].tolist() == [[12_500, 0], [875 * 26, 875 * 50]]
    assert seen.raw[0, :2].tolist() == [12_500 + 875 * 26, 875 * 50]
    assert decide(engine, cpu_task) == (1, ())


def test_gpus_are_picked_by_fgd() -> None:
    """M asks for 0.5 and whole GPUs: GPU 1, where a half is taken, is filled up."""
    half = make_task(gpu=0.5, cpu=1)
    engine = make_engine([make_node(gpus=2)], [half, WHOLE], "pwrload")
    place(engine, half, 0, (1,))
    assert arrive(engine, half) == (0, (1,))


@pytest.mark.parametrize("knob", ["early", "late", "start"])
def test_a_knob_that_is_no_share_is_refused(knob: str) -> None:
    with pytest.raises(UserError, match=f"{knob} 1.5, expected 0 to 1"):
        pwrload_policy(**{knob: 1.5})
