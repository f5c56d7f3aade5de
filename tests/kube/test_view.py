"""What the watches show becomes the cluster under a policy; a node with a pod that cannot be read is not used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kube.made import make_node, make_pod
from wattpack.kube.closed_nodes import FOREIGN, UNKNOWN
from wattpack.kube.config import Config
from wattpack.kube.facts import PodFacts
from wattpack.kube.objects import Pod
from wattpack.kube.questions import fit
from wattpack.kube.view import View

ODD = {"alibabacloud.com/gpu-milli": "lots"}
UNKNOWN_DEVICE = {"gpu.intel.com/i915": "1"}


def odd(node: str = "a", phase: str = "Running") -> Pod:
    return make_pod("odd", node=node, phase=phase, **UNKNOWN_DEVICE)


def view_with(*pods: Pod) -> View:
    """Nodes `a` and `b`, and these pods."""
    view = View(Config(policy="fgd", target="default"))
    view.replace_nodes([make_node(name, gpus=2) for name in ("a", "b")])
    view.replace_pods(list(pods))
    return view


def used(view: View) -> list[str]:
    """Nodes where a pod with GPUs may go."""
    asks = view.read(make_pod("asks", **{"nvidia.com/gpu": "1"}))
    return sorted(view.cluster.nodes.keys() - view.cluster.closed_to(asks).keys())


def test_a_node_with_a_pod_that_cannot_be_read_is_not_used() -> None:
    view = view_with(odd())
    assert used(view) == ["b"]
    assert "its GPUs may be in use" in view.cluster.closed.doubtful["a"]
    view.update_node(make_node("a", gpus=2, labels={"zone": "x"}))
    assert used(view) == ["b"]


@pytest.mark.parametrize(
    "change",
    [
        lambda view: view.change_pod("DELETED", odd()),
        lambda view: view.change_pod("MODIFIED", odd(phase="Succeeded")),
        lambda view: view.change_pod("MODIFIED", make_pod("odd", node="a")),
        lambda view: view.replace_pods([]),
        lambda view: view.replace_pods([odd(phase="Failed")]),
    ],
    ids=["deleted", "finished", "readable", "gone from the list", "finished in the list"],
)
def test_the_node_is_used_again_when_the_pod_no_longer_holds_anything_unknown(change: Callable[[View], None]) -> None:
    view = view_with(odd())
    change(view)
    assert used(view) == ["a", "b"]
    assert view.blocking == {}
    assert view.unreadable_nodes == {}


def test_a_node_is_blocked_while_any_of_its_pods_cannot_be_read() -> None:
    other = make_pod("other", node="a", **UNKNOWN_DEVICE)
    view = view_with(odd(), other)
    view.change_pod("DELETED", odd())
    assert used(view) == ["b"]
    view.change_pod("DELETED", other)
    assert used(view) == ["a", "b"]


def test_a_pod_that_cannot_be_read_and_waits_blocks_nothing() -> None:
    view = view_with(make_pod("odd", annotations=ODD))
    assert used(view) == ["a", "b"]
    assert list(view.unreadable_pods) == ["uid-team-odd"]


def test_a_node_that_comes_after_the_pod_on_it_is_not_used_either() -> None:
    view = view_with(odd(node="c"))
    view.change_node("ADDED", make_node("c", gpus=2))
    assert used(view) == ["a", "b"]


def test_a_pod_that_finishes_gives_its_gpus_back_even_if_it_can_no_longer_be_read() -> None:
    view = view_with(make_pod("odd", node="a", **{"nvidia.com/gpu": "1"}))
    assert len(view.cluster.reservations) == 1
    view.change_pod("MODIFIED", odd())
    assert used(view) == ["b"]
    view.change_pod("MODIFIED", odd(phase="Succeeded"))
    assert used(view) == ["a", "b"]
    assert (len(view.cluster.reservations), view.pods, view.uids) == (0, {}, {})


# ---- mixed clusters


def asks(view: View, **asked: Any) -> PodFacts:
    return view.read(make_pod("asks", **asked))


def test_a_pod_that_is_not_understood_still_holds_cpu_and_memory() -> None:
    view = view_with(odd())
    engine = view.cluster.engine()
    assert engine is not None
    node = engine.state.nodes[view.cluster.index["a"]]
    assert (int(node.cpu_left), int(node.memory_left)) == (95_000, 383 * 1024)
    decision = view.cluster.would_decide(asks(view))
    assert decision is not None
    assert decision.fitting == 2  # a pod without GPUs may go to either


def test_a_pod_of_which_not_even_the_cpu_can_be_read_takes_its_node_out() -> None:
    view = view_with(make_pod("odd", node="a", cpu="lots"))
    assert sorted(view.cluster.nodes) == ["b"]
    view.change_pod("DELETED", make_pod("odd", node="a", cpu="lots"))
    assert sorted(view.cluster.nodes) == ["a", "b"]


@pytest.mark.parametrize(
    "pod",
    [
        make_pod("odd", node="a", **{"gpu.intel.com/i915": "1"}),
        make_pod("odd", node="a", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}),
    ],
    ids=["an unknown accelerator", "a claim"],
)
def test_accelerators_that_nobody_counts_close_their_node_to_pods_with_gpus(pod: Pod) -> None:
    view = view_with(pod)
    assert used(view) == ["b"]
    decision = view.cluster.would_decide(asks(view, **{"nvidia.com/gpu": "1"}))
    assert decision is not None
    assert (decision.node, decision.fitting, decision.offered) == ("b", 1, 2)
    assert decision.refused == {UNKNOWN: 1}


def test_a_whole_gpu_that_shares_leave_no_room_for_takes_what_one_gpu_has_left() -> None:
    """Shares of 100 milli are on both GPUs of node a, and a pod that holds a whole one."""
    said = {"alibabacloud.com/gpu-milli": "100", "alibabacloud.com/gpu-index": "0"}
    shares = [make_pod(f"s{i}", node="a", annotations=said | {"alibabacloud.com/gpu-index": str(i)}) for i in (0, 1)]
    view = view_with(*shares, make_pod("whole", node="a", **{"nvidia.com/gpu": "1"}))
    engine = view.cluster.engine()
    assert engine is not None
    assert sorted(engine.state.nodes[view.cluster.index["a"]].gpu_left[:2].tolist()) == [0, 900]
    assert view.cluster.conflicts == {"uid-team-whole": "1 GPU x 1000 milli are not free on its node"}
    assert used(view) == ["a", "b"]


def test_a_node_with_mig_devices_takes_only_pods_that_ask_for_them_and_only_as_many_as_it_has() -> None:
    view = View(Config(policy="fgd", target="default"))
    labels, device = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}, "nvidia.com/mig-1g.10gb"
    view.replace_nodes([make_node("a", gpus=2), make_node("m", labels=labels, **{device: "2"})])
    wish = make_pod("wish", **{device: "1"})
    for number in (0, 1):
        view.replace_pods([make_pod(f"p{i}", node="m", **{device: "1"}) for i in range(number)])
        decision = fit(view, wish)
        assert decision is not None
        assert decision.node == "m"
    assert used(view) == ["a"]
    view.replace_pods([make_pod(f"p{i}", node="m", **{device: "1"}) for i in range(2)])
    decision = fit(view, wish)
    assert decision is not None
    assert decision.node == ""


def test_a_share_goes_to_nodes_of_its_own_dialect_or_of_none() -> None:
    view = View(Config(policy="fgd", target="default"))
    registered = {"hami.io/node-nvidia-register": '[{"devmem": 15360, "health": true}]'}
    view.replace_nodes(
        [
            make_node("alibaba", gpus=1, **{"alibabacloud.com/gpu-count": "1"}),
            make_node("hami", gpus=10, annotations=registered),
            make_node("plain", gpus=1),
        ]
    )
    share = asks(view, annotations={"alibabacloud.com/gpu-milli": "300"})
    whole = asks(view, **{"nvidia.com/gpu": "1"})
    theirs = {"hami": "its GPUs are given out by HAMi's scheduler alone"}
    assert view.cluster.closed_to(share) == view.cluster.closed_to(whole) == theirs
    view.cluster.closed.theirs.clear()  # as where nothing is placed, only counted
    assert view.cluster.closed_to(share) == {"hami": FOREIGN}


def test_a_pod_that_comes_before_its_node_is_read_again_with_the_memory_of_its_gpus() -> None:
    """4 GiB are 267 milli of a T4, and 50 of an A100 of 80 GiB."""
    view = View(Config(policy="fgd", target="default"))
    view.replace_nodes([make_node("t4", gpus=1)])
    pod = make_pod("p", node="late", **{"aliyun.com/gpu-mem": "4"})
    view.replace_pods([pod])
    assert view.pods[pod.metadata.uid].task.gpu_milli == 267
    view.change_node("ADDED", make_node("late", gpus=1, model="NVIDIA-A100-SXM4-80GB"))
    assert view.pods[pod.metadata.uid].task.gpu_milli == 50
    assert view.early == {}
