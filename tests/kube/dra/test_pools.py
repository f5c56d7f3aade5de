"""Devices by pool and by node: generations, slices that are missing, and which nodes reach what."""

from __future__ import annotations

from typing import Any

from kube.dra.made import device, make_slice
from kube.made import make_node
from wattpack.kube.dra.pools import DeviceId, Pools

IN_ZONE_A = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}


def names(pools: Pools, node: str = "n1", **labels: str) -> list[str]:
    return [one.id.device for one in pools.on_node(make_node(node, labels=labels)).devices]


def faults(pools: Pools, node: str = "n1") -> tuple[str, ...]:
    return pools.on_node(make_node(node)).faults


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    old, new = make_slice(device("old"), name="a"), make_slice(device("new"), name="b", generation=2)
    assert names(Pools([new, old])) == ["new"]


def test_a_pool_with_a_slice_missing_offers_nothing_and_says_so() -> None:
    half = Pools([make_slice(device("gpu-0"), name="a", slices=2)])
    assert (names(half), faults(half)) == (
        [],
        ("pool n1 of gpu.example.com is being updated: 1 of 2 slices are there",),
    )
    assert names(Pools([make_slice(device(f"gpu-{i}"), name=f"s{i}", slices=2) for i in (1, 0)])) == ["gpu-0", "gpu-1"]


def test_a_pool_with_two_devices_of_one_name_is_not_used() -> None:
    assert faults(Pools([make_slice(device("gpu-0"), device("gpu-0"))])) == (
        "pool n1 of gpu.example.com has two devices of one name",
    )


def test_a_pool_with_a_counter_that_nobody_defines_is_not_used() -> None:
    use = [{"counterSet": "s", "counters": {"memory": {"value": "1Gi"}}}]
    assert "consumes a counter" in faults(Pools([make_slice(device("gpu-0", consumesCounters=use))]))[0]


def test_a_node_reaches_its_own_devices_those_of_a_selector_and_those_of_all_nodes() -> None:
    def pool(name: str, **where: Any) -> Any:
        return make_slice(device(name), node="", pool=name, name=name, driver="nic.example.com", **where)

    pools = Pools([make_slice(device("own")), pool("zoned", nodeSelector=IN_ZONE_A), pool("everywhere", allNodes=True)])
    assert names(pools, "n1", zone="a") == ["own", "everywhere", "zoned"]  # by driver, then by pool
    assert names(pools, "n2", zone="b") == ["everywhere"]


def test_a_slice_may_select_nodes_device_by_device() -> None:
    devices = [device("a", nodeName="n1"), device("b", nodeName="n2"), device("c", allNodes=True)]
    pools = Pools([make_slice(*devices, node="", pool="p", perDeviceNodeSelection=True)])
    assert names(pools, "n1") == ["a", "c"]
    assert names(pools, "n2") == ["b", "c"]


def test_devices_that_wait_for_a_condition_come_last() -> None:
    slow = make_slice(device("slow", bindingConditions=["ready"]), pool="a", name="a")
    assert names(Pools([slow, make_slice(device("quick"), pool="b", name="b")])) == ["quick", "slow"]


def test_devices_of_a_pool_that_is_being_updated_are_still_known_by_name() -> None:
    pools = Pools([make_slice(device("gpu-0"), slices=2)])
    assert pools.devices[DeviceId("gpu.example.com", "n1", "gpu-0")].node == "n1"


def test_a_pool_with_an_amount_that_cannot_be_read_is_not_used() -> None:
    broken = [{"name": "s", "counters": {"memory": {"value": "much"}}}]
    assert faults(Pools([make_slice(device("gpu-0"), sharedCounters=broken)])) == (
        "pool n1 of gpu.example.com: quantity 'much', expected one like 500m, 2 or 1.5Gi",
    )
