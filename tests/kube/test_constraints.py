"""Cordons, taints, node selectors and node affinity, as Kubernetes reads them."""

from __future__ import annotations

import msgspec
import pytest

from wattpack.kube.constraints import allows, constraints_of, constraints_on, eligible, lost, soft_terms, why_not
from wattpack.kube.objects import Condition, Node, Pod


def node(**spec: object) -> Node:
    labels = {"zone": "a", "gpus": "8"}
    return msgspec.convert({"metadata": {"name": "n", "labels": labels}, "spec": spec}, Node)


def pod(**spec: object) -> Pod:
    return msgspec.convert({"spec": spec}, Pod)


def affinity(key: str, operator: str, *values: str) -> dict[str, object]:
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def named(operator: str, *values: str) -> dict[str, object]:
    term = {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def test_affinity_may_name_nodes() -> None:
    assert eligible(pod(affinity=named("In", "n")), node())
    assert not eligible(pod(affinity=named("In", "m")), node())
    assert not eligible(pod(affinity=named("NotIn", "n")), node())


def test_a_term_without_requirements_holds_nowhere() -> None:
    required = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}}
    assert not eligible(pod(affinity=required), node())


def test_a_node_that_is_not_ready_takes_pods_that_tolerate_it() -> None:
    silent = node()
    silent.status.conditions = [Condition("Ready", "Unknown")]
    assert not eligible(pod(), silent)
    assert eligible(pod(tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]), silent)


@pytest.mark.parametrize("limit", ["7.5", "1_0", " 3", "", "8 "])
def test_only_whole_numbers_in_plain_digits_can_be_compared(limit: str) -> None:
    assert eligible(pod(affinity=affinity("gpus", "Gt", "7")), node())
    assert not eligible(pod(affinity=affinity("gpus", "Gt", limit)), node())


def test_a_running_pod_keeps_to_the_architecture_of_its_node_unless_it_names_one_itself() -> None:
    arm, amd = node(), node()
    arm.metadata.labels, amd.metadata.labels = {"kubernetes.io/arch": "arm64"}, {"kubernetes.io/arch": "amd64"}
    assert not allows(constraints_on(pod(), amd), arm)
    assert allows(constraints_on(pod(), amd), amd)
    either = affinity("kubernetes.io/arch", "In", "amd64", "arm64")
    assert allows(constraints_on(pod(affinity=either), amd), arm)
    assert allows(constraints_on(pod(), node()), arm)  # a node without the label says nothing


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


@pytest.mark.parametrize(
    ("asks", "offers", "expected"),
    [
        ({}, {}, ""),
        ({}, {"unschedulable": True}, "cordoned"),
        ({}, {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]}, "not ready"),
        ({}, {"taints": [{"key": "team", "value": "x", "effect": "NoSchedule"}]}, "taint team"),
        ({"nodeSelector": {"zone": "b"}}, {}, "label zone is not b"),
        ({"affinity": affinity("zone", "NotIn", "a")}, {}, "node affinity"),
        ({"containers": [{"resources": {"requests": {"x.com/y": "2"}}}]}, {}, "less x.com/y than it asks for"),
    ],
)
def test_what_keeps_a_pod_off_a_node_is_named(
    asks: dict[str, object], offers: dict[str, object], expected: str
) -> None:
    constraints, there = constraints_of(pod(**asks)), node(**offers)
    assert why_not(constraints, there) == expected
    assert allows(constraints, there) is (expected == "")


# ---- what is preferred


PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, []),
        ({"affinity": {"nodeAffinity": PREFERRED}}, ["preferred node affinity"]),
        ({"affinity": {"podAffinity": PREFERRED}}, ["preferred affinity to pods"]),
        ({"affinity": {"podAntiAffinity": PREFERRED}}, ["preferred anti-affinity to pods"]),
        ({"affinity": {"podAntiAffinity": {}}}, []),
        (
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway", "topologyKey": "zone"}]},
            ["topology spread that may be missed (ScheduleAnyway)"],
        ),
        ({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule", "topologyKey": "zone"}]}, []),
    ],
)
def test_soft_terms_that_mode_choose_does_not_weigh_are_named(spec: dict[str, object], said: list[str]) -> None:
    assert soft_terms(pod(**spec)) == said
    assert (lost(pod(**spec)) == "") == (said == [])
