"""Nodes and pods as the apiserver would write them, for tests: a case stays a line."""

from __future__ import annotations

import json
from typing import Any

from wattpack.kube.objects import NODE, POD, Node, Pod

Json = dict[str, Any]


def node_json(
    name: str = "node-a",
    gpus: int = 0,
    model: str = "Tesla-T4",
    cpu: str = "96",
    memory: str = "384Gi",
    labels: Json | None = None,
    annotations: Json | None = None,
    taint: str = "",
    **resources: Any,
) -> Json:
    """`resources` are further allocatable ones: `_` is kept, so give odd names with `**{...}`."""
    allocatable: Json = {"cpu": cpu, "memory": memory, "pods": "110"} | resources
    said: Json = {"kubernetes.io/hostname": name}
    if gpus:
        allocatable["nvidia.com/gpu"] = str(gpus)
        said["nvidia.com/gpu.product"] = model
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": said | (labels or {}), "annotations": annotations or {}},
        "spec": {"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {},
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }


def container(
    cpu: str = "1", memory: str = "1Gi", always: bool = False, limits: Json | None = None, **devices: Any
) -> Json:
    """Devices are limits: the apiserver takes them in no other way, and fills in the requests."""
    resources: Json = {"requests": {"cpu": cpu, "memory": memory}, "limits": devices | (limits or {})}
    return {"name": "c", "image": "i", "resources": resources} | ({"restartPolicy": "Always"} if always else {})


def pod_json(
    name: str = "pod-a",
    node: str = "",
    namespace: str = "team",
    annotations: Json | None = None,
    containers: list[Json] | None = None,
    phase: str = "Running",
    created: str = "2026-01-05T10:00:00Z",
    owner: str = "",
    spec: Json | None = None,
    **resources: Any,
) -> Json:
    """One container of 1 vCPU and 1 GiB that asks for `resources` too, unless `containers` are given."""
    body: Json = {"containers": containers or [container(**resources)], "schedulerName": "default-scheduler"}
    metadata: Json = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    metadata |= {"annotations": annotations or {}, "creationTimestamp": created}
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": owner, "name": "x", "uid": "y"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": body | ({"nodeName": node} if node else {}) | (spec or {}),
        "status": {"phase": phase if node else "Pending"},
    }


def make_node(*given: Any, **more: Any) -> Node:
    return NODE.decode(json.dumps(node_json(*given, **more)))


def make_pod(*given: Any, **more: Any) -> Pod:
    return POD.decode(json.dumps(pod_json(*given, **more)))
