"""What the apiserver alone says about a cluster: which pod is where, and whether any node or GPU holds too much.

Nothing here imports the service or its readers of nodes and pods: amounts are read a second time, in plain Python.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from e2e.api import Api, Json
from e2e.cluster import Cluster
from e2e.nodes_and_pods import GPU_INDEX, PREFIX


class Placement(NamedTuple):
    node: str
    gpu_index: str


def pods_of(api: Api) -> list[Json]:
    return api.list("/api/v1/namespaces/default/pods")


def placements(api: Api) -> dict[str, Placement]:
    """Node and GPUs of every bound pod, by name."""
    found = {}
    for pod in pods_of(api):
        if node := pod["spec"].get("nodeName"):
            annotations = pod["metadata"].get("annotations") or {}
            found[pod["metadata"]["name"]] = Placement(node, annotations.get(GPU_INDEX, ""))
    return found


def pending(api: Api) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods_of(api) if not pod["spec"].get("nodeName")]


def faults(api: Api) -> list[str]:
    """Everything that must not be, one line each; nodes that have gone are left out with their pods."""
    found: list[str] = []
    nodes = {node["metadata"]["name"]: node for node in api.list("/api/v1/nodes")}
    gpu_milli: defaultdict[tuple[str, int], int] = defaultdict(int)
    cpu_milli: Counter[str] = Counter()
    memory_mib: Counter[str] = Counter()
    for pod in pods_of(api):
        name, where = pod["metadata"]["name"], pod["spec"].get("nodeName")
        if where not in nodes or pod["status"].get("phase") in ("Succeeded", "Failed"):
            continue
        requests = pod["spec"]["containers"][0]["resources"]["requests"]
        cpu_milli[where] += _milli(requests["cpu"])
        memory_mib[where] += _mib(requests["memory"])
        annotations = pod["metadata"].get("annotations") or {}
        count, milli = int(annotations.get(f"{PREFIX}/gpu-count", 0)), int(annotations.get(f"{PREFIX}/gpu-milli", 0))
        index = [int(part) for part in annotations.get(GPU_INDEX, "").split("-") if part != ""]
        labels = nodes[where]["metadata"]["labels"]
        asked = annotations.get(f"{PREFIX}/gpu-card-model", "")
        if asked and labels.get(f"{PREFIX}/gpu-card-model") not in asked.split("|"):
            found.append(f"{name} asks for {asked} and is on {where}")
        if len(set(index)) != count or len(index) != count:
            found.append(f"{name} asks for {count} GPUs and has {index} on {where}")
        for gpu in index:
            gpu_milli[where, gpu] += milli
    for (where, gpu), milli in gpu_milli.items():
        if gpu >= int(nodes[where]["status"]["allocatable"].get(f"{PREFIX}/gpu-count", 0)):
            found.append(f"{where} has no GPU {gpu}")
        if milli > 1000:
            found.append(f"GPU {gpu} of {where} holds {milli} milli")
    for name, node in nodes.items():
        allocatable = node["status"]["allocatable"]
        if cpu_milli[name] > _milli(allocatable["cpu"]) or memory_mib[name] > _mib(allocatable["memory"]):
            found.append(f"{name} holds {cpu_milli[name]} milli CPU and {memory_mib[name]} MiB: more than it has")
    return found


def gpus_allocated(api: Api) -> float:
    """GPUs held by pods on nodes that are there."""
    nodes = {node["metadata"]["name"] for node in api.list("/api/v1/nodes")}
    milli = 0
    for pod in pods_of(api):
        if pod["spec"].get("nodeName") in nodes and pod["status"].get("phase") not in ("Succeeded", "Failed"):
            held = pod["metadata"].get("annotations") or {}
            milli += int(held.get(f"{PREFIX}/gpu-count", 0)) * int(held.get(f"{PREFIX}/gpu-milli", 0))
    return milli / 1000


def bindings(cluster: Cluster) -> Counter[str]:
    """How often a Binding of each pod, by name, was answered with success: from the apiserver's audit log."""
    counts: Counter[str] = Counter()
    for request in cluster.requests():
        what = request.get("objectRef", {})
        done = request["stage"] == "ResponseComplete" and request["responseStatus"]["code"] == 201
        if what.get("subresource") == "binding" and done:
            counts[what["name"]] += 1
    return counts


def _milli(text: str) -> int:
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


def _mib(text: str) -> int:
    """The apiserver writes 1048576Mi as 1Ti."""
    powers = {"Mi": 0, "Gi": 1, "Ti": 2, "Pi": 3}
    return int(text[:-2]) * 1024 ** powers[text[-2:]] if text != "0" else 0
