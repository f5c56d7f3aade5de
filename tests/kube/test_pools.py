"""Nodes of a cluster in pools: a task may go to a pool exactly if its constraints allow the nodes there."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from wattpack.kube.constraints import Constraints, allows, constraints_of
from wattpack.kube.objects import Node, Pod
from wattpack.kube.pools import TOO_MANY, Pools, in_pools
from wattpack.model.pools import HELD, MAX_POOLS, Pool


def node(name: str, taints: list[dict[str, str]] | None = None, **labels: str) -> Node:
    said = {"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints or []}}
    return msgspec.convert(said, Node)


def wants(**spec: Any) -> Constraints:
    return constraints_of(msgspec.convert({"spec": spec}, Pod))


def affinity(key: str, operator: str, *values: str, field: str = "matchExpressions") -> dict[str, Any]:
    term = {field: [{"key": key, "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


TAINT = [{"key": "gpu", "value": "", "effect": "NoSchedule"}]
TOLERATES = [{"key": "gpu", "operator": "Exists"}]


def takes(pools: Pools, constraints: Constraints, with_gpu: bool = True) -> list[str]:
    """The nodes that take a task of these constraints, by the words in the files."""
    spec = pools.spec[constraints]
    return [name for name in pools.name if Pool(pools.name[name], pools.only[name]).takes(spec, with_gpu)]


def test_without_constraints_and_taints_there_are_no_pools() -> None:
    pools = in_pools([node("a", zone="x"), node("b", zone="y")], {}, [wants()])
    assert (set(pools.name.values()), set(pools.only.values()), pools.spec[wants()]) == ({""}, {""}, "")


def test_nodes_that_a_constraint_tells_apart_are_in_two_pools() -> None:
    chooses = wants(nodeSelector={"zone": "x"})
    pools = in_pools([node("a", zone="x"), node("b", zone="y"), node("c", zone="z")], {}, [wants(), chooses])
    assert pools.name["b"] == pools.name["c"] != pools.name["a"]
    assert (takes(pools, chooses), takes(pools, wants())) == (["a"], ["a", "b", "c"])


def test_a_tainted_node_takes_only_tasks_that_tolerate_it() -> None:
    tolerant, plain = wants(tolerations=TOLERATES), wants()
    pools = in_pools([node("a"), node("t", TAINT)], {}, [tolerant, plain])
    assert (takes(pools, tolerant), takes(pools, plain)) == (["a", "t"], ["a"])
    assert pools.spec[plain] == ""
    assert not Pool(pools.name["t"], pools.only["t"]).takes("", False)  # nor a task of another trace


def test_a_closed_node_is_closed_to_those_that_tolerate_everything_too() -> None:
    all_of_it = wants(tolerations=[{"operator": "Exists"}])
    nodes = [node("a"), node("cordoned"), node("unknown", TAINT)]
    pools = in_pools(nodes, {"cordoned": "none", "unknown": "cpu"}, [all_of_it])
    assert takes(pools, all_of_it) == ["a"]
    assert takes(pools, all_of_it, with_gpu=False) == ["a", "unknown"]


def test_a_task_that_no_node_takes_is_held() -> None:
    nowhere = wants(nodeSelector={"zone": "moon"})
    assert in_pools([node("a", zone="x")], {}, [nowhere]).spec[nowhere] == HELD


def test_more_pools_than_there_can_be_leave_tasks_for_one_node_where_they_are() -> None:
    """Each of 100 nodes is named by one task: only the two zones remain pools."""
    nodes = [node(f"n{i}", zone="xy"[i % 2]) for i in range(100)]
    own = [wants(affinity=affinity("metadata.name", "In", f"n{i}", field="matchFields")) for i in range(100)]
    zone = wants(nodeSelector={"zone": "x"})
    pools = in_pools(nodes, {}, [*own, zone])
    assert {pools.spec[constraints] for constraints in own} == {HELD}
    assert takes(pools, zone) == [f"n{i}" for i in range(0, 100, 2)]
    assert pools.closed == {}


def test_the_smallest_of_too_many_pools_are_closed_and_named() -> None:
    nodes = [node(f"n{i}", shelf=str(i // 2)) for i in range(200)] + [node(f"z{i}", shelf="z") for i in range(5)]
    shelves = [wants(nodeSelector={"shelf": str(i)}) for i in range(100)]
    pools = in_pools(nodes, {}, [*shelves, wants()])
    assert len({(pools.name[name], pools.only[name]) for name in pools.name}) == MAX_POOLS
    assert set(pools.closed.values()) == {TOO_MANY}
    assert len(pools.closed) == 205 - 5 - 2 * (MAX_POOLS - 2)
    assert takes(pools, wants()) == [name for name in pools.name if name not in pools.closed]


@pytest.mark.parametrize("seed", range(20))
def test_random_tasks_may_go_exactly_where_their_constraints_allow(seed: int) -> None:
    rng = random.Random(seed)
    nodes = []
    for i in range(rng.randint(1, 30)):
        labels = {key: rng.choice("123") for key in "ab" if rng.random() < 0.8}
        taints = [{"key": rng.choice("xy"), "value": "", "effect": rng.choice(["NoSchedule", "PreferNoSchedule"])}]
        nodes.append(node(f"n{i}", taints if rng.random() < 0.4 else [], **labels))
    wanted = []
    for _ in range(12):
        spec: dict[str, Any] = {}
        if rng.random() < 0.4:
            spec["nodeSelector"] = {rng.choice("ab"): rng.choice("123")}
        if rng.random() < 0.5:
            operator = rng.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
            values = [] if "xist" in operator else [rng.choice("0123")]
            spec["affinity"] = affinity(rng.choice("ab"), operator, *values)
        if rng.random() < 0.5:
            spec["tolerations"] = [{"key": rng.choice("xy"), "operator": "Exists"}]
        wanted.append(wants(**spec))
    only = {one.metadata.name: rng.choice(["", "", "cpu", "none"]) for one in nodes}
    pools = in_pools(nodes, only, wanted)
    for constraints in wanted:
        for with_gpu in (False, True):
            open_to = {"": True, "cpu": not with_gpu, "none": False}
            allowed = [
                one.metadata.name for one in nodes if allows(constraints, one) and open_to[only[one.metadata.name]]
            ]
            assert takes(pools, constraints, with_gpu) == allowed
