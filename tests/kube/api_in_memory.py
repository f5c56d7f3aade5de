"""The API server's part in memory, with the faults a real one has only now and then. The real one is in tests/e2e."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from kube.api_history import History, Table
from wattpack.kube.client import ApiError, Client
from wattpack.kube.config import Config, LeaseConfig
from wattpack.kube.informer import Kind
from wattpack.kube.kubeconfig import Access
from wattpack.kube.objects import Pod
from wattpack.kube.reservations import Reservation
from wattpack.kube.service import Service
from wattpack.kube.wire import BindingArgs, ExtenderArgs


class InMemory(History, Client):
    """Nodes, pods and one lease. `lost`: bindings are made, answers lost; `late`: neither made nor answered yet.

    `fault(kind)` says how lists and watches are wrong (`api_history.py`).
    """

    def __init__(self) -> None:
        History.__init__(self)
        Client.__init__(self, Access("http://nowhere", None))
        self.nodes: Table = {}
        self.pods: Table = {}
        self.bindings: list[tuple[str, str]] = []
        self.lease: dict[str, Any] | None = None
        self.lost = self.refused = self.silent = self.late = False
        self.sent: list[Any] = []

    def tables(self) -> dict[str, Table]:
        return {"nodes": self.nodes, "pods": self.pods}

    def pod(self, name: str) -> Pod:
        self.note()
        return msgspec.convert(self.pods[name], Pod)

    async def watch(self, path: str, version: str) -> AsyncIterator[bytes]:
        async for line in self.answer_watch(path.rsplit("/", 1)[1], version, self.silence_s):
            yield line

    async def bind(
        self, namespace: str, name: str, uid: str, node: str, annotations: dict[str, str], timeout_s: float
    ) -> None:
        if self.late:
            raise ApiError(0, "no answer within 1 s")
        if self.refused:
            raise ApiError(403, "refused")
        if name not in self.pods:
            raise ApiError(404, f"pods {name} not found")
        pod = self.pods[name]
        if pod["metadata"]["uid"] != uid:
            raise ApiError(409, "uid in precondition")
        if pod["spec"].get("nodeName"):
            raise ApiError(409, f"pod {name} is already assigned to node {pod['spec']['nodeName']}")
        pod["spec"]["nodeName"] = node
        pod["metadata"]["annotations"].update(annotations)
        self.bindings.append((name, node))
        if self.lost:
            raise ApiError(0, "connection reset")

    async def call(self, method: str, path: str, body: Any = None, timeout_s: float | None = None) -> bytes:
        self.sent.append((method, path, body))
        if "/leases" not in path:
            return await self.read(path) if method == "GET" else b"{}"
        if method == "GET":
            if self.lease is None:
                raise ApiError(404, "not found")
            return msgspec.json.encode(self.lease)
        if method == "PATCH":
            assert self.lease is not None
            metadata = self.lease["metadata"]
            version = str(int(metadata["resourceVersion"]) + 1)
            annotations = {**metadata.get("annotations", {}), **body["metadata"]["annotations"]}
            self.lease["metadata"] = {**metadata, "resourceVersion": version, "annotations": annotations}
            return b"{}"
        known = self.lease["metadata"]["resourceVersion"] if self.lease else None
        if method == "PUT" and body["metadata"]["resourceVersion"] != known:
            raise ApiError(409, "the object has been modified")
        version = int(self.lease["metadata"]["resourceVersion"]) + 1 if self.lease else 1
        self.lease = {**body, "metadata": {**body["metadata"], "resourceVersion": str(version)}}
        return b"{}"

    async def read(self, path: str) -> bytes:
        """A list, or one object, of a kind that has a table."""
        plain, _, query = path.partition("?")
        if (kind := plain.rsplit("/", 1)[1]) in self.tables():
            return await self.answer_list(kind, query)
        kind, name = plain.split("/")[-2:]
        if kind not in self.tables():
            return b"{}"
        if self.silent:
            raise ApiError(0, "no answer")
        if name not in self.tables()[kind]:
            raise ApiError(404, f"{kind} {name} not found")
        self.note()
        return msgspec.json.encode(self.tables()[kind][name])

    # ---- what a test sets up

    def add_node(self, name: str, gpus: int = 2, model: str = "T4") -> None:
        self.nodes[name] = {
            "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": model}},
            "status": {"allocatable": {"cpu": "32", "memory": "64Gi", "alibabacloud.com/gpu-count": str(gpus)}},
        }

    def add_pod(self, name: str, milli: int = 500, count: int = 1, node: str = "", index: str = "") -> Pod:
        annotations = {"alibabacloud.com/gpu-milli": str(milli), "alibabacloud.com/gpu-count": str(count)}
        if index:
            annotations["alibabacloud.com/gpu-index"] = index
        self.pods[name] = {
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": annotations},
            "spec": {
                "schedulerName": "wattpack",
                "nodeName": node,
                "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
            },
            "status": {"phase": "Running" if node else "Pending"},
        }
        return self.pod(name)


async def started(client: InMemory, identity: str = "one", **config: Any) -> Service:
    """A service in sync with what is in memory; no lease unless one is given."""
    config.setdefault("lease", LeaseConfig(enabled=False))
    config.setdefault("policy", "fgd")
    service = Service(Config(target="default", **config), client, identity)
    for watch in service.watches():
        await watch.relist()
        watch.contact_s = float("inf")  # in sync, however long the test takes
    return service


def deliver(client: InMemory, *watches: Kind[Any]) -> None:
    """What happened since the watches last showed something, as far as they show it now."""
    for watch in watches:
        for line in client.lines(watch.name, int(watch.version or 0)):
            watch.take(line)


def asked(pod: Pod, *names: str) -> ExtenderArgs:
    return ExtenderArgs(pod, msgspec.Raw(msgspec.json.encode(names)))


def to_bind(name: str, node: str) -> BindingArgs:
    return BindingArgs(name, "default", node, f"uid-{name}")


def two_nodes(*pods: str) -> InMemory:
    """Nodes `a` and `b` with two T4 each, and pods that ask for half a GPU."""
    client = InMemory()
    for name in ("a", "b"):
        client.add_node(name)
    for pod in pods:
        client.add_pod(pod)
    return client


def bindings_wait(client: InMemory) -> asyncio.Event:
    """From now on Bindings wait on their way, until the event is set."""
    answered, made = asyncio.Event(), client.bind

    async def slow(*given: Any) -> None:
        await answered.wait()
        await made(*given)

    client.bind = slow  # type: ignore[method-assign]
    return answered


def gpu_left(service: Service, node: str) -> list[int]:
    return next(row["gpu_left_milli"] for row in service.state()["nodes"] if row["node"] == node)


def reservation_of(service: Service, uid: str) -> Reservation:
    found = service.view.cluster.reservations.get(uid)
    assert found is not None
    return found


def later(service: Service, uid: str, by_s: float) -> None:
    """As if the pod had been assumed, its Binding been sent, and the API been asked that much earlier."""
    held = reservation_of(service, uid)
    held.assumed_s -= by_s
    held.asked_s -= by_s
    held.sent_s = None if held.sent_s is None else held.sent_s - by_s


def in_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """The test, run to its end in a loop of its own."""

    def run() -> None:
        asyncio.run(test())  # type: ignore[arg-type]

    run.__name__ = test.__name__  # type: ignore[attr-defined]
    return run
