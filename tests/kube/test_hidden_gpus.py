"""GPUs that a decision must not choose."""

from __future__ import annotations

import numpy as np
import pytest

from wattpack.engine.core.state import CHANGES
from wattpack.kube.config import Config
from wattpack.kube.facts import NodeFacts, PodFacts
from wattpack.kube.hidden_gpus import FILLS, fills, hidden
from wattpack.model.tasks import TaskClass


def pod(uid: str, task: TaskClass, node: str = "", gpus: tuple[int, ...] | None = None) -> PodFacts:
    return PodFacts(uid, "team", uid, task, node, gpus, False, "", "")


@pytest.mark.parametrize("milli", [0, 1, 540, 999, 1000])
def test_any_free_amount_is_a_sum_of_a_few_classes(milli: int) -> None:
    assert sum(fills(milli)) == milli
    assert set(fills(milli)) <= set(FILLS)


@pytest.mark.parametrize("policy", ["fgd", "pwr:0.1+fgd:0.9", "ocs"])
def test_hidden_gpus_are_not_chosen_and_the_cluster_is_as_before(policy: str) -> None:
    cluster = Config(policy=policy).cluster()
    for name in ("a", "b"):
        cluster.update_node(NodeFacts(name, 64000, 256000, 4, "A100", ""))
    cluster.update_pod(pod("runs", TaskClass(1000, 1000, 1, 460), "a", (1,)))
    cluster.decide(pod("first", TaskClass(1000, 1000, 2, 1000)))
    engine = cluster.engine()
    assert engine is not None
    task = TaskClass(1000, 1000, 1, 500)
    cluster.in_step.class_of(task)
    for amount in FILLS:  # classes that are there already change nothing that is compared
        cluster.in_step.class_of(TaskClass(0, 0, 1, amount))
    before = engine.state.nodes.copy(), engine.state.totals.copy(), engine.state.memory.copy()
    for usable, expected in (({"a": 0b0010}, ("a", (1,))), ({"b": 0b0100}, ("b", (2,))), ({"a": 0, "b": 0}, ("", ()))):
        decision = cluster.would_decide(pod("x", task), None, usable)
        assert decision is not None
        assert (decision.node, decision.gpus) == expected
    assert cluster.engine() is engine
    changed = [name for name in before[0].dtype.names if not np.array_equal(before[0][name], engine.state.nodes[name])]
    assert changed == ["changed_at"]  # when, not what
    assert np.array_equal(before[1][:CHANGES], engine.state.totals[:CHANGES])
    assert np.array_equal(before[2], engine.state.memory)


def test_nodes_that_are_not_usable_are_counted_with_the_reason() -> None:
    cluster = Config(policy="fgd").cluster()
    for name in ("a", "b"):
        cluster.update_node(NodeFacts(name, 64000, 256000, 4, "A100", ""))
    decision = cluster.would_decide(pod("x", TaskClass(0, 0, 1, 1000)), None, {})
    assert decision is not None
    assert decision.refused == {"has no devices that serve the claims": 2}


def test_nothing_is_hidden_where_every_gpu_is_usable() -> None:
    cluster = Config(policy="fgd").cluster()
    cluster.update_node(NodeFacts("a", 64000, 256000, 4, "A100", ""))
    engine = cluster.engine()
    assert engine is not None
    with hidden(cluster.in_step, {"a": 0b1111, "gone": 0}):
        assert engine.state.nodes[0].gpu_left[:4].tolist() == [1000] * 4
