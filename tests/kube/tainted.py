"""A cluster as operators have them: 60 nodes, every GPU node tainted, MIG, HAMi shares, gangs, pods that wait.

3 control-plane and 9 CPU nodes; 16 nodes of eight H100, 16 of four L40S, 8 of eight A100 cut by MIG and 8 of four T4
shared by HAMi, all with the taint `nvidia.com/gpu`. Kubelets keep a part of the CPU: 31,850 of 32,000 milli-vCPU,
95,000 of 96,000, 127,610 of 128,000. The numbers of the pods are in the functions that make them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kube.made import Json, node_json, pod_json

GPU = "nvidia.com/gpu"
H100, L40S, A100, T4 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-L40S", "NVIDIA-A100-SXM4-80GB", "Tesla-T4"
TOLERATES: Json = {"tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]}
HAMI = json.dumps([{"devmem": 15360, "health": True} for _ in range(4)])
MIG_SLICE = "nvidia.com/mig-1g.10gb"


def tainted_node(
    name: str, cpu: str, capacity: str, taint: str, pool: str, labels: Json | None = None, **more: Any
) -> Json:
    """A node whose system keeps `capacity` less `cpu` for itself."""
    node = node_json(name, cpu=cpu, taint=taint, labels={"pool": pool, **(labels or {})}, **more)
    node["status"]["capacity"] = {**node["status"]["allocatable"], "cpu": capacity}
    return node


def nodes() -> list[Json]:
    control = "node-role.kubernetes.io/control-plane"
    register = {"hami.io/node-nvidia-register": HAMI}
    cut = {"labels": {"nvidia.com/gpu.product": A100, "nvidia.com/mig.strategy": "mixed"}, MIG_SLICE: "56"}
    return [
        *(tainted_node(f"control-{i}", "3920m", "4", control, "control") for i in range(3)),
        *(tainted_node(f"cpu-{i}", "31850m", "32", "", "web") for i in range(9)),
        *(tainted_node(f"h100-{i:02}", "127610m", "128", GPU, "train", gpus=8, model=H100) for i in range(16)),
        *(tainted_node(f"l40s-{i:02}", "95", "96", GPU, "serve", gpus=4, model=L40S) for i in range(16)),
        *(tainted_node(f"mig-{i}", "127610m", "128", GPU, "slices", **cut) for i in range(8)),
        *(
            tainted_node(f"hami-{i}", "31850m", "32", GPU, "shares", gpus=40, model=T4, annotations=register)
            for i in range(8)
        ),
    ]


def to(pool: str) -> Json:
    return {**TOLERATES, "nodeSelector": {"pool": pool}}


def daemons() -> list[Json]:
    """120 pods of two DaemonSets: half a vCPU on every node."""
    return [
        pod_json(f"{name}-{node['metadata']['name']}", node=node["metadata"]["name"], owner="DaemonSet", cpu="250m")
        for name in ("agent", "exporter")
        for node in nodes()
    ]


def gangs() -> list[Json]:
    """Three gangs of four whole H100 nodes' pods each: of Volcano, of coscheduling and of KAI; 12 pods, 96 GPUs."""
    words = (
        ("volcano", {"annotations": {"scheduling.k8s.io/group-name": "volcano"}}, "volcano"),
        ("cosched", {"labels": {"scheduling.x-k8s.io/pod-group": "cosched"}}, "default-scheduler"),
        ("kai", {"annotations": {"pod-group-name": "kai"}}, "kai-scheduler"),
    )
    made = []
    for place, (name, said, scheduler) in enumerate(words):
        for i in range(4):
            spec = {**to("train"), "schedulerName": scheduler, "priorityClassName": "training", "priority": 1000}
            pod = pod_json(
                f"{name}-{i}", node=f"h100-{4 * place + i:02}", owner="Job", cpu="96", spec=spec, **{GPU: "8"}
            )
            pod["metadata"] |= said
            made.append(pod)
    return made


def running() -> list[Json]:
    """20 services on L40S, 16 HAMi shares, 8 MIG slices, 18 web pods."""
    spread = {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule", "topologyKey": "zone"}]}
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
    shared = {GPU: "1", "nvidia.com/gpumem": "3840"}
    return [
        *(
            pod_json(f"serve-{i}", node=f"l40s-{i % 16:02}", cpu="8", spec={**to("serve"), **spread}, **{GPU: "1"})
            for i in range(20)
        ),
        *(pod_json(f"share-{i}", node=f"hami-{i % 8}", spec=to("shares"), **shared) for i in range(16)),
        *(pod_json(f"slice-{i}", node=f"mig-{i}", spec=to("slices"), **{MIG_SLICE: "1"}) for i in range(8)),
        *(
            pod_json(f"web-{i}", node=f"cpu-{i % 9}", cpu="4", spec={"affinity": {"podAntiAffinity": apart}})
            for i in range(18)
        ),
    ]


def waiting() -> list[Json]:
    """Five pods that wait for a node, and three that nobody may place yet."""
    gated = {**to("train"), "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    return [
        *(pod_json(f"waits-{i}", cpu="16", spec=to("train"), **{GPU: "8"}) for i in range(5)),
        *(pod_json(f"gated-{i}", cpu="16", spec=gated, **{GPU: "8"}) for i in range(3)),
    ]


def finished() -> list[Json]:
    """30 pods that ran for an hour on H100 or L40S, one every ten minutes; six name `research`, a pool of no node."""
    made = []
    for i in range(30):
        pool, node, gpus = ("train", "h100-15", "8") if i % 2 else ("serve", "l40s-15", "2")
        pool = "research" if i % 5 == 0 else pool
        start = f"2026-01-04T{8 + i // 6:02}:{10 * (i % 6):02}:00Z"
        end = f"2026-01-04T{9 + i // 6:02}:{10 * (i % 6):02}:00Z"
        pod = pod_json(f"done-{i}", node=node, phase="Succeeded", created=start, owner="Job", cpu="8", spec=to(pool))
        pod["spec"]["containers"][0]["resources"]["limits"] = {GPU: gpus}
        pod["status"] |= {"startTime": start, "containerStatuses": [{"state": {"terminated": {"finishedAt": end}}}]}
        made.append(pod)
    return made


def pods() -> list[Json]:
    found = [*daemons(), *gangs(), *running(), *waiting(), *finished()]
    for pod in found:
        if pod["spec"].get("nodeName"):
            pod["status"].setdefault("startTime", pod["metadata"]["creationTimestamp"])
    return found


def pod_groups() -> list[Json]:
    """Of the gangs, and one without pods."""
    kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    names = ("volcano", "cosched", "kai", "nobody")
    return [{**kind, "metadata": {"name": name, "namespace": "team"}, "spec": {"minMember": 4}} for name in names]


def write_tainted(folder: Path) -> Path:
    """Nodes, pods and pod groups in one list."""
    return write_list(folder / "cluster.json", [*nodes(), *pods(), *pod_groups()])


def write_list(path: Path, items: list[Json]) -> Path:
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    return path
