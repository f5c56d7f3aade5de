"""The engine in step with a cluster: pods without GPU numbers, GPUs taken twice, new classes, a learnt target."""

from __future__ import annotations

import pytest

from kube.cluster_cases import HALF, PLAIN, WHOLE, left, make_cluster, make_node, make_pod, rebuilt
from wattpack.model.tasks import TaskClass


def test_a_pod_of_another_scheduler_without_gpu_numbers_gets_free_ones_counted() -> None:
    cluster = make_cluster()
    cluster.update_pod(make_pod("known", WHOLE, "n0", (0,)))
    cluster.update_pod(make_pod("unknown", WHOLE, "n0"))
    assert left(cluster)["n0"][2][:2] == [0, 0]
    assert cluster.conflicts == {}


def test_gpus_given_out_twice_by_others_are_told_and_never_counted_below_nothing() -> None:
    cluster = make_cluster()
    for uid in ("a", "b"):
        cluster.update_pod(make_pod(uid, WHOLE, "n0", (0,)))
    assert left(cluster)["n0"][2][:2] == [0, 0]  # two pods hold two GPUs, whichever these are
    assert list(cluster.conflicts) == ["b"]
    cluster.remove_pod("a")
    assert left(cluster)["n0"][2][:2] == [0, 1000]  # now b has it
    assert cluster.conflicts == {}


def test_a_gpu_that_the_node_does_not_have_is_told() -> None:
    cluster = make_cluster()
    cluster.update_pod(make_pod("a", WHOLE, "n0", (7,)))
    cluster.engine()
    assert "GPU 7" in cluster.conflicts["a"]


def test_more_classes_than_there_was_room_for_build_the_engine_anew() -> None:
    cluster = make_cluster()
    cluster.engine()
    for milli in range(1, 600):
        cluster.update_pod(make_pod(str(milli), TaskClass(milli, 1, 0, 0), f"n{milli % 3}"))
    assert sum(row[6] for row in left(cluster).values()) == 599
    assert left(cluster) == left(rebuilt(cluster))


def test_a_target_is_learnt_from_the_pods_seen() -> None:
    cluster = make_cluster(target=None)
    for number in range(10):
        cluster.update_pod(make_pod(f"h{number}", PLAIN, "n0"))
    assert cluster.in_step.relearn()
    cluster.engine()
    assert [task.num_gpu for task in cluster.in_step.learnt_target().classes] == [0]
    assert not cluster.in_step.relearn()  # nothing new


@pytest.mark.parametrize("how", ["promise", "assume"])
@pytest.mark.parametrize("lower", [0, 1])
def test_a_reservation_has_its_gpus_again_after_its_node_showed_fewer_for_a_moment(how: str, lower: int) -> None:
    """A device plugin restarts: the node's count drops and returns. What was decided must not move meanwhile."""
    cluster = make_cluster()
    reservation = getattr(cluster, how)(make_pod("a", HALF), "n0", (1,), 0.0)
    for gpus in (lower, 2):
        cluster.update_node(make_node("n0", gpus=gpus))
        cluster.engine()
        assert (reservation.gpus, list(cluster.conflicts)) == (0b10, ["a"] if gpus == lower else [])
    assert left(cluster)["n0"][2][:2] == [1000, 500]


def test_a_running_pod_has_the_gpus_of_its_annotation_again_after_its_node_showed_fewer() -> None:
    cluster = make_cluster()
    cluster.update_pod(make_pod("a", HALF, "n0", (1,)))
    cluster.update_pod(make_pod("b", WHOLE, "n0", (0,)))
    before = left(cluster)["n0"]
    for gpus in (1, 0, 2):
        cluster.update_node(make_node("n0", gpus=gpus))
        cluster.engine()
        decision = cluster.would_decide(make_pod("c", HALF), ["n0"])
        assert decision is not None
        assert decision.node == ("n0" if gpus == 2 else "")
    assert left(cluster)["n0"] == before


def test_pods_that_say_their_gpus_come_before_those_that_were_guessed_when_a_node_gets_its_gpus_back() -> None:
    """The foreign pod without an index was counted on GPU 1; nothing says that it is there."""
    cluster = make_cluster()
    cluster.update_pod(make_pod("a", WHOLE, "n0", (0,)))
    cluster.update_pod(make_pod("foreign", WHOLE, "n0"))
    cluster.update_node(make_node("n0", gpus=4))
    cluster.assume(make_pod("b", WHOLE), "n0", (2,), 0.0)
    for gpus in (0, 2, 4):
        cluster.update_node(make_node("n0", gpus=gpus))
        cluster.engine()
    assert cluster.conflicts == {}
    assert left(cluster)["n0"][2][:4] == [0, 0, 0, 1000]


@pytest.mark.parametrize("bound", [False, True])
def test_a_pod_whose_gpu_is_not_shown_takes_no_room_from_one_whose_gpu_is(bound: bool) -> None:
    """Three GPUs, one is hidden: half of it has to be held elsewhere, but not on the GPU that a Binding carries."""
    cluster = make_cluster()
    cluster.update_node(make_node("n0", gpus=3))
    cluster.update_pod(make_pod("hidden", HALF, "n0", (2,)))
    reservation = cluster.assume(make_pod("a", WHOLE), "n0", (0,), 0.0)
    if bound:
        cluster.reservations.bind(reservation)
    cluster.update_node(make_node("n0", gpus=2))
    assert left(cluster)["n0"][2][:2] == [0, 500]
    assert list(cluster.conflicts) == ["hidden"]
