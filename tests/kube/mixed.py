"""A mixed cluster: pods in three dialects, a cordoned and a tainted node, MIG, claims, accelerators nobody reads.

Every GPU node has two or four T4 or A100. `TAKEN` lists the nodes where no task with GPUs may go.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kube.made import Json, node_json, pod_json

GPU = "nvidia.com/gpu"
A100 = "NVIDIA-A100-SXM4-80GB"
HAMI = [{"devmem": 81920, "health": True} for _ in range(2)]
DRIVER = "gpu.nvidia.com"
TOLERANT = {"tolerations": [{"key": "team", "operator": "Exists"}]}
TAKEN = {"cordoned", "mig", "claims", "gaudi", "intel", "tpus"}


def nodes() -> list[Json]:
    cordoned = node_json("cordoned", gpus=4)
    cordoned["spec"]["unschedulable"] = True
    return [
        node_json("plain", gpus=4),
        node_json("alibaba", gpus=4, **{"alibabacloud.com/gpu-count": "4"}),
        node_json("hami", gpus=20, model=A100, annotations={"hami.io/node-nvidia-register": json.dumps(HAMI)}),
        cordoned,
        node_json("tainted", gpus=4, taint="team"),
        node_json("mig", model=A100, labels={"nvidia.com/gpu.product": A100}, **{"nvidia.com/mig-1g.10gb": "14"}),
        node_json("claims", labels={"nvidia.com/gpu.product": A100}),
        node_json("gaudi", gpus=2, **{"habana.ai/gaudi": "8"}),
        node_json("intel", gpus=2, **{"gpu.intel.com/i915": "8"}),
        node_json("tpus", gpus=2),
    ]


def slice_json(node: str, gpus: int) -> Json:
    attributes = {"type": {"string": "gpu"}, "productName": {"string": "NVIDIA A100-SXM4-80GB"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-slice"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{i}", "attributes": attributes} for i in range(gpus)],
        },
    }


def claim_json(name: str, pod: str, *devices: str, node: str = "claims", driver: str = DRIVER, **more: Any) -> Json:
    results = [{"request": "r", "driver": driver, "pool": node, "device": device} | more for device in devices]
    status: Json = {"reservedFor": [{"resource": "pods", "name": pod, "uid": f"uid-team-{pod}"}]}
    if devices:
        status["allocation"] = {"devices": {"results": results}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "team"},
        "status": status,
    }


def claiming(name: str, claim: str, node: str = "claims", **more: Any) -> Json:
    return pod_json(name, node=node, spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": claim}]}, **more)


def share(milli: int, index: int | None = None) -> Json:
    said = {"alibabacloud.com/gpu-milli": str(milli)}
    return said | ({} if index is None else {"alibabacloud.com/gpu-index": str(index)})


def pods() -> list[Json]:
    return [
        pod_json("whole", node="plain", cpu="8", **{GPU: "1"}),
        pod_json("lone", node="tainted", cpu="8", spec=TOLERANT, **{GPU: "1"}),
        pod_json("ali", node="alibaba", annotations=share(300, 1)),
        pod_json("kai", node="plain", annotations={"gpu-fraction": "0.5"}),
        pod_json("hami", node="hami", **{GPU: "1", "nvidia.com/gpumem": "40960"}),
        pod_json("old", node="cordoned", **{GPU: "2"}),
        pod_json("slice", node="mig", **{"nvidia.com/mig-1g.10gb": "1"}),
        claiming("claimed", "c1"),
        pod_json("habana", node="gaudi", cpu="16", **{"habana.ai/gaudi": "2"}),
        pod_json("oneapi", node="intel", **{"gpu.intel.com/i915": "1"}),
        pod_json("tpus", node="tpus", **{"example.com/tpu": "1"}),
        pod_json("waits", **{GPU: "2"}),
        pod_json("waits-too", annotations=share(500)),
    ]


def others() -> list[Json]:
    return [slice_json("claims", 4), claim_json("c1", "claimed", "gpu-1", "gpu-2")]


def write_mixed(folder: Path) -> str:
    path = folder / "mixed.json"
    path.write_text(json.dumps({"kind": "List", "items": [*nodes(), *pods(), *others()]}))
    return str(path)
