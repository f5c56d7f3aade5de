"""Claims as tasks: whole GPUs or a share of one, on the nodes that can serve them."""

from __future__ import annotations

from typing import Any

import pytest

from kube.dra.made import attributes, device, exactly, make_inventory, make_slice, shared, wanted
from kube.made import make_node
from wattpack.kube.dra.demand import Demand, demands_of
from wattpack.kube.dra.slice_objects import ResourceSlice
from wattpack.kube.objects import Unreadable

NODES = [make_node("n1"), make_node("n2")]
TWO, FOUR = (make_slice(*(device(f"gpu-{i}") for i in range(n)), node=node) for n, node in ((2, "n1"), (4, "n2")))
NIC = make_slice(device("nic-0", kind="nic"), node="n2", driver="nic.example.com")


def demands(slices: list[ResourceSlice], *requests: Any, **more: Any) -> list[Demand]:
    return demands_of([wanted(*requests, **more)], make_inventory(*slices), NODES)


def words(found: list[Demand]) -> list[tuple[int, int, dict[str, int]]]:
    return [(one.num_gpu, one.gpu_milli, one.usable) for one in found]


def test_a_count_is_a_number_of_whole_gpus_on_nodes_that_have_as_many() -> None:
    assert words(demands([TWO, FOUR], exactly(count=2))) == [(2, 1000, {"n1": 0b11, "n2": 0b1111})]
    assert words(demands([TWO, FOUR], exactly(count=3))) == [(3, 1000, {"n2": 0b1111})]


def test_several_requests_for_whole_gpus_add_up() -> None:
    assert words(demands([TWO, FOUR], exactly("a"), exactly("b", count=2))) == [(3, 1000, {"n2": 0b1111})]


def test_all_devices_are_another_number_on_other_nodes_the_smaller_first() -> None:
    assert words(demands([TWO, FOUR], exactly(allocationMode="All"))) == [
        (2, 1000, {"n1": 0b11}),
        (4, 1000, {"n2": 0b1111}),
    ]


def test_a_capacity_request_is_a_share_of_one_gpu() -> None:
    assert words(demands([make_slice(shared("gpu-0"))], exactly(milli="455"))) == [(1, 460, {"n1": 1})]
    assert words(demands([make_slice(shared("gpu-0"))], exactly())) == [(1, 1000, {"n1": 1})]  # the default is all


def test_an_amount_of_memory_is_the_share_of_the_smallest_gpu_that_serves_it() -> None:
    def gpu(memory: str) -> dict[str, Any]:
        return device("gpu-0", allowMultipleAllocations=True, capacity={"memory": memory})

    slices = [make_slice(gpu("40Gi"), node="n1"), make_slice(gpu("80Gi"), node="n2")]
    asked = exactly(capacity={"requests": {"memory": "20Gi"}})
    assert words(demands(slices, asked))[0] == (1, 500, {"n1": 1, "n2": 1})
    assert words(demands(slices, exactly(capacity={"requests": {"memory": "60Gi"}}))) == [(1, 750, {"n2": 1})]


def test_other_devices_limit_the_nodes_and_take_no_gpus() -> None:
    assert words(demands([TWO, FOUR, NIC], exactly(), exactly("n", deviceClassName="nic"))) == [
        (1, 1000, {"n2": 0b1111})
    ]
    assert words(demands([TWO, NIC], exactly("n", deviceClassName="nic"))) == [(0, 0, {"n2": 0})]


def test_only_gpus_that_match_are_usable() -> None:
    gpus = make_slice(*(device(f"gpu-{i}", said=attributes(odd=i % 2 == 1)) for i in range(4)))
    assert words(demands([gpus], exactly("r", 'device.attributes["gpu.example.com"].odd'))) == [
        (1, 1000, {"n1": 0b1010})
    ]


def test_admin_access_asks_for_no_gpus() -> None:
    assert words(demands([TWO], exactly(adminAccess=True, allocationMode="All"))) == [(0, 0, {"n1": 0})]


