"""The scene of the fault tests with pods that ask for GPUs by claims, and with kube-controller-manager.

Pods in turn have a claim made from a template and one of their own that exists before them.
"""

from __future__ import annotations

import contextlib
import uuid

from e2e.api import ApiError, Json, wait_until
from e2e.audit import pods_of
from e2e.claim_audit import claim_faults, claimed_gpus, claims_of
from e2e.claim_objects import (
    CLAIMS,
    DRIVER,
    MILLI,
    SLICES,
    TEMPLATES,
    add_class,
    bare_node,
    claim_object,
    claiming_pod,
    slice_object,
    template_name,
    template_object,
)
from e2e.cluster import Cluster
from e2e.live_run import empty
from e2e.pod_watch import PODS
from e2e.scene import MODELS, NODES, TASKS, Scene
from wattpack.model.tasks import TaskClass

FREED_S = 60.0


class ClaimScene(Scene):
    own_devices = False

    def __init__(self, cluster: Cluster, name: str, **config: object) -> None:
        super().__init__(cluster, name, allocate_claims=True, **config)
        self._made = 0

    def create_nodes(self) -> None:
        add_class(self.api)
        for task in TASKS:
            if task.num_gpu:
                self.api.request("POST", TEMPLATES, template_object(task))
        names = [f"n{i:03d}" for i in range(NODES)]
        self.api.create_many("/api/v1/nodes", [bare_node(name, 64000, 262144) for name in names])
        self.api.create_many(SLICES, [slice_object(name, 4, MODELS[i % 2]) for i, name in enumerate(names)])

    def pod(self, name: str, task: TaskClass) -> Json:
        if not task.num_gpu:
            return claiming_pod(name, task)
        self._made += 1
        if self._made % 2:
            return claiming_pod(name, task, template=template_name(task))
        with contextlib.suppress(ApiError):  # it is there: the pod's creation was tried before
            self.api.create(CLAIMS, claim_object(name, task))
        return claiming_pod(name, task, claim=name)

    def faults(self) -> list[str]:
        return claim_faults(self.api)

    def gpus_held(self) -> float:
        return claimed_gpus(self.api)

    def sharing_pods(self, claim: str, count: int) -> list[str]:
        """Pods that use one claim of half a GPU; their names."""
        half = TaskClass(1000, 1024, 1, 500)
        self.api.create(CLAIMS, claim_object(claim, half))
        names = [f"{claim}-{i}" for i in range(count)]
        for name in names:
            self.api.create(PODS, claiming_pod(name, half, claim=claim))
        return names

    def rival_claims(self, count: int) -> list[Json]:
        """Claims of another allocator's pod, which waits for another scheduler."""
        pod = claiming_pod("rival", TaskClass(0, 0, 0, 0), scheduler="rival")
        self.rival = self.api.create(PODS, pod)
        self.deleted.add("rival")
        whole = TaskClass(0, 0, 1, 1000)
        return [self.api.create(CLAIMS, claim_object(f"rival-{i}", whole)) for i in range(count)]

    def allocate_for_rival(self, claim: Json, node: str, device: str) -> None:
        """Give the whole device to the rival's claim."""
        path = f"{CLAIMS}/{claim['metadata']['name']}"
        self.api.patch(path, {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}})
        result = {"request": "gpu", "driver": DRIVER, "pool": node, "device": device, "shareID": str(uuid.uuid4())}
        result["consumedCapacity"] = {MILLI: "1000"}
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        allocation = {"devices": {"results": [result]}, "nodeSelector": selector}
        user = {"resource": "pods", "name": "rival", "uid": self.rival["metadata"]["uid"]}
        self.api.patch(f"{path}/status", {"status": {"allocation": allocation, "reservedFor": [user]}})

    def empty(self) -> None:
        """Take everything away; on the way, claims without pods must be freed."""
        empty_claims(self.cluster)


def empty_claims(cluster: Cluster) -> None:
    """Take all pods, nodes, slices and claims away; no claim may stay allocated when its pods are gone."""
    api = cluster.admin
    empty(cluster)
    assert pods_of(api) == []
    wait_until(lambda: claimed_gpus(api) == 0, FREED_S, f"claims without pods are freed: {claims_of(api)}")
    for kind in (CLAIMS, SLICES):
        for item in api.list(kind):
            api.request("DELETE", f"{kind}/{item['metadata']['name']}")
    wait_until(lambda: claims_of(api) == {}, FREED_S, "claims are gone")
