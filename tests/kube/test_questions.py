"""Questions about a cluster: the answer says what it leaves out."""

from __future__ import annotations

import pytest

from kube.made import make_node, make_pod
from wattpack.kube.config import Config
from wattpack.kube.objects import Unreadable
from wattpack.kube.questions import NOT_CHECKED, fit, state_of
from wattpack.kube.view import View

ODD = {"gpu.intel.com/i915": "1"}
GPU = {"nvidia.com/gpu": "1"}


def view_of(*odd_nodes: str) -> View:
    """Three nodes of two T4, and a pod that cannot be read on each of `odd_nodes`."""
    view = View(Config(policy="fgd", target="default"))
    view.replace_nodes([make_node(name, gpus=2) for name in ("a", "b", "c")])
    view.replace_pods([make_pod(f"odd-{i}", node=node, **ODD) for i, node in enumerate(odd_nodes)])
    return view


@pytest.mark.parametrize(
    ("odd_nodes", "said"),
    [
        (("a",), "1 node is blocked by 1 pod that was not understood"),
        (("a", "a"), "1 node is blocked by 2 pods that were not understood"),
        (("a", "b", "b"), "2 nodes are blocked by 3 pods that were not understood"),
    ],
)
def test_fit_says_in_one_line_how_many_nodes_are_blocked_by_pods_that_were_not_understood(
    odd_nodes: tuple[str, ...], said: str
) -> None:
    decision = fit(view_of(*odd_nodes), make_pod("p", **GPU))
    assert decision is not None
    assert decision.node not in odd_nodes
    checked, blocked = decision.note.splitlines()
    assert checked == NOT_CHECKED
    assert blocked.startswith(said)


def test_fit_says_nothing_of_blocked_nodes_where_there_is_none() -> None:
    for odd_nodes in ((), ("gone",)):
        decision = fit(view_of(*odd_nodes), make_pod("p", **GPU))
        assert decision is not None
        assert decision.note == NOT_CHECKED


def test_fit_says_how_many_nodes_are_not_open_to_the_pod_and_why() -> None:
    view = view_of()
    view.replace_nodes([make_node("a", gpus=2), make_node("b", gpus=1), make_node("c", gpus=4, taint="team")])
    for gpus, said in (
        ("2", "2 of 3 nodes are not open to the pod (less nvidia.com/gpu than it asks for: 1; taint team: 1)"),
        ("9", "3 of 3 nodes are not open to the pod (less nvidia.com/gpu than it asks for: 3)"),
    ):
        decision = fit(view, make_pod("p", **{"nvidia.com/gpu": gpus}))
        assert decision is not None
        assert decision.note.splitlines() == [NOT_CHECKED, said]
    assert decision.words() == "fgd: fits none of 0 nodes (none is open to it)"


def test_the_state_names_every_node_that_is_closed_to_pods_with_gpus() -> None:
    view = view_of("a")
    twice = {"wattpack.dev/gpu-index": "0"}
    both = [make_pod(f"twice-{i}", node="b", annotations=twice, **GPU) for i in range(2)]
    view.replace_pods([make_pod("odd-0", node="a", **ODD), *both])
    assert state_of(view)["closed_nodes"] == {"a": "holds a pod that is not understood: its GPUs may be in use"}
    decision = fit(view, make_pod("p", **GPU))
    assert decision is not None
    assert (decision.node, decision.fitting) == ("c", 1)


def test_fit_changes_nothing() -> None:
    view = view_of()
    before = view.cluster.power_w()
    for _ in range(2):
        decision = fit(view, make_pod("p", **GPU))
        assert decision is not None
        assert (decision.node, decision.at != "") == ("a", True)
    assert view.cluster.power_w() == before
    assert len(view.cluster.reservations) == 0


def test_a_pod_without_containers_is_no_question() -> None:
    pod = make_pod("p")
    pod.spec.containers = []
    with pytest.raises(Unreadable, match="no containers"):
        fit(view_of(), pod)
