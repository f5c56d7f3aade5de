"""Energy and watts by namespace add up to the cluster, and their number is bounded."""

from __future__ import annotations

from typing import Any

import pytest

from kube.api_in_memory import InMemory, in_a_loop, started
from wattpack.kube.energy import IDLE, OTHER, Energy, count_energy, watts_by_namespace
from wattpack.kube.service import Service


def in_namespace(client: InMemory, name: str, namespace: str, **asked: Any) -> None:
    client.add_pod(name, **asked)
    client.pods[name]["metadata"]["namespace"] = namespace


async def two_teams() -> Service:
    """Node a: half of GPU 0 for one team, a quarter of it for the other, a vCPU each. Node b is empty."""
    client = InMemory()
    for name in ("a", "b"):
        client.add_node(name)
    in_namespace(client, "p", "one", milli=500, node="a", index="0")
    in_namespace(client, "q", "two", milli=250, node="a", index="0")
    return await started(client)


@in_a_loop
async def test_a_namespace_has_what_its_pods_add_by_their_shares() -> None:
    service = await two_teams()
    found = await watts_by_namespace(service.view.cluster)
    # The T4 draws 70 - 10 = 60 W above idle: 40 and 20 by 500 and 250 milli. A socket 120 - 15 = 105 W: half each.
    assert found == {"one": pytest.approx(40 + 52.5), "two": pytest.approx(20 + 52.5)}


@in_a_loop
async def test_a_pod_whose_gpus_nobody_names_has_the_watts_of_those_that_it_is_counted_on() -> None:
    client = InMemory()
    client.add_node("a", gpus=4)
    in_namespace(client, "p", "one", milli=1000, count=2, node="a")  # no index: of another scheduler
    in_namespace(client, "q", "two", milli=500, count=2, node="a")  # shares of two GPUs at once: no task says it
    service = await started(client)
    found = await watts_by_namespace(service.view.cluster)
    # Two T4 at 60 W above idle, and half a socket at 105 W.
    assert found["one"] == pytest.approx(2 * 60 + 52.5)
    assert found["two"] >= 60 + 52.5
    idle_w = service.view.cluster.in_step.idle_mw.sum() / 1000
    assert sum(found.values()) == pytest.approx(service.view.cluster.power_w() - idle_w)


@in_a_loop
async def test_namespaces_and_idle_nodes_add_up_to_the_cluster() -> None:
    service = await two_teams()
    await count_energy(service)
    energy = service.energy
    assert set(energy.namespace_w) == {"one", "two", IDLE}
    assert sum(energy.namespace_w.values()) == pytest.approx(service.view.cluster.power_w())
    assert energy.watts == service.view.cluster.power_w()


def test_energy_is_watts_by_time_and_an_interruption_counts_nothing() -> None:
    energy = Energy(10)
    energy.advance(5.0)  # nothing is known yet
    energy.see(1000.0, {"one": 600.0}, 10.0)
    energy.see(500.0, {}, 14.0)
    assert energy.joules == 4000.0
    assert energy.namespace_joules == {"one": 2400.0, IDLE: 1600.0}
    energy.stop(16.0)
    assert energy.joules == 5000.0
    energy.advance(100.0)
    energy.see(500.0, {}, 200.0)
    assert energy.joules == 5000.0
    energy.advance(10_000.0)  # the process was stopped for hours: at most a minute of it counts
    assert energy.joules == 5000.0 + 60 * 500
    energy.advance(9_000.0)
    assert energy.joules == 35_000.0


def test_namespaces_beyond_the_limit_are_one_series() -> None:
    energy = Energy(2)
    energy.see(100.0, {"a": 10.0, "b": 20.0, "c": 30.0, "d": 5.0}, 0.0)
    assert energy.namespace_w == {"c": 30.0, "b": 20.0, OTHER: 15.0, IDLE: 35.0}
    energy.advance(1.0)
    # b and c are gone: their series end, and others may have them.
    energy.see(100.0, {"a": 10.0, "d": 5.0, "e": 1.0}, 1.0)
    assert energy.namespace_w == {"a": 10.0, "d": 5.0, OTHER: 1.0, IDLE: 84.0}
    for second in range(2, 50):
        energy.see(100.0, {f"n{second}": 1.0, f"m{second}": 1.0, f"o{second}": 1.0}, float(second))
        assert len(energy.namespace_joules) <= 4
    none = Energy(0)
    none.see(10.0, {"a": 1.0}, 0.0)
    assert none.namespace_w == {OTHER: 1.0, IDLE: 9.0}


@in_a_loop
async def test_nothing_is_counted_while_the_cache_is_not_in_sync() -> None:
    service = await two_teams()
    await count_energy(service)
    service.nodes.listed = False
    await count_energy(service)
    assert service.energy.until_s is None
    assert service.energy.namespace_w == {}
