"""Whether a claim can be served: our verdicts against kube-scheduler's, on random devices and claims.

Every case has two nodes with the same devices, of which the same are held before. kube-scheduler's own allocator gets
the claim on one of them, `wattpack serve` the same claim on the other. Which devices they choose may differ; whether
there are any may not.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from e2e.api import Json, wait_until
from e2e.claim_objects import CLAIMS, CLASSES, SLICES
from e2e.cluster import Cluster
from e2e.nodes_and_pods import node_object, pod_object
from e2e.pod_watch import PODS
from e2e.random_claims import GPU, NIC, Case, held_on, random_case, slices_of
from e2e.service import Service
from wattpack.model.tasks import TaskClass

pytestmark = pytest.mark.e2e

COUNT = 120
THEIRS, OURS = "theirs", "ours"


def device_class(driver: str) -> Json:
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    spec = {"selectors": [selector]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": driver[:3]},
        "spec": spec,
    }


def claim_object(name: str, spec: Json) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def claiming_pod(name: str, scheduler: str) -> Json:
    """On the node of its own name, with the claim of its own name."""
    pod = pod_object(name, TaskClass(10, 10, 0, 0), scheduler)
    by_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [by_name]}}
    pod["spec"] |= {
        "affinity": {"nodeAffinity": required},
        "resourceClaims": [{"name": "claim", "resourceClaimName": name}],
    }
    return pod


def create(cluster: Cluster, cases: dict[str, Case]) -> None:
    """Nodes, slices, claims that hold devices, and for each node a claim and a pod that wants it."""
    admin = cluster.admin
    admin.create_many(CLASSES, [device_class(driver) for driver in (GPU, NIC)])
    admin.create_many("/api/v1/nodes", [node_object(name, 64000, 256000, 0, "") for name in cases])
    admin.create_many(SLICES, [one for name, case in cases.items() for one in slices_of(case, name)])
    held = {name: held_on(case, name) for name, case in cases.items() if case.held}
    request = {"name": "held", "exactly": {"deviceClassName": "gpu"}}
    admin.create_many(CLAIMS, [claim_object(f"held-{name}", {"devices": {"requests": [request]}}) for name in held])
    for name, results in held.items():
        path = f"{CLAIMS}/held-{name}"
        admin.patch(path, {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}})
        users = [{"resource": "pods", "name": "somebody", "uid": f"uid-{name}"}]
        allocation = {"devices": {"results": results}}
        admin.patch(f"{path}/status", {"status": {"allocation": allocation, "reservedFor": users}})
    admin.create_many(CLAIMS, [claim_object(name, case.spec) for name, case in cases.items() if case.spec])


def verdicts(cluster: Cluster) -> dict[str, str]:
    """By pod: "" if it is bound, else why not; pods that nobody has decided on are missing."""
    found = {}
    for pod in cluster.admin.list(PODS):
        conditions = {one["type"]: one for one in pod["status"].get("conditions", [])}
        failed = conditions.get("PodScheduled", {}).get("message", "")
        if pod["spec"].get("nodeName") or failed:
            found[pod["metadata"]["name"]] = "" if pod["spec"].get("nodeName") else failed
    return found


def test_claims_are_served_where_kube_scheduler_serves_them(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(4)
    numbered = {f"{number:03d}": random_case(rng, number) for number in range(COUNT)}
    cases = {f"{whose}-{number}": case for number, case in numbered.items() for whose in (THEIRS, OURS)}
    create(cluster, cases)
    service = Service(
        cluster.processes, cluster.kubeconfig(), policy="fgd", target="default", dialect="all", allocate_claims=True
    ).start()
    cluster.start_scheduler("judge", extender_url=None, scheduler_name=THEIRS, backoff_s=(60, 60))
    cluster.start_scheduler(
        "ours", extender_url=service.url, scheduler_name=OURS, own_devices=False, backoff_s=(60, 60)
    )
    cluster.admin.create_many(PODS, [claiming_pod(name, name.partition("-")[0]) for name in cases])
    wait_until(lambda: len(verdicts(cluster)) == len(cases), 120, "all pods are decided", every_s=1)
    found = verdicts(cluster)
    assert "not there" not in " ".join(found.values())  # no verdict before the service saw the claim
    kinds: Counter[tuple[str, bool]] = Counter()
    differ = []
    for number, case in numbered.items():
        theirs, ours = found[f"{THEIRS}-{number}"], found[f"{OURS}-{number}"]
        kinds[case.kind, theirs == ""] += 1
        if (theirs == "") != (ours == ""):
            differ.append(f"{number} {case}\n  kube-scheduler: {theirs or 'bound'}\n  ours: {ours or 'bound'}")
    with capsys.disabled():
        print(f"\n{sorted(kinds.items())}")
    assert not differ, f"{len(differ)} of {COUNT} differ:\n" + "\n".join(differ[:8])
    assert len(kinds) == 8  # of each kind of claim, some fit and some do not
    assert min(kinds.values()) >= 5


def test_admin_access_takes_nothing_and_binding_conditions_are_refused_by_name(cluster: Cluster) -> None:
    """A claim holds all devices of a node; one with admin access gets all of them too."""
    admin = cluster.admin
    said = {"type": {"string": "gpu"}, "productName": {"string": "Tesla T4"}}
    waits = {"bindingConditions": ["attached"], "bindingFailureConditions": ["failed"]}
    devices = {"taken": [{"name": f"gpu-{i}", "attributes": said} for i in range(2)]}
    devices["waits"] = [{"name": "gpu-0", "attributes": said, **waits}]
    cases = {name: Case(name, {GPU: own}, [], [], {}) for name, own in devices.items()}
    admin.patch("/api/v1/namespaces/default", {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}})
    create(cluster, cases)
    every = {"deviceClassName": "gpu", "allocationMode": "All"}
    asked = {"first": every, "looks": {**every, "adminAccess": True}, "second": every}
    for name, exactly in asked.items():
        admin.create(CLAIMS, claim_object(name, {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}))
    service = Service(cluster.processes, cluster.kubeconfig(), policy="fgd", target="default", allocate_claims=True)
    service.start()
    cluster.start_scheduler(extender_url=service.url, scheduler_name=OURS, own_devices=False, backoff_s=(60, 60))
    for name in asked:
        pod = claiming_pod(name, OURS)
        pod["spec"]["affinity"] = claiming_pod("taken", OURS)["spec"]["affinity"]
        admin.create(PODS, pod)
        wait_until(lambda: name in verdicts(cluster), 30, f"{name} is decided")  # noqa: B023
    found = verdicts(cluster)
    assert (found["first"], found["looks"]) == ("", "")
    assert found["second"] != ""
    results = admin.get(f"{CLAIMS}/looks")["status"]["allocation"]["devices"]["results"]
    assert [(one["device"], one["adminAccess"]) for one in results] == [("gpu-0", True), ("gpu-1", True)]

    assert "bindingConditions" in admin.get(f"{SLICES}/waits-gpu-0")["spec"]["devices"][0]
    for path in (f"{SLICES}/taken-gpu-0", f"{PODS}/second"):
        admin.delete(path)
    admin.create(CLAIMS, claim_object("attached", {"devices": {"requests": [{"name": "gpu", "exactly": every}]}}))
    pod = claiming_pod("attached", OURS)
    del pod["spec"]["affinity"]
    admin.create(PODS, pod)
    wait_until(lambda: "attached" in verdicts(cluster), 30, "the pod is decided")
    assert "waits-gpu/gpu-0: binding conditions (attached) are not supported" in verdicts(cluster)["attached"]
