"""A node and devices for a pod with claims."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kube.dra.made import GPU_CLASS, NIC_CLASS, attributes, device, exactly, make_claim, make_slice, shared
from kube.made import make_node, make_pod
from wattpack.kube.choose_devices import Chosen, choose_devices
from wattpack.kube.config import Config
from wattpack.kube.dra.claims import Claims
from wattpack.kube.dra.objects import ResourceClaim, Result
from wattpack.kube.dra.slice_objects import ResourceSlice
from wattpack.kube.dra.taken import Taken
from wattpack.kube.facts import NodeFacts, PodFacts
from wattpack.kube.read_pod import read_cpu_and_memory

MODEL = "A100-SXM4-80GB"


def choose(slices: Iterable[ResourceSlice], claim: ResourceClaim, taken: Taken | None = None, **more: Any) -> Chosen:
    """For a pod with this claim, on nodes (n1 and n2) with as many GPUs as their slices offer."""
    claims = Claims(slices, [claim], [GPU_CLASS, NIC_CLASS])
    nodes = {name: make_node(name) for name in more.pop("names", ("n1", "n2"))}
    cluster = Config(policy=more.pop("policy", "fgd")).cluster()
    for name in nodes:
        gpus = claims.inventory.gpus(name).count
        cluster.update_node(NodeFacts(name, 96000, 400000, gpus, MODEL if gpus else "", ""))
    pod = make_pod("p", spec={"resourceClaims": [{"name": "c", "resourceClaimName": claim.metadata.name}]})
    facts = PodFacts("u", "team", "p", read_cpu_and_memory(pod), "", None, False, "", "")
    found = choose_devices(
        cluster, facts, claims.demands(pod, list(nodes.values())), nodes, taken or Taken(), claims.inventory
    )
    assert found is not None
    return found


def devices(found: Chosen) -> list[str]:
    assert found.allocated is not None
    return [f"{result.pool}/{result.device}" for results in found.allocated.values() for result in results]


def test_only_gpus_that_match_the_selectors_are_chosen() -> None:
    gpus = [device(f"gpu-{i}", said=attributes(speed=i)) for i in range(4)]
    found = choose([make_slice(*gpus)], make_claim(exactly("r", 'device.attributes["gpu.example.com"].speed == 2')))
    assert devices(found) == ["n1/gpu-2"]
    assert found.decision.gpus == (2,)


def test_a_tainted_gpu_is_chosen_only_by_a_claim_that_tolerates_it() -> None:
    taint = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
    slices = [make_slice(device("gpu-0", taints=[taint]))]
    claim = make_claim(exactly("r", tolerations=[{"key": "broken", "operator": "Exists"}]))
    assert devices(choose(slices, claim)) == ["n1/gpu-0"]
    both = [make_slice(device("gpu-0", taints=[taint]), device("gpu-1"))]
    assert devices(choose(both, make_claim(exactly()))) == ["n1/gpu-1"]


def test_whole_gpus_that_a_constraint_wants_together_come_from_one_group() -> None:
    gpus = [device(f"gpu-{i}", said=attributes(root=f"pci{i % 2}")) for i in range(4)]
    rule = {"matchAttribute": "gpu.example.com/root"}
    found = choose([make_slice(*gpus)], make_claim(exactly(count=2), constraints=[rule]))
    assert devices(found) in (["n1/gpu-0", "n1/gpu-2"], ["n1/gpu-1", "n1/gpu-3"])


def test_a_request_that_matches_fewer_gpus_than_another_gets_one_of_them() -> None:
    """FGD takes the first GPUs, of which none is fast; kube-scheduler finds gpu-2 for the second request."""
    gpus = [device(f"gpu-{i}", said=attributes(fast=i == 2)) for i in range(3)]
    fast = exactly("fast", 'device.attributes["gpu.example.com"].fast')
    assert devices(choose([make_slice(*gpus)], make_claim(exactly("any"), fast))) == ["n1/gpu-0", "n1/gpu-2"]


def test_gpus_that_a_constraint_wants_apart_come_from_different_groups() -> None:
    gpus = [device(f"gpu-{i}", said=attributes(root=f"pci{i // 2}")) for i in range(4)]
    rule = {"distinctAttribute": "gpu.example.com/root"}
    found = choose([make_slice(*gpus)], make_claim(exactly(count=2), constraints=[rule]))
    assert devices(found) == ["n1/gpu-0", "n1/gpu-2"]


def test_a_node_is_found_behind_many_whose_devices_are_taken() -> None:
    """The engine does not know of other devices: 40 nodes have a free GPU, one of them a free network card too."""
    names = [f"n{i:02d}" for i in range(40)]
    nics = [make_slice(device("nic-0", kind="nic"), node=name, driver="nic.example.com") for name in names]
    taken = Taken()
    for name in names[:-1]:
        taken.hold(name, [Result("r", "nic.example.com", name, "nic-0")])
    claim = make_claim(exactly(), exactly("n", deviceClassName="nic"))
    found = choose([*nics, *(make_slice(device(), node=name) for name in names)], claim, taken, names=names)
    assert devices(found) == ["n39/gpu-0", "n39/nic-0"]


def test_the_first_alternative_that_fits_anywhere_is_taken() -> None:
    options = [
        {"name": "big", "deviceClassName": "gpu", "count": 4},
        {"name": "small", "deviceClassName": "gpu", "count": 2},
    ]
    slices = [make_slice(*(device(f"gpu-{i}") for i in range(2)), node=node) for node in ("n1", "n2")]
    found = choose(slices, make_claim({"name": "r", "firstAvailable": options}))
    assert found.pod.task.num_gpu == 2
    assert found.allocated is not None
    assert {result.request for result in found.allocated["c"]} == {"r/small"}


def test_a_share_goes_where_devices_have_it_although_the_engine_does_not_know_yet() -> None:
    taken = Taken()
    taken.hold(
        "x",
        [Result("r", "gpu.example.com", "n1", "gpu-0", share="s", consumed_capacity={"milli": "900"})],
    )
    found = choose([make_slice(shared("gpu-0"), shared("gpu-1"))], make_claim(exactly(milli="500")), taken)
    assert devices(found) == ["n1/gpu-1"]


def test_a_claim_that_no_node_can_serve_now_is_refused_with_the_reason() -> None:
    taken = Taken()
    taken.hold("x", [Result("r", "gpu.example.com", "n1", "gpu-0")])
    found = choose([make_slice(device("gpu-0"))], make_claim(exactly()), taken)
    assert (found.allocated, found.decision.node) == (None, "")
    assert "claim c, request r: node n1" in found.why_not
