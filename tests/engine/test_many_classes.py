"""Traces whose requests are all different: taken in parts, with the decisions of one whole run."""

from __future__ import annotations

import numpy as np
import pytest

from wattpack.datasets import alibaba2023
from wattpack.engine.core.engine import Engine
from wattpack.engine.runs import arrivals
from wattpack.errors import UserError
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.policies import BUILT_IN
from wattpack.policies.expression import parse

MIXES = ("pwr:0.1+fgd:0.9", "bestfit:0.5+dotprod:0.5")


def random_tasks(seed: int, tasks: int, classes: int) -> Workload:
    rng = np.random.default_rng(seed)
    kinds = []
    for _ in range(classes):
        gpus = int(rng.choice([0, 1, 1, 1, 2, 4, 8]))
        milli = int(rng.integers(1, 1000)) if gpus == 1 and rng.random() < 0.6 else 1000 if gpus else 0
        spec = str(rng.choice(["", "", "T4", "G2|P100"])) if gpus else ""
        kinds.append(TaskClass(int(rng.integers(0, 40_000)), int(rng.integers(0, 80_000)), gpus, milli, spec))
    return Workload.of([kinds[k] for k in rng.integers(classes, size=tasks)], name="odd")


@pytest.mark.parametrize("policy", [*sorted(BUILT_IN), *MIXES])
def test_in_parts_every_policy_decides_as_in_one_run(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = alibaba2023.datacenter()
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(whole))[:30]
        datacenter, tasks = whole.ordered(order), random_tasks(seed, 150, 40)
        given = (datacenter, tasks, parse(policy), Target.of(tasks))
        expected = arrivals.simulate(*given)
        with monkeypatch.context() as changed:
            changed.setattr(arrivals, "MOST_CLASSES", 7)
            found = arrivals.simulate(*given)
        for column in ("node", "gpus", "reason", "series", "start"):
            np.testing.assert_array_equal(getattr(found, column), getattr(expected, column), err_msg=column)
        assert expected.node.max() > 0


def test_parts_cover_the_tasks_in_order_with_few_classes_each() -> None:
    sequence = np.array([0, 1, 0, 2, 1, 3, 3, 0], dtype=np.int32)
    assert arrivals.parts_by_classes(sequence, 2) == [(0, 3), (3, 5), (5, 8)]
    assert arrivals.parts_by_classes(sequence, 9) == [(0, 8)]


def test_more_classes_than_memory_are_refused_with_the_number_before_it_is_taken() -> None:
    """Runs in time keep a queue of every class: 30,000 with as many amounts of vCPU took 14 GB."""
    tasks = Workload.of([TaskClass(1000 + i, 1024, 1, 500) for i in range(30_000)])
    datacenter = alibaba2023.datacenter()
    with pytest.raises(
        UserError, match="30,000 different requests on 1,213 nodes take about 15 GB, expected at most 8"
    ):
        Engine(datacenter, tasks.classes, parse("bestfit"), Target.of(tasks))
