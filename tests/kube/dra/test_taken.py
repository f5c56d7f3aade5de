"""What allocated claims take."""

from __future__ import annotations

from kube.dra.made import DRIVER, device, make_slice
from wattpack.kube.dra.objects import Result
from wattpack.kube.dra.pools import DeviceId, Pools
from wattpack.kube.dra.taken import Taken
from wattpack.kube.quantity import NANO

GPU = DeviceId(DRIVER, "n1", "gpu-0")


def share(milli: str) -> Result:
    return Result("r", *GPU, share=f"s{milli}", consumed_capacity={"milli": milli})


def test_a_holder_that_holds_again_replaces_what_it_held() -> None:
    taken = Taken()
    taken.hold("a", [share("300")])
    taken.hold("a", [share("500")])
    taken.hold("b", [share("200")])
    assert taken.shares(GPU) == {"milli": 700 * NANO}
    taken.free("a")
    assert taken.shares(GPU) == {"milli": 200 * NANO}
    taken.free("b")
    assert not taken.in_use(GPU)
    assert taken.shares(GPU) == {}


def test_a_device_that_two_claims_hold_is_free_when_both_are_gone() -> None:
    taken = Taken()
    for holder in ("a", "b"):  # somebody allocated it twice
        taken.hold(holder, [Result("r", *GPU)])
    taken.free("a")
    assert taken.whole(GPU)
    taken.free("b")
    assert not taken.whole(GPU)


def test_admin_access_takes_nothing() -> None:
    taken = Taken()
    taken.hold("a", [Result("r", *GPU, admin_access=True)])
    assert not taken.in_use(GPU)


def test_parts_of_a_gpu_take_its_counters() -> None:
    def part(name: str, memory: str) -> dict[str, object]:
        return device(name, consumesCounters=[{"counterSet": "g", "counters": {"memory": {"value": memory}}}])

    counters = [{"name": "g", "counters": {"memory": {"value": "80Gi"}}}]
    pools = Pools([make_slice(part("whole", "80Gi"), part("a", "40Gi"), part("b", "40Gi"), sharedCounters=counters)])
    whole, a, b = pools.by_node["n1"]
    taken = Taken()
    taken.hold("x", [Result("r", *a.id)])
    assert not taken.fits_counters(whole, pools)
    assert taken.fits_counters(b, pools)
    taken.hold("y", [Result("r", *b.id)])
    taken.free("x")
    assert taken.fits_counters(a, pools)
    assert not taken.fits_counters(whole, pools)


def test_a_device_is_overbooked_when_claims_hold_more_of_it_than_there_is() -> None:
    counters = [{"name": "g", "counters": {"memory": {"value": "80Gi"}}}]
    uses = [{"counterSet": "g", "counters": {"memory": {"value": "80Gi"}}}]
    parts = [device(name, consumesCounters=uses) for name in ("a", "b")]
    capacity = {"milli": {"value": "1000"}}
    pools = Pools(
        [make_slice(device("gpu-0", allowMultipleAllocations=True, capacity=capacity), *parts, sharedCounters=counters)]
    )
    shared, a, b = pools.by_node["n1"]
    taken = Taken()
    taken.hold("x", [share("600")])
    taken.hold("y", [share("400")])
    assert not taken.overbooked(shared, pools)
    taken.hold("y", [share("401")])
    assert taken.overbooked(shared, pools)
    taken.hold("y", [Result("r", *GPU)])  # the whole device beside a share
    assert taken.overbooked(shared, pools)
    taken.hold("z", [Result("r", *a.id)])
    assert not taken.overbooked(a, pools)
    taken.hold("w", [Result("r", *b.id)])  # another part, and the counters are exhausted twice
    assert taken.overbooked(a, pools)
