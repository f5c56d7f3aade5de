"""What the watches show becomes the cluster under a policy; a node with a pod that cannot be read is not used."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kube.made import make_node, make_pod
from wattpack.kube.config import Config
from wattpack.kube.objects import Pod
from wattpack.kube.view import View

ODD = {"alibabacloud.com/gpu-milli": "lots"}


def odd(node: str = "a", phase: str = "Running") -> Pod:
    return make_pod("odd", node=node, phase=phase, annotations=ODD)


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
    assert "its GPUs may be in use" in view.cluster.closed["a"]
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
    other = make_pod("other", node="a", annotations=ODD)
    view = view_with(odd(), other)
    view.change_pod("DELETED", odd())
    assert used(view) == ["b"]
    view.change_pod("DELETED", other)
    assert used(view) == ["a", "b"]


def test_a_pod_that_cannot_be_read_and_waits_blocks_nothing() -> None:
    view = view_with(odd(node=""))
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
