"""The lease: of several replicas one decides."""

from __future__ import annotations

import asyncio

from kube.api_in_memory import asked, gpu_left, in_a_loop, started, to_bind, two_nodes
from wattpack.kube.config import LeaseConfig

LEASED = LeaseConfig(duration_s=1.0)


@in_a_loop
async def test_of_two_replicas_one_decides_and_the_other_takes_over_when_it_stops() -> None:
    client = two_nodes("p", "q")
    one, two = await started(client, "one", lease=LEASED), await started(client, "two", lease=LEASED)
    assert (await one.filter(asked(client.pod("p"), "a", "b"))).error == ""
    assert "another replica decides: one" in (await two.filter(asked(client.pod("q"), "a", "b"))).error
    await one.bind(to_bind("p", "a"))
    await asyncio.sleep(1.1)  # `one` is no longer asked and does not renew
    answer = await two.filter(asked(client.pod("q"), "a", "b"))
    assert answer.error == ""
    assert gpu_left(two, "a") == [0, 1000]  # it has listed the pods: what `one` bound counts
    assert "another replica decides: two" in (await one.bind(to_bind("q", "a"))).error


@in_a_loop
async def test_a_replica_that_comes_back_under_its_name_has_its_lease_at_once() -> None:
    client = two_nodes("p")
    one = await started(client, "one", lease=LEASED)
    await one.filter(asked(client.pod("p"), "a", "b"))
    again = await started(client, "one", lease=LEASED)
    assert (await again.filter(asked(client.pod("p"), "a", "b"))).error == ""


@in_a_loop
async def test_a_replica_that_ends_leaves_its_lease_to_others() -> None:
    client = two_nodes("p")
    one, two = await started(client, "one", lease=LEASED), await started(client, "two", lease=LEASED)
    await one.filter(asked(client.pod("p"), "a", "b"))
    await one.lease.leave()
    assert (await two.filter(asked(client.pod("p"), "a", "b"))).error == ""


@in_a_loop
async def test_a_replica_that_keeps_nodes_renews_without_requests_and_gives_way_to_one_that_is_asked() -> None:
    client = two_nodes("p")
    one, two = await started(client, "one", lease=LEASED), await started(client, "two", lease=LEASED)
    for service in (one, two):
        service.lease.keeps_while_idle = True
    assert await one.lease.held_while_idle()
    keeping = asyncio.ensure_future(one.lease.keep())
    await asyncio.sleep(1.5)  # longer than the lease lasts
    assert one.lease.left_s() > 0
    assert not await two.lease.held_while_idle()  # nobody asks `two`: it waits
    assert "another replica decides: one" in (await two.filter(asked(client.pod("p"), "a", "b"))).error
    await asyncio.sleep(0.6)
    assert (await two.filter(asked(client.pod("p"), "a", "b"))).error == ""
    assert not await one.lease.held_while_idle()
    keeping.cancel()


@in_a_loop
async def test_a_replica_without_nodes_to_keep_writes_nothing_into_the_lease_of_another() -> None:
    client = two_nodes("p")
    one, two = await started(client, "one", lease=LEASED), await started(client, "two", lease=LEASED)
    await one.filter(asked(client.pod("p"), "a", "b"))
    await two.filter(asked(client.pod("p"), "a", "b"))
    assert [method for method, path, _ in client.sent if "/leases" in path and method == "PATCH"] == []
