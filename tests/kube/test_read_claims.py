"""Pods with claims in a snapshot, and in questions about a cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube.dra.made import DRIVER, GPU_CLASS, attributes, device, exactly, make_claim, make_slice, shared
from kube.made import make_node, make_pod
from wattpack.kube.config import Config
from wattpack.kube.dra.claims import Claims
from wattpack.kube.dra.objects import TEMPLATE, ResourceClaim
from wattpack.kube.dra.slice_objects import ResourceSlice
from wattpack.kube.objects import Pod, Unreadable
from wattpack.kube.questions import fit
from wattpack.kube.reading import Reading
from wattpack.kube.snapshot import Snapshot, take_snapshot
from wattpack.kube.view import View
from wattpack.model.pools import HELD

CPU_ONLY = make_node("cpu")
NODES = [make_node("n1"), make_node("n2"), CPU_ONLY]
WHOLE = [make_slice(*(device(f"gpu-{i}") for i in range(4)), node=node) for node in ("n1", "n2")]
SHARES = [make_slice(*(shared(f"gpu-{i}") for i in range(2)), node=node) for node in ("n1", "n2")]


def claiming(name: str = "p", claim: str = "c", node: str = "", **more: Any) -> Pod:
    return make_pod(name, node=node, spec={"resourceClaims": [{"name": "c", "resourceClaimName": claim}]}, **more)


def allocated(name: str, *devices: str, pool: str = "n1", reserved: int = 1, **more: Any) -> ResourceClaim:
    request = exactly(count=len(devices)) if not more else exactly(milli=more["consumedCapacity"]["milli"])
    results = [{"request": "r", "driver": DRIVER, "pool": pool, "device": one, **more} for one in devices]
    by_name = {"key": "metadata.name", "operator": "In", "values": [pool]}
    where = {"nodeSelectorTerms": [{"matchFields": [by_name]}]}
    pods = [{"resource": "pods", "name": f"p{i}", "uid": f"u{i}"} for i in range(reserved)]
    return make_claim(
        request, name=name, allocation={"devices": {"results": results}, "nodeSelector": where}, reservedFor=pods
    )


def snapshot(slices: list[ResourceSlice], claims: list[ResourceClaim], *pods: Pod) -> Snapshot:
    return take_snapshot(NODES, pods, Reading(), Claims(slices, claims, [GPU_CLASS]))


def tasks(found: Snapshot) -> dict[str, tuple[int, int, tuple[int, ...], str]]:
    return {
        one.pod.name: (one.pod.task.num_gpu, one.pod.task.gpu_milli, one.gpus, one.pod.task.pool_spec)
        for one in found.tasks
    }


def test_nodes_have_the_gpus_of_their_slices_and_are_open() -> None:
    found = snapshot(WHOLE, [])
    assert {node.name: (node.gpus, node.model) for node in found.nodes} == {
        "cpu": (0, ""),
        "n1": (4, "A100-SXM4-80GB"),
        "n2": (4, "A100-SXM4-80GB"),
    }
    assert {access.only for access in found.access.values()} == {""}


def test_a_running_pod_holds_its_devices_and_may_go_to_any_node_that_serves_its_claim() -> None:
    found = snapshot(WHOLE, [allocated("c", "gpu-1", "gpu-3")], claiming(node="n1"))
    gpus_and_pools = tasks(found)["p"]
    assert gpus_and_pools[:3] == (2, 1000, (1, 3))
    pools = set(gpus_and_pools[3].split("|"))
    assert {name for name, access in found.access.items() if access.pool in pools} == {"n1", "n2"}
    assert found.dialects == {"dra": 1}


def test_a_pending_pod_is_the_task_of_its_claim_or_of_its_template() -> None:
    template = {"metadata": {"name": "t", "namespace": "team"}, "spec": {"spec": {}}}
    template["spec"] = {"spec": {"devices": {"requests": [exactly(milli="460")]}}}
    from_template = make_pod("q", spec={"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}]})
    claims = Claims(SHARES, [make_claim(exactly(milli="250"))], [GPU_CLASS], [TEMPLATE.decode(json.dumps(template))])
    found = take_snapshot(NODES, [claiming(), from_template], Reading(), claims)
    assert {name: task[:2] for name, task in tasks(found).items()} == {"p": (1, 250), "q": (1, 460)}


def test_a_claim_that_two_pods_share_keeps_both_where_they_are() -> None:
    found = snapshot(WHOLE, [allocated("c", "gpu-0", reserved=2)], claiming("p0", node="n1"), claiming("p1", node="n1"))
    assert tasks(found) == {"p0": (1, 1000, (0,), HELD), "p1": (0, 0, (), HELD)}


def test_a_pod_whose_claim_is_allocated_already_goes_where_its_devices_are() -> None:
    found = snapshot(WHOLE, [allocated("c", "gpu-0", pool="n2")], claiming("late"))
    pool = tasks(found)["late"][3]
    assert {name for name, access in found.access.items() if access.pool in pool.split("|")} == {"n2"}


def test_a_request_that_no_device_serves_is_left_out_with_claim_and_request() -> None:
    found = snapshot(WHOLE, [make_claim(exactly("r", 'device.driver == "other"'))], claiming())
    assert found.left_out == {"claim c, request r: no device of any node serves it": ["pod team/p"]}


def test_a_running_pod_whose_request_fails_elsewhere_stays() -> None:
    found = snapshot(WHOLE, [allocated("c", "gpu-0")], claiming(node="n1"))
    assert tasks(found)["p"][3] != HELD
    without_class = take_snapshot(NODES, [claiming(node="n1")], Reading(), Claims(WHOLE, [allocated("c", "gpu-0")]))
    assert tasks(without_class)["p"] == (1, 1000, (0,), HELD)


def view_of(slices: list[ResourceSlice], claims: list[ResourceClaim], *pods: Pod, dialect: str = "all") -> View:
    view = View(Config(policy="fgd", dialect=dialect), Claims(slices, claims, [GPU_CLASS]))
    view.replace_nodes(NODES)
    view.replace_pods(list(pods))
    return view


def test_fit_names_the_node_and_the_devices() -> None:
    claims = [allocated("held", "gpu-0"), make_claim(exactly(count=4), name="c")]
    view = view_of(WHOLE, claims, claiming("runs", "held", node="n1"))
    assert view.pods["uid-team-runs"].gpus == (0,)
    decision = fit(view, claiming())
    assert decision is not None
    assert (decision.node, decision.gpus) == ("n2", (0, 1, 2, 3))
    assert decision.note.startswith("devices: n2/gpu-0, n2/gpu-1, n2/gpu-2, n2/gpu-3\n")


def test_fit_says_which_request_found_no_device() -> None:
    slices = [make_slice(device("gpu-0", said=attributes(size=1)))]
    with pytest.raises(Unreadable, match="pod team/p: claim c, request r: no device of any node serves it"):
        fit(view_of(slices, [make_claim(exactly("r", 'device.attributes["gpu.example.com"].size > 1'))]), claiming())


def test_pods_without_claims_do_not_go_to_gpus_of_slices() -> None:
    decision = fit(view_of(WHOLE, []), make_pod("plain", **{"nvidia.com/gpu": "1"}))
    assert decision is not None
    assert decision.node == ""


def test_without_the_dialect_a_pod_with_gpu_claims_closes_its_node() -> None:
    view = view_of(WHOLE, [allocated("c", "gpu-0")], claiming(node="n1"), dialect="nvidia")
    assert view.blocking == {"uid-team-p": "n1"}
