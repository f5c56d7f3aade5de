"""Resource claims of an API server in memory: versions, merge patches, conflicts, and answers that get lost."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import msgspec

from kube.api_in_memory import InMemory
from wattpack.kube.client import ApiError

ROOT = "/apis/resource.k8s.io/v1"
DRIVER = "gpu.nvidia.com"


class ClaimsInMemory(InMemory):
    """`before` is called with (method, path) of every write to a claim, and may change things or raise ApiError."""

    def __init__(self) -> None:
        super().__init__()
        self.claims: dict[str, dict[str, Any]] = {}
        self.slices: dict[str, dict[str, Any]] = {}
        self.classes: dict[str, dict[str, Any]] = {}
        self.version = 100
        self.before: Callable[[str, str], None] = lambda method, path: None
        self.lost_writes = 0  # so many writes to claims are made, and their answers lost
        self.written: list[str] = []
        self.shown: Callable[[dict[str, Any]], None] = lambda claim: None  # the watch

    async def call(self, method: str, path: str, body: Any = None, timeout_s: float | None = None) -> bytes:
        plain = path.partition("?")[0]
        if not plain.startswith(ROOT):
            return await super().call(method, path, body, timeout_s)
        kind = plain.split("/")[-1]
        tables = {"resourceclaims": self.claims, "resourceslices": self.slices, "deviceclasses": self.classes}
        if kind in tables:
            metadata = {"resourceVersion": str(self.version)}
            return json.dumps({"metadata": metadata, "items": list(tables[kind].values())}).encode()
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

    def add_claim(self, name: str, milli: int = 500, count: int = 1) -> dict[str, Any]:
        exactly: dict[str, Any] = {"deviceClassName": DRIVER, "count": count}
        if milli < 1000:
            exactly["capacity"] = {"requests": {"milli": str(milli)}}
        metadata = {"name": name, "namespace": "default", "uid": f"uid-claim-{name}"}
        self.put({"metadata": metadata, "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}})
        return self.claims[name]


def merge(target: dict[str, Any], change: dict[str, Any]) -> None:
    """A JSON merge patch."""
    for key, value in change.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = value
