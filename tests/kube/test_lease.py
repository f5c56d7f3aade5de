"""The lease: of several replicas one decides."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kube.api_in_memory import asked, bindings_wait, gpu_left, in_a_loop, later, started, to_bind, two_nodes
from wattpack.kube.client import ApiError
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


@pytest.mark.parametrize(("duration_s", "written_s"), [(1.0, 1), (1.2, 2), (1.5, 2), (2.4, 3), (2.5, 3), (15.0, 15)])
def test_the_duration_written_is_never_shorter_than_the_one_that_is_counted(duration_s: float, written_s: int) -> None:
    """leaseDurationSeconds is an integer: another replica that reads less takes the lease while we still decide."""

    async def run() -> None:
        client = two_nodes("p")
        one = await started(client, "one", lease=LeaseConfig(duration_s=duration_s))
        await one.filter(asked(client.pod("p"), "a", "b"))
        assert client.lease is not None
        assert client.lease["spec"]["leaseDurationSeconds"] == written_s
        assert one.lease.left_s() <= written_s

    asyncio.run(run())


@pytest.mark.parametrize("answer", ["under way", "unknown"])
def test_a_lease_is_renewed_without_requests_while_a_binding_may_still_be_made(answer: str) -> None:
    """Another replica does not know of it, and would give its GPU away."""

    async def run() -> None:
        client = two_nodes()
        pod = client.add_pod("p", 1000)
        one, two = await started(client, "one", lease=LEASED), await started(client, "two", lease=LEASED)
        keeping = asyncio.ensure_future(one.lease.keep())
        await one.filter(asked(pod, "a", "b"))
        answered = bindings_wait(client)
        binding = asyncio.ensure_future(one.bind(to_bind("p", "a")))
        await asyncio.sleep(0.01)
        if answer == "unknown":
            client.late = True
            answered.set()
            assert "no answer" in (await binding).error
        other = client.add_pod("q", 1000)
        for _ in range(3):
            await asyncio.sleep(0.5)
            assert "another replica decides: one" in (await two.filter(asked(other, "a", "b"))).error
        client.late = False
        if answer == "unknown":
            await client.bind("default", "p", "uid-p", "a", {"alibabacloud.com/gpu-index": "0"}, 1.0)
            later(one, "uid-p", 61)
            await one.tidy()
        else:
            answered.set()
            assert (await binding).error == ""
        while (await two.filter(asked(other, "a", "b"))).error:  # it counts the duration from what it read last
            await asyncio.sleep(0.1)
        assert gpu_left(two, "a") == [0, 0]  # it has listed the pod that `one` bound
        keeping.cancel()

    asyncio.run(run())


@in_a_loop
async def test_a_replica_that_left_does_not_take_its_lease_again() -> None:
    """Work of its own may still be going on: nodes that sleep, a renewal."""
    client = two_nodes("p")
    one = await started(client, "one", lease=LEASED)
    one.lease.keeps_while_idle = True
    await one.filter(asked(client.pod("p"), "a", "b"))
    call = client.call

    async def slow(*given: Any, **named: Any) -> bytes:
        await asyncio.sleep(0.01)
        return await call(*given, **named)

    async def renew() -> None:
        async with one.lease.lock:
            await one.lease.take()

    client.call = slow  # type: ignore[method-assign]
    await asyncio.gather(renew(), one.lease.leave())
    assert not await one.lease.held_while_idle()
    assert not await one.lease.held()
    assert client.lease is not None
    assert client.lease["spec"]["holderIdentity"] == ""


@in_a_loop
async def test_a_replica_killed_while_it_hands_its_lease_over_holds_it_until_it_expires() -> None:
    client = two_nodes("p")
    one, two = await started(client, "one", lease=LEASED), await started(client, "two", lease=LEASED)
    await one.filter(asked(client.pod("p"), "a", "b"))
    call = client.call

    async def killed(method: str, *given: Any, **named: Any) -> bytes:
        if method == "PUT":
            raise ApiError(0, "killed")
        return await call(method, *given, **named)

    client.call = killed  # type: ignore[method-assign]
    await one.lease.leave()
    client.call = call  # type: ignore[method-assign]
    assert "another replica decides: one" in (await two.filter(asked(client.pod("p"), "a", "b"))).error
    assert "another replica decides" in (await one.filter(asked(client.pod("p"), "a", "b"))).error
    await asyncio.sleep(1.1)
    assert (await two.filter(asked(client.pod("p"), "a", "b"))).error == ""
