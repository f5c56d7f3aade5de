"""Cordons, taints, node selectors and node affinity, as Kubernetes reads them."""

from __future__ import annotations

import msgspec
import pytest

from wattpack.kube.constraints import eligible
from wattpack.kube.objects import Node, Pod


def node(**spec: object) -> Node:
    labels = {"zone": "a", "gpus": "8"}
    return msgspec.convert({"metadata": {"name": "n", "labels": labels}, "spec": spec}, Node)


def pod(**spec: object) -> Pod:
    return msgspec.convert({"spec": spec}, Pod)


def affinity(key: str, operator: str, *values: str) -> dict[str, object]:
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def test_a_plain_pod_may_go_to_a_plain_node() -> None:
    assert eligible(pod(), node())


def test_a_cordoned_node_is_left_out() -> None:
    assert not eligible(pod(), node(unschedulable=True))


@pytest.mark.parametrize(
    ("toleration", "let_in"),
    [
        ({}, False),
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "no"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_a_taint_keeps_out_who_does_not_tolerate_it(toleration: dict[str, str], let_in: bool) -> None:
    assert eligible(pod(tolerations=[toleration]), node(taints=[TAINT])) is let_in


def test_a_soft_taint_keeps_nobody_out() -> None:
    assert eligible(pod(), node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]))


def test_a_node_selector_must_hold() -> None:
    assert eligible(pod(nodeSelector={"zone": "a"}), node())
    assert not eligible(pod(nodeSelector={"zone": "b"}), node())


@pytest.mark.parametrize(
    ("expression", "let_in"),
    [
        (("zone", "In", "a", "b"), True),
        (("zone", "NotIn", "a"), False),
        (("zone", "Exists"), True),
        (("rack", "Exists"), False),
        (("rack", "DoesNotExist"), True),
        (("gpus", "Gt", "7"), True),
        (("gpus", "Lt", "8"), False),
        (("zone", "Gt", "7"), False),
        (("zone", "Like", "a"), False),
    ],
)
def test_required_node_affinity_must_hold(expression: tuple[str, ...], let_in: bool) -> None:
    assert eligible(pod(affinity=affinity(*expression)), node()) is let_in
