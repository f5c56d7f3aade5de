"""A run whose target is learnt: the same rules, decided with what was known at the time."""

from __future__ import annotations

import numpy as np
import pytest

from builders import make_mix
from wattpack import simulate as simulate_by_name
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import run_workload, seeded
from wattpack.engine.core.state import ALLOCATED, FAILED, REQUESTED
from wattpack.engine.runs.arrivals import simulate
from wattpack.engine.runs.learning import lessons, simulate_learning
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload


def test_lessons_come_after_twice_as_many_tasks_each() -> None:
    assert lessons(10) == [0]
    assert lessons(101) == [0, 25, 50, 100]
    assert lessons(100) == [0, 25, 50]


def test_a_policy_that_does_not_look_at_the_target_decides_as_ever() -> None:
    """PWR reads no target; one lesson or seven, the state goes on as it was."""
    trace, datacenter = alibaba2023.trace("default"), small()
    workload = run_workload(trace, datacenter.gpu_milli, seeded(3).workload)
    known = simulate(datacenter, workload, make_mix("pwr"), Target.of(trace))
    learnt = simulate_learning(datacenter, workload, make_mix("pwr"))
    assert len(lessons(len(workload))) >= 3
    assert np.array_equal(known.node, learnt.node)
    assert np.array_equal(known.gpus, learnt.gpus)
    assert np.array_equal(known.reason, learnt.reason)
    for column in (REQUESTED, ALLOCATED, FAILED):
        assert np.array_equal(known.series[:, column], learnt.series[:, column])
    assert np.array_equal(known.power_w, learnt.power_w)


@pytest.mark.parametrize("policy", ["fgd", "ocs", "pwr:0.1+fgd:0.9"])
def test_with_the_whole_workload_seen_decisions_are_those_of_the_known_target(policy: str) -> None:
    """Tasks of one class only: one lesson is all there is to learn."""
    datacenter = small()
    workload = Workload.of([TaskClass(4_000, 8_192, 1, 500)] * 120)
    known = simulate(datacenter, workload, make_mix(policy), Target.of(workload))
    learnt = simulate_learning(datacenter, workload, make_mix(policy))
    assert known.allocated_milli[-1] == learnt.allocated_milli[-1]


def test_a_run_without_tasks_is_empty() -> None:
    assert len(simulate_learning(small(), Workload.of([]), make_mix("ocs"))) == 0


def test_it_is_asked_for_by_name() -> None:
    workload = Workload.of([TaskClass(4_000, 8_192, 1, 500)] * 30)
    run = simulate_by_name(small(), workload, "ocs", target="learnt")
    assert run.allocated_milli[-1] == 15_000
    with pytest.raises(UserError, match="learnt"):
        simulate_by_name(small(), workload, "ocs", target="lernt")  # type: ignore[arg-type]


def small() -> Datacenter:
    models = ["G2", "T4", "V100M16", "P100"] * 3
    return Datacenter.of([f"n{i:02d}" for i in range(12)], [96_000] * 12, [393_216] * 12, [4] * 12, models)
