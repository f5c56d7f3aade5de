"""The API server in memory behaves as a real one does, and is wrong only as a test asks."""

from __future__ import annotations

import asyncio
import json

import pytest

from kube.api_in_memory import in_a_loop, two_nodes
from wattpack.kube.client import ApiError


@in_a_loop
async def test_versions_count_up_over_all_kinds_and_every_write_gets_one() -> None:
    client = two_nodes("p")
    assert client.note() == 3
    client.pods["p"]["spec"]["nodeName"] = "a"
    assert client.note() == 4
    assert client.note() == 4, "nothing was written"
    del client.nodes["b"]
    assert client.note() == 5
    assert [(one.version, one.kind, one.event) for one in client.history[2:]] == [
        (3, "pods", "ADDED"),
        (4, "pods", "MODIFIED"),
        (5, "nodes", "DELETED"),
    ]
    assert json.loads(client.history[-1].text)["metadata"]["resourceVersion"] == "5"


@in_a_loop
async def test_a_list_is_of_one_version_page_by_page_however_late_it_is_answered() -> None:
    client = two_nodes(*(f"p{i}" for i in range(5)))
    first = json.loads(await client.call("GET", "/api/v1/pods?limit=2"))
    del client.pods["p4"]
    token = first["metadata"]["continue"]
    second = json.loads(await client.call("GET", f"/api/v1/pods?limit=3&continue={token}"))
    assert [pod["metadata"]["name"] for pod in second["items"]] == ["p2", "p3", "p4"]
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"] == "7"
    client.fault("pods").list_waits = answered = asyncio.Event()
    late = asyncio.ensure_future(client.list_pods())
    await asyncio.sleep(0.01)
    client.add_pod("new")
    answered.set()
    pods, version = await late
    assert ("new" in {pod.metadata.name for pod in pods}, version) == (False, "8")
    client.fault("pods").list_at = 3
    assert {pod.metadata.name for pod in (await client.list_pods())[0]} == {"p0"}
    client.fault("pods").list_at = None
    client.pods["p0"]["spec"]["nodeName"] = "a"
    there = json.loads(await client.call("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Da"))
    assert [pod["metadata"]["name"] for pod in there["items"]] == ["p0"]


@in_a_loop
async def test_a_watch_lags_repeats_is_silent_and_ends_as_a_test_asks() -> None:
    client = two_nodes("p", "q")
    client.silence_s = 0.05
    client.note()
    fault, shown = client.fault("pods"), []

    async def watch(version: str) -> None:
        async for line in client.watch("/api/v1/pods", version):
            shown.append(line)

    fault.watch_to, fault.repeat = 3, 1
    watching = asyncio.ensure_future(watch("3"))
    await asyncio.sleep(0.02)
    assert [bool(line) for line in shown] == [False, True], "version 3 again, version 4 not yet"
    fault.watch_to = None
    await asyncio.sleep(0.02)
    assert b'"name":"q"' in shown[-1]
    fault.gone = True
    await watching
    assert b'"code":410' in shown[-1]
    fault.gone_as_event = False
    with pytest.raises(ApiError, match="410"):
        await watch("4")
    await client.list_pods()
    fault.silent = True
    with pytest.raises(TimeoutError):
        await watch("4")
