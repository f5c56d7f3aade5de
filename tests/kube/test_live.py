"""The live cluster: whatever is seen in whatever order, its State is that of a cluster built from what is there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.live_cases import HALF, ONLY_T4, PLAIN, TARGET, TASKS, TWO, WHOLE, make_live, make_node, make_pod
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import run_workload, seeded
from wattpack.engine.core.state import COLUMNS
from wattpack.engine.runs.arrivals import simulate
from wattpack.kube.gpus import bits, gpu_numbers
from wattpack.kube.live import Live
from wattpack.kube.translate import NodeFacts
from wattpack.model.power import PAPER
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass
from wattpack.policies.expression import parse

OF_THE_NODE = ("cpu_left", "memory_left", "gpu_left", "gpu_total", "gpu_free", "gpu_most", "tasks", "kinds")


def left(live: Live) -> dict[str, list[object]]:
    """Everything that is left on every node, by name."""
    engine = live.fresh()
    assert engine is not None
    return {name: [engine.state.nodes[n][field].tolist() for field in OF_THE_NODE] for name, n in live.index.items()}


def rebuilt(live: Live) -> Live:
    """The same tables with an engine made from nothing."""
    fresh = Live(live.mix, live.profile, live.target)
    fresh.nodes, fresh.placed = live.nodes, live.placed
    return fresh


def test_a_pod_seen_on_a_node_takes_its_gpus() -> None:
    live = make_live()
    live.set_pod(make_pod("a", HALF, "n0", (1,)))
    assert left(live)["n0"][2][:2] == [1000, 500]


def test_a_pod_without_a_node_takes_nothing() -> None:
    live = make_live()
    live.set_pod(make_pod("a"))
    assert live.placed == {}


def test_what_was_promised_counts_until_it_is_given_back() -> None:
    live = make_live()
    live.promise(make_pod("a", WHOLE), "n0", bits([0]), 0.0)
    assert left(live)["n0"][2][:2] == [0, 1000]
    live.give_back("a")
    assert left(live) == left(make_live())


def test_a_promise_that_is_seen_stays_when_it_is_given_back() -> None:
    live = make_live()
    live.promise(make_pod("a", WHOLE), "n0", bits([0]), 0.0)
    live.set_pod(make_pod("a", WHOLE, "n0", (0,)))
    live.give_back("a")
    assert left(live)["n0"][2][:2] == [0, 1000]


def test_a_pod_seen_elsewhere_than_promised_is_counted_where_it_is() -> None:
    live = make_live()
    live.promise(make_pod("a", WHOLE), "n0", bits([0]), 0.0)
    live.set_pod(make_pod("a", WHOLE, "n2", (1,)))
    assert left(live)["n0"] == left(make_live())["n0"]
    assert left(live)["n2"][2][:2] == [1000, 0]


def test_a_late_sight_of_the_pod_without_a_node_does_not_free_what_was_promised() -> None:
    live = make_live()
    live.promise(make_pod("a", WHOLE), "n0", bits([0]), 0.0)
    live.set_pod(make_pod("a", WHOLE))
    assert left(live)["n0"][2][:2] == [0, 1000]


def test_a_pod_that_is_seen_before_its_node_counts_when_the_node_comes() -> None:
    live = make_live(nodes=1)
    live.fresh()
    live.set_pod(make_pod("a", WHOLE, "n9", (1,)))
    live.set_node(make_node("n9"))
    assert left(live)["n9"][2][:2] == [1000, 0]


def test_a_pod_whose_node_has_gone_is_counted_again_when_the_node_comes_back() -> None:
    live = make_live()
    live.set_pod(make_pod("a", WHOLE, "n0", (1,)))
    live.drop_node("n0")
    assert "n0" not in left(live)
    live.set_node(make_node("n0"))
    assert left(live)["n0"][2][:2] == [1000, 0]


def test_a_pod_of_another_scheduler_without_gpu_numbers_gets_free_ones_counted() -> None:
    live = make_live()
    live.set_pod(make_pod("known", WHOLE, "n0", (0,)))
    live.set_pod(make_pod("unknown", WHOLE, "n0"))
    assert left(live)["n0"][2][:2] == [0, 0]
    assert live.conflicts == {}


def test_gpus_given_out_twice_by_others_are_told_and_never_counted_below_nothing() -> None:
    live = make_live()
    for uid in ("a", "b"):
        live.set_pod(make_pod(uid, WHOLE, "n0", (0,)))
    assert left(live)["n0"][2][:2] == [0, 1000]
    assert list(live.conflicts) == ["b"]
    live.drop_pod("a")
    live.stale = True
    assert left(live)["n0"][2][:2] == [0, 1000]  # now b has it
    assert live.conflicts == {}


def test_a_gpu_that_the_node_does_not_have_is_told() -> None:
    live = make_live()
    live.set_pod(make_pod("a", WHOLE, "n0", (7,)))
    live.fresh()
    assert "GPU 7" in live.conflicts["a"]


def test_more_classes_than_there_was_room_for_build_the_engine_anew() -> None:
    live = make_live()
    live.fresh()
    for milli in range(1, 600):
        live.set_pod(make_pod(str(milli), TaskClass(milli, 1, 0, 0), f"n{milli % 3}"))
    assert sum(row[6] for row in left(live).values()) == 599
    assert left(live) == left(rebuilt(live))


def test_only_offered_nodes_are_chosen() -> None:
    live = make_live()
    explanation = live.decide(HALF, ["n2", "unknown"])
    assert explanation is not None
    assert explanation.datacenter.names[explanation.node] == "n2"


def test_no_offered_node_that_fits_means_nowhere() -> None:
    live = make_live()
    explanation = live.decide(ONLY_T4, ["n0", "n2"])
    assert explanation is not None
    assert explanation.node == -1


def test_without_nodes_there_is_no_decision() -> None:
    assert make_live(nodes=0).decide(HALF) is None


def test_the_cost_of_a_pod_is_what_placing_it_adds_and_asking_changes_nothing() -> None:
    live = make_live("ocs")
    before, memory = left(live), live.memory()
    watts, _ = live.cost(make_pod("a", WHOLE), "n0", 1)
    assert watts == pytest.approx(270 + 105)  # a V100 from 30 to 300 W, a socket from 15 to 120 W
    assert left(live) == before
    assert memory is not None
    assert np.array_equal(memory, live.memory())


def test_a_target_is_learnt_from_the_pods_seen() -> None:
    live = make_live(target=None)
    for number in range(10):
        live.set_pod(make_pod(f"h{number}", PLAIN, "n0"))
    assert live.relearn()
    live.fresh()
    assert [task.num_gpu for task in live.learnt_target().classes] == [0]
    assert not live.relearn()  # nothing new


@pytest.mark.parametrize("policy", ["fgd", "pwr:0.1+fgd:0.9", "ocs", "gpuclustering", "dotprod"])
@pytest.mark.compiled
def test_decisions_one_by_one_are_those_of_a_run(policy: str) -> None:
    """500 tasks of the Default trace on the built-in datacenter: node and GPUs of every one."""
    datacenter, trace = alibaba2023.datacenter(), alibaba2023.trace("default")
    whole = run_workload(trace, datacenter.gpu_milli, seeded(7).workload)
    workload = whole.with_sequence(whole.sequence[:500].copy())
    run = simulate(datacenter, workload, parse(policy), Target.of(trace))
    live = Live(parse(policy), PAPER, Target.of(trace))
    for n, name in enumerate(datacenter.names):
        cpu, memory, gpus = int(datacenter.cpu_milli[n]), int(datacenter.memory_mib[n]), int(datacenter.gpus[n])
        live.set_node(NodeFacts(name, cpu, memory, gpus, datacenter.models[datacenter.model[n]], ""))
    for i, k in enumerate(workload.sequence):
        pod = make_pod(str(i), workload.classes[k])
        explanation = live.ask(pod, datacenter.names)
        assert explanation is not None
        assert (explanation.node, explanation.gpus) == (run.node[i], run.gpus[i]), f"task {i}"
        if explanation.node >= 0:
            live.promise(pod, datacenter.names[explanation.node], explanation.gpus, 0.0)
    engine = live.fresh()
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
        st.tuples(st.just("back"), st.integers(0, 30), st.just(0)),
    ),
    max_size=60,
)


@given(steps=STEPS, policy=st.sampled_from(["fgd", "pwr:0.1+fgd:0.9", "ocs"]))
def test_after_any_events_in_any_order_no_gpu_is_given_out_twice_and_the_state_is_that_of_what_is_there(
    steps: list[tuple[str, int, int]], policy: str
) -> None:
    live = make_live(policy)
    for what, one, two in steps:
        uid = str(one)
        if what == "node":
            live.set_node(make_node(f"n{one}", gpus=two))
        elif what == "gone":
            live.drop_node(f"n{one}")
        elif what == "ask" and uid not in live.placed:
            pod = make_pod(uid, TASKS[two])
            explanation = live.ask(pod)
            if explanation is not None and explanation.node >= 0:
                live.promise(pod, explanation.datacenter.names[explanation.node], explanation.gpus, 0.0)
        elif what == "seen" and uid in live.placed:
            held = live.placed[uid]
            live.set_pod(held.pod._replace(node=held.node, gpus=gpu_numbers(held.gpus) or None))
        elif what == "foreign":
            live.set_pod(make_pod(uid, TWO if one % 2 else HALF, f"n{two}"))
        elif what == "drop":
            live.drop_pod(uid)
        elif what == "back":
            live.give_back(uid)
    if not live.nodes:
        return
    there = left(live)
    for name, facts in live.nodes.items():
        assert all(0 <= milli <= 1000 for milli in there[name][2][: facts.gpus])
        taken = [0] * facts.gpus
        for held in live.placed.values():
            if held.node == name:
                for g in gpu_numbers(held.gpus):
                    taken[g] += held.task.gpu_milli
        assert there[name][2][: facts.gpus] == [1000 - milli for milli in taken]
    if not live.conflicts:
        assert left(rebuilt(live)) == there
    assert TARGET is live.target
