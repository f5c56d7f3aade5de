"""Shadow mode: the policy's own cluster beside the real one, and how often the two differ."""

from __future__ import annotations

import asyncio

from kube.api_in_memory import InMemory, asked, started, to_bind
from wattpack.kube.service import Service


async def shadow_of(client: InMemory) -> Service:
    service = await started(client, mode="shadow")
    assert service.shadow is not None
    return service


def bound(client: InMemory, service: Service, name: str, node: str, index: str, milli: int = 500) -> None:
    """Another scheduler places a pod, and the watch shows it."""
    client.add_pod(name, milli)
    service.change_pod("ADDED", client.pod(name))
    client.add_pod(name, milli, node=node, index=index)
    service.change_pod("MODIFIED", client.pod(name))


def test_nothing_is_decided_or_bound() -> None:
    async def test() -> None:
        client = InMemory()
        client.add_node("a")
        client.add_pod("p")
        service = await shadow_of(client)
        assert "shadow mode" in (await service.filter(asked(client.pod("p"), "a"))).error
        assert "shadow mode" in (await service.bind(to_bind("p", "a"))).error
        assert client.bindings == []

    asyncio.run(test())


def test_it_counts_where_the_policy_agrees_and_where_not_and_estimates_the_watts() -> None:
    async def test() -> None:
        client = InMemory()
        for name in ("a", "b"):
            client.add_node(name)
        service = await shadow_of(client)
        shadow = service.shadow
        assert shadow is not None
        bound(client, service, "p", "a", "0")  # as FGD would
        bound(client, service, "q", "b", "0")  # FGD would fill up GPU 0 of a
        table = shadow.table()
        assert (table["pods_placed_since_start"], table["same_node"], table["other_node"]) == (2, 1, 1)
        # The scheduler woke a second T4 (60 W) and a second socket (105 W).
        assert table["estimated_saving_w"] == 60 + 105
        assert table["pods"][1] == {
            "pod": "default/q",
            "scheduler": "wattpack",
            "node": "b",
            "watts": 165.0,
            "policy_node": "a",
            "policy_watts": 0.0,
            "agreement": "other_node",
        }

    asyncio.run(test())


def test_pods_that_were_there_at_the_start_are_the_same_in_both() -> None:
    async def test() -> None:
        client = InMemory()
        client.add_node("a")
        client.add_node("b")
        client.add_pod("old", node="b", index="1")
        service = await shadow_of(client)
        assert service.shadow is not None
        table = service.shadow.table()
        assert table["pods_placed_since_start"] == 0
        assert table["cluster_w"] == table["cluster_under_policy_w"] > 0

    asyncio.run(test())


def test_a_pod_that_ends_leaves_both_clusters() -> None:
    async def test() -> None:
        client = InMemory()
        client.add_node("a")
        client.add_node("b")
        service = await shadow_of(client)
        shadow = service.shadow
        assert shadow is not None
        empty_w = shadow.own.power_w()
        bound(client, service, "q", "b", "0")
        service.change_pod("DELETED", client.pod("q"))
        assert shadow.own.power_w() == service.view.cluster.power_w() == empty_w

    asyncio.run(test())


def test_nodes_that_come_and_go_do_so_in_both() -> None:
    async def test() -> None:
        client = InMemory()
        client.add_node("a")
        service = await shadow_of(client)
        assert service.shadow is not None
        client.add_node("b")
        await service.nodes.relist()
        assert set(service.shadow.own.nodes) == {"a", "b"}
        del client.nodes["a"]
        await service.nodes.relist()
        assert set(service.shadow.own.nodes) == {"b"}

    asyncio.run(test())
