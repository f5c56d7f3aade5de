"""GPUs of a node that can serve a demand now."""

from __future__ import annotations

from typing import Any

from kube.dra.made import DRIVER, attributes, device, exactly, make_inventory, make_slice, wanted
from kube.made import make_node
from wattpack.kube.dra.allocate import allocate
from wattpack.kube.dra.demand import demands_of
from wattpack.kube.dra.objects import Result
from wattpack.kube.dra.slice_objects import ResourceSlice
from wattpack.kube.dra.taken import Taken
from wattpack.kube.dra.usable import usable_now

NODE = make_node("n1")


def usable(slices: list[ResourceSlice], taken: Taken, *requests: Any, **more: Any) -> int:
    inventory = make_inventory(*slices)
    demand = demands_of([wanted(*requests, **more)], inventory, [NODE])[0]
    return usable_now(demand, NODE, taken, inventory)


def mig(gpu: int, place: int, slices: int = 1) -> dict[str, Any]:
    """A MIG device on some of the 4 places of a GPU."""
    counters = {f"slice-{i}": {"value": "1"} for i in range(place, place + slices)}
    said = attributes(type="mig", profile=f"{slices}g.10gb")
    return device(
        f"gpu-{gpu}-{slices}g-{place}", said=said, consumesCounters=[{"counterSet": f"g{gpu}", "counters": counters}]
    )


def counters(*gpus: int) -> list[dict[str, Any]]:
    return [{"name": f"g{gpu}", "counters": {f"slice-{i}": {"value": "1"} for i in range(4)}} for gpu in gpus]


def test_mig_devices_have_places_and_free_milli_is_not_enough() -> None:
    devices = [one for gpu in (0, 1) for one in (mig(gpu, 0), mig(gpu, 1), mig(gpu, 0, 2), mig(gpu, 2, 2))]
    slices = [make_slice(*devices, sharedCounters=counters(0, 1))]
    taken = Taken()
    taken.hold("a", [Result("r", DRIVER, "n1", "gpu-0-1g-1"), Result("r", DRIVER, "n1", "gpu-0-2g-2")])
    two = 'device.attributes["gpu.example.com"].profile == "2g.10gb"'
    assert usable(slices, taken, exactly("r", two)) == 0b10  # on GPU 0 place 0 is free, 2 places in a row are not
    one = 'device.attributes["gpu.example.com"].profile == "1g.10gb"'
    assert usable(slices, taken, exactly("r", one)) == 0b11


def test_of_several_groups_the_one_with_the_fewest_gpus_that_suffices() -> None:
    roots = ("a", "a", "a", "b", "b", "c")
    slices = [make_slice(*(device(f"gpu-{i}", said=attributes(root=root)) for i, root in enumerate(roots)))]
    rule = [{"matchAttribute": "gpu.example.com/root"}]
    assert usable(slices, Taken(), exactly(count=2), constraints=rule) == 0b011000
    taken = Taken()
    taken.hold("x", [Result("r", DRIVER, "n1", "gpu-3")])
    assert usable(slices, taken, exactly(count=2), constraints=rule) == 0b000111
    assert usable(slices, taken, exactly(count=4), constraints=rule) == 0


def test_gpus_must_be_different_where_a_constraint_wants_it() -> None:
    roots = ("a", "a", "b", "c")
    inventory = make_inventory(make_slice(*(device(f"gpu-{i}", said=attributes(root=r)) for i, r in enumerate(roots))))
    three = wanted(exactly(count=3), constraints=[{"distinctAttribute": "gpu.example.com/root"}])
    found = allocate(three, NODE, 0b1111, Taken(), inventory)
    assert [result.device for result in found["c"]] == ["gpu-0", "gpu-2", "gpu-3"]
