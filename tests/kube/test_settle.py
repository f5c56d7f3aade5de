"""Reservations that the watch leaves open: they end by the API server's word and never because time has passed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kube.api_in_memory import (
    InMemory,
    asked,
    bindings_wait,
    gpu_left,
    in_a_loop,
    later,
    reservation_of,
    started,
    to_bind,
    two_nodes,
)
from wattpack.kube.client import ApiError
from wattpack.kube.reservations import LATE_S, State

LONG_S = 1e6
REFUSED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}


def has_no_reservation(service: Any, uid: str) -> bool:
    return service.view.cluster.reservations.get(uid) is None


@in_a_loop
async def test_a_bound_reservation_outlives_any_silence_of_the_watch() -> None:
    """The watch is open, counts as in sync, and shows nothing: the API server says where the pod is."""
    client = two_nodes("p", "q")
    service = await started(client)
    await service.filter(asked(client.add_pod("p", 1000), "a", "b"))
    assert (await service.bind(to_bind("p", "a"))).error == ""
    later(service, "uid-p", LONG_S)
    await service.tidy()
    assert reservation_of(service, "uid-p").state is State.SEEN
    assert gpu_left(service, "a") == [0, 1000]


@pytest.mark.parametrize("bound", [False, True])
def test_a_reservation_stays_while_the_api_server_cannot_be_asked(bound: bool) -> None:
    async def run() -> None:
        client = two_nodes("p")
        service = await started(client)
        await service.filter(asked(client.pod("p"), "a", "b"))
        client.late, client.silent = True, True
        if bound:
            assert "no answer" in (await service.bind(to_bind("p", "a"))).error
        for _ in range(3):
            later(service, "uid-p", LONG_S)
            await service.tidy()
            assert gpu_left(service, "a") == [500, 1000]

    asyncio.run(run())


@pytest.mark.parametrize("status", [0, 408, 500, 503, 504])
def test_a_binding_whose_outcome_is_unknown_keeps_its_room_until_it_cannot_be_made_any_more(status: int) -> None:
    """No answer, or one that does not say whether etcd has it: a pod without a node may still get one."""

    async def run() -> None:
        client = two_nodes("p")
        service = await started(client)
        await service.filter(asked(client.pod("p"), "a", "b"))

        async def unknown(*given: Any) -> None:
            raise ApiError(status, "etcdserver: request timed out")

        made, client.bind = client.bind, unknown  # type: ignore[method-assign]
        assert "timed out" in (await service.bind(to_bind("p", "a"))).error
        client.bind = made  # type: ignore[method-assign]
        later(service, "uid-p", LATE_S - 10)
        await service.tidy()
        assert gpu_left(service, "a") == [500, 1000]
        later(service, "uid-p", 40)
        await service.tidy()
        assert gpu_left(service, "a") == [1000, 1000]

    asyncio.run(run())


@in_a_loop
async def test_a_binding_that_is_made_late_is_found_where_it_was_reserved() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.late = True
    await service.bind(to_bind("p", "a"))
    client.late = False
    await client.bind("default", "p", "uid-p", "a", {"alibabacloud.com/gpu-index": "0"}, 1.0)
    later(service, "uid-p", LONG_S)
    await service.tidy()
    assert reservation_of(service, "uid-p").state is State.SEEN
    assert gpu_left(service, "a") == [500, 1000]


@in_a_loop
async def test_a_binding_under_way_is_not_given_up_whatever_the_api_server_says_meanwhile() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    answered = bindings_wait(client)
    binding = asyncio.ensure_future(service.bind(to_bind("p", "a")))
    await asyncio.sleep(0.01)
    later(service, "uid-p", LONG_S)
    await service.tidy()
    assert gpu_left(service, "a") == [500, 1000]
    answered.set()
    assert (await binding).error == ""


@in_a_loop
async def test_a_pod_that_waits_in_permit_or_prebind_keeps_its_gpus_and_is_bound_to_them() -> None:
    client = two_nodes()
    pod = client.add_pod("p", 1000)
    pod.status.conditions = []
    service = await started(client)
    await service.filter(asked(pod, "a", "b"))
    for _ in range(3):
        later(service, "uid-p", 600)
        await service.tidy()
    client.add_pod("q", 1000)
    assert (await service.filter(asked(client.pod("q"), "a", "b"))).node_names == ["a"]
    assert (await service.bind(to_bind("p", "a"))).error == ""
    assert client.pod("p").metadata.annotations["alibabacloud.com/gpu-index"] == "0"


@in_a_loop
async def test_a_pod_that_its_scheduler_refused_after_it_was_decided_gives_its_gpus_back() -> None:
    """Another plugin refused it, in Permit for example: an extender is not told."""
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.pods["p"]["status"]["conditions"] = [REFUSED]
    await service.tidy()
    assert gpu_left(service, "a") == [500, 1000]  # a moment ago: not asked about yet
    later(service, "uid-p", 61)
    await service.tidy()
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_a_refusal_from_before_the_decision_does_not_end_the_reservation() -> None:
    client = two_nodes("p")
    client.pods["p"]["status"]["conditions"] = [REFUSED]
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    later(service, "uid-p", LONG_S)
    await service.tidy()
    assert gpu_left(service, "a") == [500, 1000]


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("again", [False, True], ids=["deleted", "created again"])
def test_a_pod_deleted_in_a_silent_watch_gives_its_gpus_back(bound: bool, again: bool) -> None:
    async def run() -> None:
        client = two_nodes("p")
        service = await started(client)
        await service.filter(asked(client.pod("p"), "a", "b"))
        if bound:
            await service.bind(to_bind("p", "a"))
        del client.pods["p"]
        if again:
            client.add_pod("p")
            client.pods["p"]["metadata"]["uid"] = "uid-again"
        later(service, "uid-p", 61)
        await service.tidy()
        assert has_no_reservation(service, "uid-p")
        assert gpu_left(service, "a") == [1000, 1000]

    asyncio.run(run())


@in_a_loop
async def test_a_pod_that_another_scheduler_bound_in_a_silent_watch_is_counted_where_it_is() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    await client.bind("default", "p", "uid-p", "b", {"alibabacloud.com/gpu-index": "1"}, 1.0)
    later(service, "uid-p", 61)
    await service.tidy()
    assert (gpu_left(service, "a"), gpu_left(service, "b")) == ([1000, 1000], [1000, 500])


@in_a_loop
async def test_an_answer_about_a_pod_that_was_decided_again_meanwhile_changes_nothing() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    later(service, "uid-p", 61)
    client.pods["p"]["status"]["conditions"] = [REFUSED]
    read = client.get_pod

    async def slow(namespace: str, name: str) -> Any:
        shown = await read(namespace, name)
        await service.filter(asked(client.pod("p"), "a", "b"))
        return shown

    client.get_pod = slow  # type: ignore[method-assign]
    await service.tidy()
    assert gpu_left(service, "a") == [500, 1000]


@in_a_loop
async def test_a_list_from_before_the_pod_does_not_end_its_reservation() -> None:
    """kube-scheduler saw the pod first; the list was made before it, and arrives after its Binding."""
    client = two_nodes("q")
    service = await started(client)
    client.fault("pods").list_at = client.note()
    client.add_pod("p", 1000)
    await service.filter(asked(client.pod("p"), "a", "b"))
    await service.bind(to_bind("p", "a"))
    await service.pods.relist()
    assert gpu_left(service, "a") == [0, 1000]


@in_a_loop
async def test_few_pods_are_asked_about_at_once_and_each_gets_its_turn() -> None:
    client = InMemory()
    for node in "abc":
        client.add_node(node)
    service = await started(client)
    for number in range(70):
        await service.filter(asked(client.add_pod(f"p{number}", 10), *"abc"))
        later(service, f"uid-p{number}", 61)
    turns = []
    for _ in range(3):
        before = len(client.sent)
        await service.tidy()
        turns.append({path for method, path, _ in client.sent[before:] if "/pods/" in path})
    assert [len(turn) for turn in turns] == [32, 32, 6]
    assert len(set().union(*turns)) == 70