@pytest.mark.parametrize(
    ("requests", "why"),
    [
        ([exactly("r", milli="300", count=2)], "claim c, request r: parts of several GPUs at once"),
        ([exactly("a", milli="300"), exactly("b", milli="300")], "claim c, request b: parts of several GPUs at once"),
        ([exactly("a", milli="300"), exactly("b")], "claim c, request b: a part of a GPU beside whole GPUs"),
        ([exactly("r", "false")], "claim c, request r: no device of any node serves it"),
        ([exactly("r", 'device.attributes["x"].y')], "claim c, request r: CEL"),
        ([exactly("a", count=2), exactly("b", count=2)], "claim c, request a: no node has all the devices"),
    ],
)
def test_what_our_model_does_not_have_is_refused_with_claim_and_request(requests: list[Any], why: str) -> None:
    slices = [make_slice(shared("gpu-0"), shared("gpu-1"), shared("gpu-2"))]
    if "no node" in why:
        slices = [TWO]
    with pytest.raises(Unreadable) as fault:
        demands(slices, *requests)
    assert str(fault.value).startswith(why)


@pytest.mark.parametrize("mode", ["ExactCount", "All"])
def test_devices_with_binding_conditions_and_gpus_of_several_nodes_are_refused_by_name(mode: str) -> None:
    waits = make_slice(device("gpu-0", bindingConditions=["ready"]))
    remote = make_slice(device("gpu-0"), node="", pool="fabric", allNodes=True)
    for slices, why in (
        ([waits], r"n1/gpu-0: binding conditions \(ready\) are not supported"),
        ([remote], "fabric/gpu-0: a GPU that several nodes can reach is not supported"),
    ):
        with pytest.raises(Unreadable, match=why):
            demands(slices, exactly(allocationMode=mode))


def test_all_devices_cannot_be_had_where_one_has_a_taint_that_is_not_tolerated() -> None:
    """As kube-scheduler decides; a number of devices is served by the others."""
    taint = {"key": "broken", "effect": "NoSchedule"}
    slices = [make_slice(device("gpu-0", taints=[taint]), device("gpu-1")), FOUR]
    assert words(demands(slices, exactly())) == [(1, 1000, {"n1": 0b10, "n2": 0b1111})]
    assert words(demands(slices, exactly(allocationMode="All"))) == [(4, 1000, {"n2": 0b1111})]
    with pytest.raises(Unreadable, match="n1/gpu-0: the request does not tolerate its taint broken:NoSchedule"):
        demands(slices[:1], exactly(allocationMode="All"))
    lenient = exactly(allocationMode="All", tolerations=[{"key": "broken", "operator": "Exists"}])
    assert words(demands(slices[:1], lenient)) == [(2, 1000, {"n1": 0b11})]


def test_where_the_largest_share_has_no_room_smaller_ones_follow_on_the_devices_that_give_them() -> None:
    """10 GiB are 625 milli of 16 GiB, 250 of 40 and 125 of 80."""
    sizes = {"n1": ("16Gi", "80Gi"), "n2": ("40Gi",)}
    slices = [
        make_slice(
            *(
                device(f"gpu-{i}", allowMultipleAllocations=True, capacity={"memory": size})
                for i, size in enumerate(each)
            ),
            node=node,
        )
        for node, each in sizes.items()
    ]
    found = demands(slices, exactly(capacity={"requests": {"memory": "10Gi"}}))
    assert words(found) == [
        (1, 625, {"n1": 0b11, "n2": 0b1}),
        (1, 250, {"n1": 0b10, "n2": 0b1}),
        (1, 125, {"n1": 0b10}),
    ]


def test_a_class_that_gpus_and_other_devices_serve_alike_is_refused() -> None:
    mixed = make_slice(device("gpu-0"), device("channel-0", kind="channel"))
    with pytest.raises(Unreadable, match="GPUs and other devices serve it alike"):
        demands([mixed], exactly())
