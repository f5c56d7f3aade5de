"""A service whose watches run on an API server in memory, and what it believes beside what the API has."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from kube.api_in_memory import InMemory
from wattpack.kube.client import Client
from wattpack.kube.config import Config, LeaseConfig
from wattpack.kube.service import Service

INDEX, MILLI = "alibabacloud.com/gpu-index", "alibabacloud.com/gpu-milli"


@contextlib.asynccontextmanager
async def running(client: Client, **config: Any) -> AsyncIterator[Service]:
    """A service and its watches; no lease unless one is given."""
    config.setdefault("lease", LeaseConfig(enabled=False))
    config.setdefault("policy", "fgd")
    service = Service(Config(target="default", **config), client, "one")
    tasks = [asyncio.ensure_future(watch.run()) for watch in service.watches()]
    try:
        yield service
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(ended, asyncio.CancelledError), f"a watch has ended: {ended!r}"


def believed(service: Service) -> dict[str, Any]:
    """Nodes with their GPUs, pods with their nodes, and what the GPUs of each node have left."""
    view = service.view
    engine = view.cluster.engine()
    left = {} if engine is None else {n: engine.state.nodes[i].gpu_left for n, i in view.cluster.index.items()}
    return {
        "nodes": {name: facts.gpus for name, facts in view.cluster.nodes.items()},
        "pods": {uid: pod.node for uid, pod in view.pods.items()},
        "left": {name: left[name][: facts.gpus].tolist() for name, facts in view.cluster.nodes.items()},
    }


def truth(api: InMemory) -> dict[str, Any]:
    """The same of the API server. Every bound pod names its GPU; reservations are not in it."""
    gpus = {name: int(node["status"]["allocatable"]["alibabacloud.com/gpu-count"]) for name, node in api.nodes.items()}
    left = {name: [1000] * count for name, count in gpus.items()}
    for (node, gpu), milli in held(api).items():
        if node in left:
            left[node][gpu] -= milli
    return {
        "nodes": gpus,
        "pods": {pod["metadata"]["uid"]: pod["spec"].get("nodeName", "") for pod in api.pods.values()},
        "left": left,
    }


def held(api: InMemory) -> Counter[tuple[str, int]]:
    """Milli of each GPU that bound pods hold."""
    found: Counter[tuple[str, int]] = Counter()
    for pod in api.pods.values():
        annotations = pod["metadata"]["annotations"]
        if node := pod["spec"].get("nodeName"):
            for gpu in annotations[INDEX].split("-"):
                found[node, int(gpu)] += int(annotations[MILLI])
    return found


def check_no_gpu_is_given_twice(api: InMemory) -> None:
    assert max(held(api).values(), default=0) <= 1000, held(api)


async def becomes_true(service: Service, api: InMemory, within_s: float = 3.0) -> None:
    """Wait until what is believed is what the API has."""
    for _ in range(int(within_s / 0.005)):
        if service.ready and believed(service) == truth(api):
            return
        await asyncio.sleep(0.005)
    assert service.ready
    for name, value in truth(api).items():
        assert believed(service)[name] == value, name


async def until(is_so: Any, within_s: float = 3.0) -> None:
    for _ in range(int(within_s / 0.005)):
        if is_so():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"not so within {within_s} s")
