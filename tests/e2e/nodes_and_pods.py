"""Nodes and pods as Kubernetes objects, made from our own tables: the alibaba dialect, one container a pod."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from e2e.api import Json
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import TaskClass, Workload

PREFIX = "alibabacloud.com"
GPU_INDEX = f"{PREFIX}/gpu-index"
PODS_A_NODE = 1100  # FGD puts hundreds of small tasks on one node; kubelet's 110 is another limit than ours


def node_object(name: str, cpu_milli: int, memory_mib: int, gpus: int, model: str) -> Json:
    amounts = {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi", "pods": str(PODS_A_NODE)}
    labels = {"kubernetes.io/hostname": name}
    if gpus > 0:
        amounts |= {f"{PREFIX}/gpu-count": str(gpus), f"{PREFIX}/gpu-milli": str(1000 * gpus)}
        labels[f"{PREFIX}/gpu-card-model"] = model
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Made", "message": "made by a test"}],
        },
    }


def pod_object(name: str, task: TaskClass, scheduler_name: str = "wattpack") -> Json:
    annotations = {}
    if task.num_gpu > 0:
        annotations = {f"{PREFIX}/gpu-milli": str(task.gpu_milli), f"{PREFIX}/gpu-count": str(task.num_gpu)}
        if task.gpu_spec:
            annotations[f"{PREFIX}/gpu-card-model"] = task.gpu_spec
    requests = {"cpu": f"{task.cpu_milli}m", "memory": f"{task.memory_mib}Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {
            "schedulerName": scheduler_name,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
        },
    }


def node_objects(datacenter: Datacenter) -> Iterator[Json]:
    for i, name in enumerate(datacenter.names):
        cpu_milli, memory_mib = int(datacenter.cpu_milli[i]), int(datacenter.memory_mib[i])
        yield node_object(name, cpu_milli, memory_mib, int(datacenter.gpus[i]), datacenter.models[datacenter.model[i]])


def pod_objects(workload: Workload) -> Iterator[Json]:
    for i, k in enumerate(workload.sequence.tolist()):
        yield pod_object(workload.task_name(i), workload.classes[k])


def write_nodes(file: Path, datacenter: Datacenter) -> Path:
    """The nodes as `wattpack replay` reads them."""
    models = [datacenter.models[i] for i in datacenter.model.tolist()]
    rows = zip(datacenter.names, datacenter.cpu_milli, datacenter.memory_mib, datacenter.gpus, models, strict=True)
    return _write(file, ("sn", "cpu_milli", "memory_mib", "gpu", "model"), list(rows))


def write_tasks(file: Path, workload: Workload) -> Path:
    rows = [(workload.task_name(i), *workload.classes[k][:5]) for i, k in enumerate(workload.sequence.tolist())]
    return _write(file, ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"), rows)


def _write(file: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return file
