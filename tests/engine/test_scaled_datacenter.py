"""Buckets and the plain scan make the same decisions on the built-in datacenter, once and ten times as large."""

from __future__ import annotations

import numpy as np
import pytest

from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import node_order, run_workload, seeded
from wattpack.engine.core.engine import Engine
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.experiments.lineup import DEFAULT_POLICIES
from wattpack.model.target import Target
from wattpack.policies.expression import parse

# At ten times the size the scan takes 60 us a decision: these many tasks.
TASKS_AT_10 = 8_000


@pytest.mark.compiled
@pytest.mark.parametrize("policy", DEFAULT_POLICIES)
@pytest.mark.parametrize("times", [1, 10])
def test_buckets_choose_what_the_plain_scan_chooses(policy: str, times: int) -> None:
    trace = alibaba2023.trace("default")
    seeds = seeded(7)
    datacenter = alibaba2023.datacenter().repeated(times)
    workload = run_workload(trace, datacenter.gpu_milli, seeds.workload)
    if times > 1:
        workload = workload.with_sequence(workload.sequence[:TASKS_AT_10].copy())
    datacenter = datacenter.ordered(node_order(datacenter, seeds.node_order))
    mix, target, luck = parse(policy), Target.of(trace), draw_luck(workload, seeds.policy)
    fast = Engine(datacenter, workload.classes, mix, target)
    plain = Engine(datacenter, workload.classes, mix, target)
    plain.plan = plain.plan._replace(bucketed=False)
    one, other = run_arrivals(fast, workload, luck), run_arrivals(plain, workload, luck)
    assert np.array_equal(one.node, other.node)
    assert np.array_equal(one.gpus, other.gpus)
    assert np.array_equal(one.series, other.series)
    assert fast.plan.bucketed == (policy != "random")  # a draw
