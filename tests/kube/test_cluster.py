"""The cluster under a policy: whatever is seen in whatever order, the engine's State is that of what is there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.cluster_cases import (
    HALF,
    ONLY_T4,
    TARGET,
    TASKS,
    TWO,
    WHOLE,
    left,
    make_cluster,
    make_node,
    make_pod,
    rebuilt,
)
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import run_workload, seeded
from wattpack.engine.core.state import COLUMNS, NOWHERE
from wattpack.engine.runs.arrivals import simulate
from wattpack.kube.cluster import Cluster
from wattpack.kube.facts import NodeFacts
from wattpack.kube.gpus import bits, gpu_numbers
from wattpack.kube.reservations import State
from wattpack.model.power import PAPER
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass
from wattpack.policies.expression import parse


def test_a_pod_seen_on_a_node_takes_its_gpus() -> None:
    cluster = make_cluster()
    cluster.update_pod(make_pod("a", HALF, "n0", (1,)))
    assert left(cluster)["n0"][2][:2] == [1000, 500]


def test_a_pod_without_a_node_takes_nothing() -> None:
    cluster = make_cluster()
    cluster.update_pod(make_pod("a"))
    assert len(cluster.reservations) == 0


def test_an_assumed_pod_counts_until_it_is_forgotten() -> None:
    cluster = make_cluster()
    cluster.assume(make_pod("a", WHOLE), "n0", (0,), 0.0)
    assert left(cluster)["n0"][2][:2] == [0, 1000]
    cluster.forget("a")
    assert left(cluster) == left(make_cluster())


def test_a_reservation_that_is_seen_stays_when_it_is_forgotten() -> None:
    cluster = make_cluster()
    cluster.assume(make_pod("a", WHOLE), "n0", (0,), 0.0)
    cluster.update_pod(make_pod("a", WHOLE, "n0", (0,)))
    cluster.forget("a")
    assert left(cluster)["n0"][2][:2] == [0, 1000]


def test_a_pod_seen_elsewhere_than_assumed_is_counted_where_it_is() -> None:
    cluster = make_cluster()
    cluster.assume(make_pod("a", WHOLE), "n0", (0,), 0.0)
    cluster.update_pod(make_pod("a", WHOLE, "n2", (1,)))
    assert left(cluster)["n0"] == left(make_cluster())["n0"]
    assert left(cluster)["n2"][2][:2] == [1000, 0]


def test_a_late_sight_of_the_pod_without_a_node_does_not_end_its_reservation() -> None:
    cluster = make_cluster()
    cluster.assume(make_pod("a", WHOLE), "n0", (0,), 0.0)
    cluster.update_pod(make_pod("a", WHOLE))
    assert left(cluster)["n0"][2][:2] == [0, 1000]


def test_a_pod_that_is_seen_before_its_node_counts_when_the_node_comes() -> None:
    cluster = make_cluster(nodes=1)
    cluster.engine()
    cluster.update_pod(make_pod("a", WHOLE, "n9", (1,)))
    cluster.update_node(make_node("n9"))
    assert left(cluster)["n9"][2][:2] == [1000, 0]


def test_a_pod_whose_node_has_gone_is_counted_again_when_the_node_comes_back() -> None:
    cluster = make_cluster()
    cluster.update_pod(make_pod("a", WHOLE, "n0", (1,)))
    cluster.remove_node("n0")
    assert "n0" not in left(cluster)
    cluster.update_node(make_node("n0"))
    assert left(cluster)["n0"][2][:2] == [1000, 0]


def test_a_question_without_a_pod_leaves_it_as_it_was_even_if_the_engine_is_rebuilt_for_a_new_class() -> None:
    cluster = make_cluster()
    reservation = cluster.assume(make_pod("a", WHOLE), "n0", (0,), 0.0)
    before, engine = left(cluster), cluster.engine()
    assert engine is not None
    engine.spare = 0
    with cluster.without("a") as held:
        assert held is reservation
        assert left(cluster) == left(make_cluster())
        assert cluster.would_decide(make_pod("b", TaskClass(1, 1, 0, 0))) is not None
        assert cluster.engine() is not engine
    assert left(cluster) == before
    assert cluster.reservations.get("a") is reservation
    assert reservation.state is State.ASSUMED


def test_reservations_of_a_cluster_that_is_given_up_are_adopted_unless_the_pod_is_seen() -> None:
    old, new = make_cluster(), make_cluster("ocs")
    old.assume(make_pod("a", WHOLE), "n0", (0,), 0.0)
    old.assume(make_pod("b", WHOLE), "n0", (1,), 0.0)
    new.update_pod(make_pod("b", WHOLE, "n2", (1,)))
    new.engine()
    new.adopt(old)
    assert left(new)["n0"][2][:2] == [0, 1000]
    assert left(new)["n2"][2][:2] == [1000, 0]


def test_only_offered_nodes_are_chosen() -> None:
    cluster = make_cluster()
    decision = cluster.would_decide(make_pod("a", HALF), ["n2", "unknown"])
    assert decision is not None
    assert decision.node == "n2"


def test_no_offered_node_that_fits_means_nowhere() -> None:
    cluster = make_cluster()
    decision = cluster.would_decide(make_pod("a", ONLY_T4), ["n0", "n2"])
    assert decision is not None
    assert decision.node == ""


def test_without_nodes_there_is_no_decision() -> None:
    assert make_cluster(nodes=0).would_decide(make_pod("a", HALF)) is None


def test_the_cost_of_a_pod_is_what_placing_it_adds_and_asking_changes_nothing() -> None:
    cluster = make_cluster("ocs")
    before = left(cluster)
    engine = cluster.engine()
    assert engine is not None
    memory = engine.state.memory.copy()
    watts, _ = cluster.cost(make_pod("a", WHOLE), "n0", (0,))
    assert watts == pytest.approx(270 + 105)  # a V100 from 30 to 300 W, a socket from 15 to 120 W
    assert left(cluster) == before
    assert cluster.engine() is engine
    assert np.array_equal(memory, engine.state.memory)


@pytest.mark.parametrize("policy", ["fgd", "pwr:0.1+fgd:0.9", "ocs", "gpuclustering", "dotprod"])
@pytest.mark.compiled
def test_decisions_one_by_one_are_those_of_a_run(policy: str) -> None:
    """500 tasks of the Default trace on the built-in datacenter: node and GPUs of every one."""
    datacenter, trace = alibaba2023.datacenter(), alibaba2023.trace("default")
    whole = run_workload(trace, datacenter.gpu_milli, seeded(7).workload)
    workload = whole.with_sequence(whole.sequence[:500].copy())
    run = simulate(datacenter, workload, parse(policy), Target.of(trace))
    cluster = Cluster(parse(policy), PAPER, Target.of(trace))
    for n, name in enumerate(datacenter.names):
        cpu, memory, gpus = int(datacenter.cpu_milli[n]), int(datacenter.memory_mib[n]), int(datacenter.gpus[n])
        cluster.update_node(NodeFacts(name, cpu, memory, gpus, datacenter.models[datacenter.model[n]], ""))
    for i, k in enumerate(workload.sequence):
        pod = make_pod(str(i), workload.classes[k])
        decision = cluster.decide(pod, datacenter.names)
        assert decision is not None
        expected = "" if run.node[i] == NOWHERE else datacenter.names[run.node[i]]
        assert (decision.node, bits(decision.gpus)) == (expected, run.gpus[i]), f"task {i}"
        if decision.node:
            cluster.assume(pod, decision.node, decision.gpus, 0.0)
    engine = cluster.engine()
    assert engine is not None
    assert engine.state.totals[3:COLUMNS].tolist() == run.series[-1][3:].tolist()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.integers(0, 3), st.integers(0, 4)),
        st.tuples(st.just("gone"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("ask"), st.integers(0, 30), st.sampled_from(range(len(TASKS)))),
        st.tuples(st.just("seen"), st.integers(0, 30), st.just(0)),
        st.tuples(st.just("foreign"), st.integers(0, 30), st.integers(0, 3)),
        st.tuples(st.just("drop"), st.integers(0, 30), st.just(0)),
        st.tuples(st.just("forget"), st.integers(0, 30), st.just(0)),
        st.tuples(st.just("bind"), st.integers(0, 30), st.just(0)),
        st.tuples(st.just("unbound"), st.integers(0, 30), st.just(0)),
    ),
    max_size=60,
)


@given(steps=STEPS, policy=st.sampled_from(["fgd", "pwr:0.1+fgd:0.9", "ocs"]))
def test_after_any_events_in_any_order_no_gpu_is_given_out_twice_and_the_state_is_that_of_what_is_there(
    steps: list[tuple[str, int, int]], policy: str
) -> None:
    cluster = make_cluster(policy)
    for what, one, two in steps:
        uid = str(one)
        known = cluster.reservations.get(uid)
        if what == "node":
            cluster.update_node(make_node(f"n{one}", gpus=two))
        elif what == "gone":
            cluster.remove_node(f"n{one}")
        elif what == "ask" and known is None:
            pod = make_pod(uid, TASKS[two])
            decision = cluster.decide(pod)
            if decision is not None and decision.node:
                cluster.assume(pod, decision.node, decision.gpus, 0.0)
        elif what == "seen" and known is not None:
            cluster.update_pod(known.pod._replace(node=known.node, gpus=gpu_numbers(known.gpus) or None))
        elif what == "foreign":
            cluster.update_pod(make_pod(uid, TWO if one % 2 else HALF, f"n{two}"))
        elif what == "drop":
            cluster.remove_pod(uid)
        elif what == "forget":
            cluster.forget(uid)
        elif what == "bind" and known is not None and known.state is not State.SEEN:
            cluster.reservations.bind(known)
        elif what == "unbound" and known is not None and known.state is not State.SEEN:
            cluster.unbound(uid)
    if not cluster.nodes:
        return
    there = left(cluster)
    for name, facts in cluster.nodes.items():
        assert all(0 <= milli <= 1000 for milli in there[name][2][: facts.gpus])
        taken = [0] * facts.gpus
        for reservation in cluster.reservations:
            if reservation.node == name:
                for g in gpu_numbers(reservation.counted):
                    taken[g] += reservation.task.gpu_milli
        assert there[name][2][: facts.gpus] == [1000 - milli for milli in taken]
    if not cluster.conflicts:
        assert left(rebuilt(cluster)) == there
    assert TARGET is cluster.in_step.target
