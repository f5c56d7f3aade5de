"""The service over HTTP: whatever is sent, it answers, says what was wrong, and goes on."""

from __future__ import annotations

import asyncio
import io
import math
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

import wattpack as wp
from kube.api_in_memory import InMemory, started
from wattpack.kube.app import new_app
from wattpack.kube.config import Server
from wattpack.kube.energy import count_energy
from wattpack.kube.openapi import OPENAPI
from wattpack.kube.service import Service
from wattpack.policies import REGISTRY


class Front:
    """A running service and a way to ask it."""

    def __init__(self, service: Service, server: TestServer, session: ClientSession, client: InMemory) -> None:
        self.service, self.server, self.session, self.client = service, server, session, client

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        sent = {"data": io.BytesIO(body)} if isinstance(body, bytes) else {"json": body}
        async with self.session.request(method, self.server.make_url(path), **sent) as answer:
            text = await answer.text()
            return answer.status, await answer.json() if "json" in answer.content_type else text


def ask(test: Callable[[Front], Awaitable[None]], only_probes: bool = False, **config: Any) -> None:
    """Run `test` with a service of two nodes and one pod."""

    async def run() -> None:
        client = InMemory()
        client.add_node("a")
        client.add_node("b")
        client.add_pod("p")
        service = await started(client, **config)
        async with TestServer(new_app(service, only_probes)) as server, ClientSession() as session:
            await test(Front(service, server, session, client))

    asyncio.run(run())


def test_a_pod_goes_through_filter_prioritize_and_bind() -> None:
    async def test(front: Front) -> None:
        pod = front.client.pods["p"]
        status, answer = await front.ask("POST", "/filter", {"Pod": pod, "Nodes": None, "NodeNames": ["a", "b"]})
        assert (status, answer["NodeNames"], answer["Error"]) == (200, ["a"], "")
        status, answer = await front.ask("POST", "/prioritize", {"Pod": pod, "NodeNames": ["b", "a"]})
        assert (status, answer) == (200, [{"Host": "b", "Score": 0}, {"Host": "a", "Score": 10}])
        binding = {"PodName": "p", "PodNamespace": "default", "PodUID": "uid-p", "Node": "a"}
        assert await front.ask("POST", "/bind", binding) == (200, {"Error": ""})
        assert front.client.bindings == [("p", "a")]
        status, answer = await front.ask("GET", "/explain/default/p")
        assert (status, answer["node"], answer["gpus"]) == (200, "a", [0])

    ask(test)


@pytest.mark.parametrize("path", ["/filter", "/prioritize", "/bind", "/fit"])
@pytest.mark.parametrize(
    "body", [b"", b"\x00\xff\xfe", b"{", b"[]", b"null", b"1e999", b'{"Pod": 1, "metadata": 1}', b"[" * 100_000]
)
def test_what_is_not_a_request_is_a_400_with_one_line(path: str, body: bytes) -> None:
    async def test(front: Front) -> None:
        status, answer = await front.ask("POST", path, body)
        assert status == 400
        assert answer["error"].startswith(f"{path}: ")
        assert "\n" not in answer["error"]
        assert (await front.ask("GET", "/healthz"))[0] == 200

    ask(test)


def test_a_body_that_is_too_large_is_a_413() -> None:
    async def test(front: Front) -> None:
        status, _ = await front.ask("POST", "/filter", b" " * (2 << 20))
        assert status == 413

    ask(test, server=Server(max_body_mib=1))


def test_unknown_paths_and_methods_are_told() -> None:
    async def test(front: Front) -> None:
        assert (await front.ask("GET", "/nonesuch"))[0] == 404
        assert (await front.ask("GET", "/filter"))[0] == 405
        assert (await front.ask("GET", "/explain/default/nobody"))[0] == 404
        assert (await front.ask("GET", "/shadow"))[0] == 404

    ask(test)


def test_a_pod_that_contradicts_itself_is_a_422_for_fit_and_an_error_for_filter() -> None:
    async def test(front: Front) -> None:
        front.client.add_pod("odd", milli=700, count=3)
        pod = front.client.pods["odd"]
        status, answer = await front.ask("POST", "/fit", pod)
        assert status == 422
        assert "shares of 3 GPUs" in answer["error"]
        assert (await front.ask("POST", "/fit", {}))[0] == 422
        status, answer = await front.ask("POST", "/filter", {"Pod": pod, "NodeNames": ["a"]})
        assert status == 200
        assert "shares of 3 GPUs" in answer["Error"]

    ask(test)


