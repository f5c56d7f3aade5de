"""Which devices are GPUs, and their numbers on the node."""

from __future__ import annotations

from typing import Any

from kube.dra.made import attributes, device, make_slice, shared
from wattpack.kube.dra.gpus import NodeGpus, gpus_of
from wattpack.kube.dra.pools import Pools


def gpus(*devices: dict[str, Any], **more: Any) -> NodeGpus:
    pools = Pools([make_slice(*devices, **more)])
    return gpus_of(pools.by_node["n1"], pools)


def parts(found: NodeGpus) -> dict[str, tuple[int, int]]:
    return {one.device: (part.gpu, part.milli) for one, part in found.parts.items()}


def mig(name: str, profile: str, gpu: int, memory: str, *places: int) -> dict[str, Any]:
    """A MIG device that consumes memory and places of its GPU's counter set."""
    counters = {"memory": {"value": memory}} | {f"slice-{place}": {"value": "1"} for place in places}
    said = attributes(type="mig", profile=profile) if profile else {}
    return device(name, said=said, consumesCounters=[{"counterSet": f"gpu-{gpu}", "counters": counters}])


def counter_set(gpu: int) -> dict[str, Any]:
    places = {f"slice-{place}": {"value": "1"} for place in range(8)}
    return {"name": f"gpu-{gpu}", "counters": {"memory": {"value": "80Gi"}} | places}


def test_gpus_are_numbered_by_the_numbers_in_their_names_without_gaps() -> None:
    assert parts(gpus(device("gpu-10"), device("gpu-2"), device("gpu-0"))) == {
        "gpu-0": (0, 1000),
        "gpu-2": (1, 1000),
        "gpu-10": (2, 1000),
    }
    assert parts(gpus(device("left"), device("right"))) == {"left": (0, 1000), "right": (1, 1000)}


def test_mig_devices_have_the_number_of_their_gpu_and_sevenths_of_it() -> None:
    found = gpus(
        mig("gpu-0", "", 0, "80Gi", *range(8)),
        mig("gpu-0-mig-3g.40gb-0", "3g.40gb", 0, "40Gi", 0, 1, 2, 3),
        mig("gpu-1-mig-1g.10gb-0", "1g.10gb", 1, "10Gi", 0),
        sharedCounters=[counter_set(0), counter_set(1)],
    )
    assert (found.count, parts(found)) == (
        2,
        {"gpu-0": (0, 1000), "gpu-0-mig-3g.40gb-0": (0, 428), "gpu-1-mig-1g.10gb-0": (1, 142)},
    )


def test_a_part_without_a_profile_is_the_largest_part_of_a_counter() -> None:
    found = gpus(mig("part-0", "", 0, "20Gi", 0, 1), sharedCounters=[counter_set(0)])
    assert parts(found) == {"part-0": (0, 250)}  # 20 of 80 GiB; counters of 1 are places


def test_mig_devices_that_name_their_parent_are_on_its_number() -> None:
    whole = device("gpu-5", said=attributes(uuid="GPU-a"))
    cut = device("mig-9", said=attributes(type="mig", profile="1g.10gb", uuid="MIG-b", parentUUID="GPU-a"))
    assert parts(gpus(whole, cut)) == {"gpu-5": (0, 1000), "mig-9": (0, 142)}


def test_devices_of_other_types_and_drivers_are_not_gpus() -> None:
    assert gpus(device("channel-0", kind="channel")).count == 0
    bare = {"name": "eth0", "attributes": {}}
    assert gpus(bare, driver="nic.example.com").count == 0
    assert gpus(bare).count == 1  # by the driver's name alone


def test_products_and_memory_are_told() -> None:
    found = gpus(device("gpu-0", capacity={"memory": "80Gi"}), shared("gpu-1"))
    assert (found.products, found.memory_mib) == (("NVIDIA A100-SXM4-80GB",), 81920)
