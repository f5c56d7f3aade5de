"""Resource claims of an API server in memory: versions, merge patches, conflicts, and answers that get lost."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import msgspec

from kube.api_history import Table
from kube.api_in_memory import InMemory, started
from wattpack.kube.client import ApiError
from wattpack.kube.dra.objects import CLAIM
from wattpack.kube.objects import Pod
from wattpack.kube.service import Service

ROOT = "/apis/resource.k8s.io/v1"
DRIVER = "gpu.nvidia.com"


class ClaimsInMemory(InMemory):
    """`before` is called with (method, path) of every write to a claim, and may change things or raise ApiError."""

    def __init__(self) -> None:
        super().__init__()
        self.claims: dict[str, dict[str, Any]] = {}
        self.slices: dict[str, dict[str, Any]] = {}
        self.classes: dict[str, dict[str, Any]] = {}
        self.templates: dict[str, dict[str, Any]] = {}
        self.version = 100
        self.before: Callable[[str, str], None] = lambda method, path: None
        self.lost_writes = 0  # so many writes to claims are made, and their answers lost
        self.written: list[str] = []
        self.shown: Callable[[dict[str, Any]], None] = lambda claim: None  # the watch

    def tables(self) -> dict[str, Table]:
        devices = {"resourceclaims": self.claims, "resourceslices": self.slices, "deviceclasses": self.classes}
        return {**super().tables(), **devices}

    async def call(self, method: str, path: str, body: Any = None, timeout_s: float | None = None) -> bytes:
        plain = path.partition("?")[0]
        if not plain.startswith(ROOT):
            return await super().call(method, path, body, timeout_s)
        kind = plain.split("/")[-1]
        if "/resourceclaimtemplates/" in plain:
            if kind not in self.templates:
                raise ApiError(404, f"resourceclaimtemplates {kind!r} not found")
            return json.dumps(self.templates[kind]).encode()
        if kind in self.tables():
            return await self.answer_list(kind, path.partition("?")[2])
        name, status = (kind, False) if kind != "status" else (plain.split("/")[-2], True)
        if method == "PATCH":
            self.before(method, plain)
        if name not in self.claims:
            raise ApiError(404, f"resourceclaims {name!r} not found")
        if method == "GET":
            return json.dumps(self.claims[name]).encode()
        return self.patch(name, status, json.loads(msgspec.json.encode(body)))

    def patch(self, name: str, status: bool, body: dict[str, Any]) -> bytes:
        claim = copy.deepcopy(self.claims[name])
        for key in ("uid", "resourceVersion"):
            if body["metadata"].pop(key) != claim["metadata"][key]:
                raise ApiError(409, f"the object has been modified: {key}")
        if status:
            merge(claim.setdefault("status", {}), body["status"])
        else:
            merge(claim["metadata"], body["metadata"])
        self.written.append(f"{name}{'/status' if status else ''}")
        self.put(claim)
        if self.lost_writes:
            self.lost_writes -= 1
            raise ApiError(0, "connection reset")
        return json.dumps(claim).encode()

    def put(self, claim: dict[str, Any]) -> None:
        """A claim as somebody wrote it."""
        self.version += 1
        claim["metadata"]["resourceVersion"] = str(self.version)
        self.claims[claim["metadata"]["name"]] = claim
        self.shown(claim)

    # ---- what a test sets up

    def add_node(self, name: str, gpus: int = 2, model: str = "T4") -> None:
        """A node whose GPUs are in a slice."""
        self.nodes[name] = {
            "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "32", "memory": "64Gi"}},
        }
        policy = {"default": "1000", "validRange": {"min": "1", "max": "1000", "step": "1"}}
        devices = [
            {
                "name": f"gpu-{number}",
                "allowMultipleAllocations": True,
                "attributes": {"type": {"string": "gpu"}, "productName": {"string": model}},
                "capacity": {"milli": {"value": "1000", "requestPolicy": policy}},
            }
            for number in range(gpus)
        ]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
        self.slices[name] = {"metadata": {"name": name, "resourceVersion": "1"}, "spec": spec}
        expression = f'device.driver == "{DRIVER}"'
        self.classes[DRIVER] = {
            "metadata": {"name": DRIVER, "resourceVersion": "1"},
            "spec": {"selectors": [{"cel": {"expression": expression}}]},
        }

    def add_claiming_pod(self, name: str, claim: str = "", template: str = "", node: str = "") -> Pod:
        """A pod that uses a claim, its own by default, or one made from a template."""
        self.add_pod(name, node=node)
        pod = self.pods[name]
        pod["metadata"]["annotations"] = {}
        source = {"resourceClaimTemplateName": template} if template else {"resourceClaimName": claim or name}
        pod["spec"]["resourceClaims"] = [{"name": "gpu", **source}]
        return self.pod(name)

    def allocated(self, claim: str) -> tuple[str, list[str], list[str]]:
        """Pool, devices and pods of an allocated claim; empty if it is not."""
        status = self.claims[claim].get("status", {})
        results = status.get("allocation", {}).get("devices", {}).get("results", [])
        pods = [one["name"] for one in status.get("reservedFor", [])]
        return (results[0]["pool"] if results else "", [one["device"] for one in results], pods)

    def allocate(self, claim: str, node: str, device: str, pod: str, milli: int = 1000) -> None:
        """Another allocator gives a device to a claim."""
        result = {"request": "gpu", "driver": DRIVER, "pool": node, "device": device}
        result |= {"shareID": f"share-{claim}", "consumedCapacity": {"milli": str(milli)}}
        user = {"resource": "pods", "name": pod, "uid": f"uid-{pod}"}
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]}
        self.put({**copy.deepcopy(self.claims[claim]), "status": status})

    def add_template(self, name: str, milli: int = 500) -> None:
        made = self.add_claim(name, milli)
        del self.claims[name]
        self.templates[name] = {"metadata": {"name": name, "namespace": "default"}, "spec": {"spec": made["spec"]}}

    def add_claim(self, name: str, milli: int = 500, count: int = 1) -> dict[str, Any]:
        exactly: dict[str, Any] = {"deviceClassName": DRIVER, "count": count}
        if milli < 1000:
            exactly["capacity"] = {"requests": {"milli": str(milli)}}
        metadata = {"name": name, "namespace": "default", "uid": f"uid-claim-{name}"}
        self.put({"metadata": metadata, "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}})
        return self.claims[name]


async def serving(client: ClaimsInMemory, **config: Any) -> Service:
    """A service in sync that allocates claims; what is written from now on is shown by its watch at once."""
    service = await started(client, allocate_claims=True, **config)
    watch = service.claims[-1]
    client.shown = lambda claim: watch.show(CLAIM.decode(json.dumps(claim)))
    return service


def two_nodes_with_slices(*pods: str) -> ClaimsInMemory:
    """Nodes `a` and `b` with two T4 each in slices, and pods with claims of half a GPU."""
    client = ClaimsInMemory()
    for name in ("a", "b"):
        client.add_node(name)
    for pod in pods:
        client.add_claim(pod)
        client.add_claiming_pod(pod)
    return client


def merge(target: dict[str, Any], change: dict[str, Any]) -> None:
    """A JSON merge patch."""
    for key, value in change.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = value
