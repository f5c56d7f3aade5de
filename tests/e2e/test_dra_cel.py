"""CEL selectors of claims: our verdicts against those of a real kube-scheduler, on random selectors and devices.

A claim asks for all devices of one node that match, with admin access, so that nothing is used up: its allocation is
the verdict on each device. A selector that fails on one of them is an error of the whole claim, there and here.
"""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from e2e.api import THREADS, Json, wait_until
from e2e.cluster import Cluster
from e2e.nodes_and_pods import node_object, pod_object
from e2e.random_selectors import DRIVER, random_device, random_selector
from wattpack.kube.dra.cel import SelectorError, matches
from wattpack.kube.dra.inventory import Inventory
from wattpack.kube.dra.objects import CLAIM, CLASS
from wattpack.kube.dra.slice_objects import SLICE
from wattpack.kube.dra.wanted import alternatives_of
from wattpack.kube.objects import NODE
from wattpack.model.tasks import TaskClass

pytestmark = pytest.mark.e2e

COUNT, NODES, DEVICES = 320, 16, 3
RESOURCES = "/apis/resource.k8s.io/v1"
CLAIMS = f"{RESOURCES}/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"
REFUSED, ERROR = "the API server refuses it", "an error"


def slice_object(rng: random.Random, node: str) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpus"},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "nodeName": node,
            "devices": [random_device(rng, f"gpu-{i}") for i in range(DEVICES)],
        },
    }


def claim_object(name: str, expression: str) -> Json:
    exactly = {"deviceClassName": "any", "allocationMode": "All", "adminAccess": True}
    exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }


def claiming(name: str, node: str) -> Json:
    pod = pod_object(name, TaskClass(10, 10, 0, 0), "judge")
    by_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [by_name]}}
    pod["spec"] |= {
        "affinity": {"nodeAffinity": required},
        "resourceClaims": [{"name": "r", "resourceClaimName": name}],
    }
    return pod


def verdicts_of_kube_scheduler(cluster: Cluster, asked: dict[str, tuple[str, str]]) -> dict[str, object]:
    """By name: the devices that match, or that there was an error."""
    admin = cluster.admin
    with ThreadPoolExecutor(THREADS) as threads:
        made = threads.map(lambda name: admin.request("POST", CLAIMS, claim_object(name, asked[name][1])), asked)
        answers = dict(zip(asked, made, strict=True))
    assert {status for status, _ in answers.values()} == {201, 422}
    found: dict[str, object] = {name: REFUSED for name, (status, _) in answers.items() if status == 422}
    admin.create_many(PODS, [claiming(name, node) for name, (node, _) in asked.items() if name not in found])

    def decided() -> bool:
        for pod in admin.list(PODS):
            name = pod["metadata"]["name"]
            conditions = {one["type"]: one for one in pod["status"].get("conditions", [])}
            failed = conditions.get("PodScheduled", {}).get("message", "")
            if pod["spec"].get("nodeName"):
                found[name] = "bound"
            elif failed:
                found[name] = ERROR if "CEL runtime error" in failed else ()
        return len(found) == len(asked)

    wait_until(decided, 180, f"kube-scheduler has decided on {len(asked)} pods", every_s=1)
    for claim in admin.list(CLAIMS):
        if allocation := claim.get("status", {}).get("allocation"):
            found[claim["metadata"]["name"]] = tuple(one["device"] for one in allocation["devices"]["results"])
    return found


def own_verdict(node: Json, expression: str, inventory: Inventory) -> object:
    claim = CLAIM.decode(json.dumps(claim_object("c", expression)))
    ask = alternatives_of({"c": claim.spec}, inventory.classes)[0].asks[0]
    found = inventory.matching(ask, NODE.decode(json.dumps(node)))
    if found.fault:
        return REFUSED if "does not compile" in found.fault or "characters of CEL" in found.fault else ERROR
    return tuple(one.id.device for one in found.devices)


def test_selectors_have_the_verdicts_of_kube_scheduler(cluster: Cluster) -> None:
    rng = random.Random(20)
    nodes = {f"n{i:02d}": node_object(f"n{i:02d}", 64000, 256000, 0, "") for i in range(NODES)}
    slices = {name: slice_object(rng, name) for name in nodes}
    asked = {f"c{i:03d}": (f"n{i % NODES:02d}", random_selector(rng)) for i in range(COUNT)}
    device_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}}
    admin = cluster.admin
    admin.patch("/api/v1/namespaces/default", {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}})
    for path, objects in (
        ("/api/v1/nodes", list(nodes.values())),
        (f"{RESOURCES}/resourceslices", list(slices.values())),
        (f"{RESOURCES}/deviceclasses", [device_class]),
    ):
        admin.create_many(path, objects)
    cluster.start_scheduler(extender_url=None, scheduler_name="judge", backoff_s=(60, 60))
    theirs = verdicts_of_kube_scheduler(cluster, asked)
    inventory = Inventory(
        [SLICE.decode(json.dumps(one)) for one in slices.values()], [CLASS.decode(json.dumps(device_class))]
    )
    ours = {name: own_verdict(nodes[node], expression, inventory) for name, (node, expression) in asked.items()}
    kinds = [verdict if isinstance(verdict, str) else bool(verdict) for verdict in theirs.values()]
    assert min(kinds.count(kind) for kind in (REFUSED, ERROR, True, False)) >= 10  # every kind of verdict is there
    differ = {asked[name]: (theirs[name], ours[name]) for name in asked if theirs[name] != ours[name]}
    assert differ == {}


def test_a_selector_that_fails_names_the_device() -> None:
    rng = random.Random(0)
    offered = next(iter(Inventory([SLICE.decode(json.dumps(slice_object(rng, "n")))]).pools.devices.values()))
    with pytest.raises(SelectorError, match=rf"on device {DRIVER}/n/gpu-0: Key not found"):
        matches('device.attributes["other"].x == 1', offered)
