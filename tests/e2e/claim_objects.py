"""Resource slices, device classes, claims and pods that ask by claims, as Kubernetes objects made from our own tables.

The driver offers each GPU as one device that several claims may share, by thousandths (`milli`). No driver runs: slices
are objects that a test writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from e2e.api import Api, Json
from e2e.nodes_and_pods import node_object, pod_object
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import TaskClass, Workload

RESOURCE = "/apis/resource.k8s.io/v1"
SLICES, CLASSES = f"{RESOURCE}/resourceslices", f"{RESOURCE}/deviceclasses"
CLAIMS = f"{RESOURCE}/namespaces/default/resourceclaims"
TEMPLATES = f"{RESOURCE}/namespaces/default/resourceclaimtemplates"
DRIVER = CLASS = "gpu.nvidia.com"
MILLI = "milli"


def device_class() -> Json:
    expression = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].type == "gpu"'
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": CLASS},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def device(number: int, model: str) -> Json:
    policy = {"default": "1000", "validRange": {"min": "1", "max": "1000", "step": "1"}}
    return {
        "name": f"gpu-{number}",
        "allowMultipleAllocations": True,
        "attributes": {"type": {"string": "gpu"}, "productName": {"string": model}, "index": {"int": number}},
        "capacity": {MILLI: {"value": "1000", "requestPolicy": policy}},
    }


def slice_object(node: str, gpus: int, model: str, generation: int = 1) -> Json:
    """The GPUs of a node."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpus"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": generation, "resourceSliceCount": 1},
            "devices": [device(number, model) for number in range(gpus)],
        },
    }


def request_spec(task: TaskClass) -> Json:
    """The claim's spec for the GPUs of a task."""
    exactly: Json = {"deviceClassName": CLASS, "count": task.num_gpu}
    if task.gpu_milli < 1000:
        exactly["capacity"] = {"requests": {MILLI: str(task.gpu_milli)}}
    if task.gpu_spec:
        names = ", ".join(f'"{model}"' for model in task.gpu_spec.split("|"))
        expression = f'device.attributes["{DRIVER}"].productName in [{names}]'
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def claim_object(name: str, task: TaskClass) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": request_spec(task),
    }


def template_name(task: TaskClass) -> str:
    models = task.gpu_spec.lower().replace("|", "-")
    return f"gpu-{task.num_gpu}-{task.gpu_milli}" + (f"-{models}" if models else "")


def template_object(task: TaskClass) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": template_name(task), "namespace": "default"},
        "spec": {"spec": request_spec(task)},
    }


def claiming_pod(name: str, task: TaskClass, claim: str = "", template: str = "", scheduler: str = "wattpack") -> Json:
    """A pod that asks for the GPUs of a task by a claim of this name, or by one made from a template."""
    bare = TaskClass(task.cpu_milli, task.memory_mib, 0, 0)
    pod = pod_object(name, bare, scheduler)
    if claim or template:
        source = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template}
        pod["spec"]["resourceClaims"] = [{"name": "gpu", **source}]
        pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    return pod


def bare_node(name: str, cpu_milli: int, memory_mib: int) -> Json:
    """A node whose GPUs are in slices: no device plugin, no label."""
    return node_object(name, cpu_milli, memory_mib, 0, "")


def nodes_and_slices(datacenter: Datacenter) -> Iterator[tuple[Json, Json | None]]:
    """Every node with its slice; nodes without GPUs have none."""
    for i, name in enumerate(datacenter.names):
        gpus, model = int(datacenter.gpus[i]), datacenter.models[datacenter.model[i]]
        node = bare_node(name, int(datacenter.cpu_milli[i]), int(datacenter.memory_mib[i]))
        yield node, slice_object(name, gpus, model) if gpus else None


def tasks_of(workload: Workload) -> Iterator[tuple[str, TaskClass]]:
    for i, k in enumerate(workload.sequence.tolist()):
        yield workload.task_name(i), workload.classes[k]


def claiming_pods(workload: Workload, scheduler: str = "wattpack") -> Iterator[Json]:
    """A pod for each task; one with GPUs has a claim of its own name."""
    for name, task in tasks_of(workload):
        yield claiming_pod(name, task, claim=name if task.num_gpu else "", scheduler=scheduler)


def add_class(api: Api) -> None:
    """The class of GPUs, unless it is there from before."""
    status, answer = api.request("POST", CLASSES, device_class())
    assert status in (201, 409), answer


def create_claimable(api: Api, datacenter: Datacenter, workload: Workload) -> None:
    """The nodes with their slices, the class, and a claim for each task with GPUs."""
    add_class(api)
    made = list(nodes_and_slices(datacenter))
    api.create_many("/api/v1/nodes", [node for node, _ in made])
    api.create_many(SLICES, [offered for _, offered in made if offered is not None])
    api.create_many(CLAIMS, [claim_object(name, task) for name, task in tasks_of(workload) if task.num_gpu])