def test_fit_says_that_every_node_is_blocked() -> None:
    async def test(front: Front) -> None:
        for node in ("a", "b"):
            front.client.add_pod(f"odd-{node}", node=node)
            (asks,) = front.client.pods[f"odd-{node}"]["spec"]["containers"]
            asks["resources"]["limits"] = {"gpu.intel.com/i915": "1"}  # which nobody counts
        await front.service.pods.relist()
        status, answer = await front.ask("POST", "/fit", front.client.pods["p"])
        assert (status, answer["node"]) == (200, "")
        assert answer["refused"] == {"holds a pod that is not understood: its GPUs may be in use": 2}
        assert "2 nodes are blocked by 2 pods that were not understood" in answer["note"]

    ask(test)


def test_fit_tells_where_and_at_what_cost_or_what_is_missing() -> None:
    async def test(front: Front) -> None:
        status, answer = await front.ask("POST", "/fit", front.client.pods["p"])
        assert (status, answer["node"], answer["watts"]) == (200, "a", 60 + 105)
        front.client.add_pod("big", milli=1000, count=3)
        status, answer = await front.ask("POST", "/fit", front.client.pods["big"])
        assert (status, answer["node"], answer["nearest"][0]["missing"]) == (200, "", "1 whole free GPUs")
        assert len(front.service.view.cluster.reservations) == 0

    ask(test)


def test_readiness_follows_the_cache() -> None:
    async def test(front: Front) -> None:
        assert (await front.ask("GET", "/readyz"))[0] == 200
        front.service.nodes.listed = False
        assert (await front.ask("GET", "/readyz"))[0] == 503
        assert (await front.ask("GET", "/healthz"))[0] == 200

    ask(test)


def test_metrics_tell_power_decisions_and_times() -> None:
    async def test(front: Front) -> None:
        await front.ask("POST", "/filter", {"Pod": front.client.pods["p"], "NodeNames": ["a", "b"]})
        _, text = await front.ask("GET", "/metrics")
        # one T4 busy, one idle, one socket busy: 70 + 10 + 120 W
        assert 'wattpack_power_watts{node="a"} 200\n' in text
        assert 'wattpack_decisions_total{policy="fgd",outcome="placed"} 1\n' in text
        assert 'wattpack_request_seconds_count{verb="filter"} 1\n' in text
        assert 'wattpack_gpus{state="allocated"} 0.5\n' in text
        assert "wattpack_reserved_pods 1\n" in text

    ask(test)


def test_metrics_tell_closed_nodes_with_their_reasons() -> None:
    async def test(front: Front) -> None:
        front.client.add_pod("odd", node="a")
        (asks,) = front.client.pods["odd"]["spec"]["containers"]
        asks["resources"]["limits"] = {"gpu.intel.com/i915": "1"}  # which nobody counts
        await front.service.pods.relist()
        assert front.service.state()["closed_nodes"].keys() == {"a"}
        _, text = await front.ask("GET", "/metrics")
        assert 'wattpack_nodes{readable="no"} 0\n' in text  # the node itself can be read
        assert 'wattpack_closed_nodes{reason="pod_not_understood"} 1\n' in text
        assert "wattpack_pods_not_understood 1\n" in text

    ask(test)


def pending(text: str) -> dict[str, int]:
    found = re.findall(r'wattpack_pending_pods\{waits_for="(\w+)"\} (\d+)\n', text)
    return {what: int(count) for what, count in found if count != "0"}


