"""A small cluster as `kubectl get nodes,pods -A -o json` prints it: two kinds of GPU nodes, what real ones hold."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from kube.made import Json, node_json, pod_json

GPU = "nvidia.com/gpu"


def share(milli: int, index: int | None = None) -> Json:
    said = {"alibabacloud.com/gpu-milli": str(milli), "alibabacloud.com/gpu-count": "1"}
    return said | ({} if index is None else {"alibabacloud.com/gpu-index": str(index)})


def nodes() -> list[Json]:
    return [
        node_json("gpu-b", gpus=4, model="NVIDIA-A100-SXM4-80GB", cpu="64", memory="256Gi"),
        node_json("gpu-a", gpus=4, model="NVIDIA-A100-SXM4-80GB", cpu="64", memory="256Gi"),
        node_json("gpu-t4", gpus=2, model="Tesla-T4", cpu="16", memory="64Gi"),
        node_json("cpu-1", cpu="32", memory="128Gi"),
        node_json("odd", gpus=8, model="NVIDIA-GeForce-GTX-1080"),
        node_json("master", taint="node-role.kubernetes.io/control-plane"),
    ]


def pods() -> list[Json]:
    daemons = [
        pod_json(f"agent-{node}", node=node, namespace="kube-system", owner="DaemonSet", cpu="500m")
        for node in ("gpu-a", "gpu-b", "gpu-t4", "cpu-1", "master")
    ]
    return [
        *daemons,
        pod_json("train-1", node="gpu-a", cpu="16", created="2026-01-05T10:00:00Z", **{GPU: "2"}),
        pod_json("train-2", node="gpu-b", cpu="8", created="2026-01-05T10:01:00Z", **{GPU: "1"}),
        pod_json("serve-1", node="gpu-b", annotations=share(300, 2), created="2026-01-05T10:02:00Z"),
        pod_json("serve-2", node="gpu-t4", annotations=share(300), created="2026-01-05T10:03:00Z"),
        pod_json("serve-3", node="gpu-t4", annotations=share(300, 1), created="2026-01-05T10:04:00Z"),
        pod_json("serve-4", node="cpu-1", annotations=share(300, 0), created="2026-01-05T10:05:00Z"),  # no GPU there
        pod_json("web-1", node="cpu-1", cpu="4", created="2026-01-05T10:06:00Z"),
        pod_json("waits", created="2026-01-05T10:07:00Z", **{GPU: "8"}),
        pod_json("done", node="gpu-a", phase="Succeeded", **{GPU: "4"}),
        pod_json("bad", annotations={"alibabacloud.com/gpu-milli": "lots"}),
        pod_json("two-halves", annotations=share(500) | {"alibabacloud.com/gpu-count": "2"}),
        pod_json("on-odd", node="odd", **{GPU: "1"}),
    ]


def write_cluster(folder: Path) -> str:
    path = folder / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [*nodes(), *pods()], "metadata": {}}))
    return str(path)


def rows(path: Path) -> list[dict[str, str]]:
    """Of a file that `wattpack import` wrote."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
