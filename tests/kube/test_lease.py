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