def test_metrics_tell_what_pods_without_a_node_wait_for_and_for_how_long() -> None:
    async def test(front: Front) -> None:
        front.client.add_pod("big", milli=1000, count=8)
        front.client.add_pod("odd", count=2)
        front.client.add_pod("foreign")
        front.client.pods["foreign"]["spec"]["schedulerName"] = "another"
        front.client.pods["foreign"]["metadata"]["creationTimestamp"] = "2000-01-01T00:00:00Z"
        created = datetime.now(UTC) - timedelta(seconds=600)
        front.client.pods["p"]["metadata"]["creationTimestamp"] = created.strftime("%Y-%m-%dT%H:%M:%SZ")
        await front.service.pods.relist()
        for pod in ("p", "big"):
            await front.ask("POST", "/filter", {"Pod": front.client.pods[pod], "NodeNames": ["a", "b"]})
        _, text = await front.ask("GET", "/metrics")
        assert pending(text) == {"binding": 1, "room": 1, "not_understood": 1, "other_scheduler": 1}
        (oldest,) = re.findall(r"wattpack_pending_oldest_seconds ([0-9.]+)\n", text)
        assert 600 <= float(oldest) < 700  # that of the other scheduler does not count
        assert "wattpack_queue_wait_seconds_count" not in text
        binding = {"PodName": "p", "PodNamespace": "default", "PodUID": "uid-p", "Node": "a"}
        for _ in range(2):  # the second time it is bound already
            assert await front.ask("POST", "/bind", binding) == (200, {"Error": ""})
        _, text = await front.ask("GET", "/metrics")
        assert 'wattpack_queue_wait_seconds_bucket{le="300"} 0\n' in text
        assert 'wattpack_queue_wait_seconds_bucket{le="900"} 1\n' in text
        assert "wattpack_queue_wait_seconds_count 1\n" in text

    ask(test)


def test_a_pod_that_nobody_asked_about_yet_waits_for_its_scheduler() -> None:
    async def test(front: Front) -> None:
        _, text = await front.ask("GET", "/metrics")
        assert pending(text) == {"other_scheduler": 1}  # no scheduler of ours is known yet
        assert "wattpack_last_request_age_seconds" not in text
        await front.ask("POST", "/filter", {"Pod": front.client.pods["p"], "NodeNames": []})
        front.client.add_pod("q")
        await front.service.pods.relist()
        _, text = await front.ask("GET", "/metrics")
        assert pending(text)["scheduler"] == 1
        (age_s,) = re.findall(r"wattpack_last_request_age_seconds ([0-9.e-]+)\n", text)
        assert float(age_s) < 60

    ask(test)


def test_metrics_tell_energy_and_the_version() -> None:
    async def test(front: Front) -> None:
        await count_energy(front.service)
        service = front.service
        assert service.energy.until_s is not None
        service.energy.until_s -= 10.0
        _, text = await front.ask("GET", "/metrics")
        (joules,) = re.findall(r"wattpack_energy_joules_total ([0-9.e+]+)\n", text)
        watts = service.view.cluster.power_w()
        assert 10 * watts <= float(joules) < 11 * watts
        assert 'wattpack_namespace_power_watts{pod_namespace="_idle"}' in text
        assert 'wattpack_namespace_energy_joules_total{pod_namespace="_idle"}' in text
        assert f'wattpack_build_info{{version="{wp.__version__}",python="' in text

    ask(test)


def test_the_listener_for_probes_has_no_verbs() -> None:
    async def test(front: Front) -> None:
        assert (await front.ask("GET", "/readyz"))[0] == 200
        assert (await front.ask("GET", "/metrics"))[0] == 200
        for path in ("/filter", "/bind", "/prioritize", "/fit"):
            assert (await front.ask("POST", path, {}))[0] == 404

    ask(test, only_probes=True, server=Server(metrics_host="127.0.0.1"))


def test_every_route_is_in_the_openapi_document_and_the_other_way_round() -> None:
    async def test(front: Front) -> None:
        status, document = await front.ask("GET", "/openapi.json")
        assert status == 200
        assert document == OPENAPI
        routes = {
            (route.method.lower(), route.resource.canonical)
            for route in new_app(front.service).router.routes()
            if route.method != "HEAD" and route.resource is not None
        }
        assert routes == {(method, path) for path, methods in OPENAPI["paths"].items() for method in methods}

    ask(test)


@wp.kernel
def no_number(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = math.nan
    return wp.ANY_GPU


@pytest.mark.compiled
def test_a_score_that_is_no_number_is_told_in_one_line_and_the_service_lives(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test(front: Front) -> None:
        for _ in range(2):
            asked = {"Pod": front.client.pods["p"], "Nodes": None, "NodeNames": ["a", "b"]}
            status, answer = await front.ask("POST", "/filter", asked)
            assert status == 500
            assert "policy nonumber: score of node a for task" in answer["error"]
        assert await front.ask("GET", "/healthz") == (200, "ok\n")

    wp.register(wp.Policy("nonumber", "x", no_number))
    try:
        ask(test, policy="nonumber")
    finally:
        del REGISTRY["nonumber"]
    assert "Traceback" not in caplog.text
