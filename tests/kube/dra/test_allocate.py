"""Devices for claims on one node."""

from __future__ import annotations

from typing import Any

import pytest

from kube.dra.made import attributes, device, exactly, make_inventory, make_slice, shared, wanted
from kube.made import make_node
from wattpack.kube.dra.allocate import NotAllocatableError, allocate
from wattpack.kube.dra.objects import Result
from wattpack.kube.dra.taken import Taken

NODE = make_node("n1")
WHOLE = make_slice(*(device(f"gpu-{i}") for i in range(4)))
SHARES = make_slice(*(shared(f"gpu-{i}") for i in range(2)))
NICS = make_slice(
    *(device(f"nic-{i}", kind="nic", said=attributes(root=f"pci{i}")) for i in range(2)), driver="nic.example.com"
)


def devices(found: dict[str, list[Result]]) -> list[str]:
    return [result.device for results in found.values() for result in results]


def holding(*names: str, **more: Any) -> Taken:
    taken = Taken()
    taken.hold("other", [Result("r", "gpu.example.com", "n1", name, **more) for name in names])
    return taken


def test_the_gpus_that_the_engine_chose_are_the_devices_of_the_claim() -> None:
    found = allocate(wanted(exactly(count=2)), NODE, (1, 3), Taken(), make_inventory(WHOLE))
    assert found == {
        "c": [Result("r", "gpu.example.com", "n1", "gpu-1"), Result("r", "gpu.example.com", "n1", "gpu-3")]
    }


def test_a_share_has_an_id_and_what_it_consumes() -> None:
    found = allocate(wanted(exactly(milli="455")), NODE, (1,), Taken(), make_inventory(SHARES), lambda: "share-1")
    # 455 is not a step of 10 above 10: 460 is.
    assert found["c"] == [
        Result("r", "gpu.example.com", "n1", "gpu-1", share="share-1", consumed_capacity={"milli": "460"})
    ]


def test_shares_of_one_device_never_sum_up_to_more_than_its_capacity() -> None:
    taken = holding("gpu-0", share="s", consumed_capacity={"milli": "600"})
    inventory = make_inventory(SHARES)
    assert devices(allocate(wanted(exactly(milli="400")), NODE, (0,), taken, inventory)) == ["gpu-0"]
    with pytest.raises(NotAllocatableError, match="claim c, request r: node n1: the devices that serve it are taken"):
        allocate(wanted(exactly(milli="410")), NODE, (0,), taken, inventory)


def test_a_device_that_another_claim_holds_is_not_given_out_again() -> None:
    with pytest.raises(NotAllocatableError):
        allocate(wanted(exactly()), NODE, (2,), holding("gpu-2"), make_inventory(WHOLE))


def test_nothing_stays_taken_by_a_search() -> None:
    taken = Taken()
    allocate(wanted(exactly(count=4)), NODE, (0, 1, 2, 3), taken, make_inventory(WHOLE))
    assert taken.held == {}
    assert not taken.in_use(next(iter(make_inventory(WHOLE).pools.devices)))


def test_other_devices_are_the_first_that_fit_and_a_constraint_holds_across_them() -> None:
    gpus = make_slice(*(device(f"gpu-{i}", said=attributes(**{"nic.example.com__root": f"pci{i}"})) for i in range(2)))
    both = wanted(
        exactly("g"),
        exactly("n", deviceClassName="nic"),
        constraints=[{"requests": ["g", "n"], "matchAttribute": "nic.example.com/root"}],
    )
    inventory = make_inventory(gpus, NICS)
    assert devices(allocate(both, NODE, (1,), Taken(), inventory)) == ["gpu-1", "nic-1"]
    taken = Taken()
    taken.hold("x", [Result("n", "nic.example.com", "n1", "nic-1")])
    with pytest.raises(NotAllocatableError, match="request n"):
        allocate(both, NODE, (1,), taken, inventory)


def test_admin_access_takes_nothing_and_sees_all_devices() -> None:
    looking = wanted(exactly(allocationMode="All", adminAccess=True))
    found = allocate(looking, NODE, (), holding("gpu-0", "gpu-1"), make_inventory(WHOLE))
    assert [(result.device, result.admin_access) for result in found["c"]] == [(f"gpu-{i}", True) for i in range(4)]
