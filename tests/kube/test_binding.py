"""The verb bind: one Binding, whatever gets lost on the way."""

from __future__ import annotations

import asyncio

import pytest

from kube.api_in_memory import (
    InMemory,
    asked,
    bindings_wait,
    deliver,
    gpu_left,
    in_a_loop,
    later,
    reservation_of,
    started,
    to_bind,
    two_nodes,
)
from wattpack.kube.reservations import State
from wattpack.kube.service import Service
from wattpack.kube.wire import BindingArgs

INDEX = "alibabacloud.com/gpu-index"


@in_a_loop
async def test_a_bind_after_a_restart_finds_room_on_the_node_that_the_scheduler_names() -> None:
    client = two_nodes("p")
    service = await started(client)  # knows nothing of what an earlier process answered
    assert (await service.bind(to_bind("p", "b"))).error == ""
    assert client.bindings == [("p", "b")]
    assert client.pod("p").metadata.annotations[INDEX] == "0"


@in_a_loop
async def test_a_bind_where_nothing_is_left_is_refused_and_binds_nothing() -> None:
    client = two_nodes("p")
    for number in range(4):
        client.add_pod(f"q{number}", 1000, node="ab"[number // 2], index=str(number % 2))
    service = await started(client)
    assert "does not fit" in (await service.bind(to_bind("p", "b"))).error
    assert client.bindings == []


@in_a_loop
async def test_a_binding_whose_answer_was_lost_is_found_and_told_as_done() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.lost = True
    assert (await service.bind(to_bind("p", "a"))).error == ""
    assert client.bindings == [("p", "a")]
    assert gpu_left(service, "a") == [500, 1000]


@in_a_loop
async def test_a_second_bind_of_a_bound_pod_is_done_already_and_elsewhere_an_error() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    for _ in range(2):
        assert (await service.bind(to_bind("p", "a"))).error == ""
    assert "already" in (await service.bind(to_bind("p", "b"))).error
    assert client.bindings == [("p", "a")]


@in_a_loop
async def test_two_binds_of_one_pod_at_the_same_time_make_one_binding() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    answers = await asyncio.gather(service.bind(to_bind("p", "a")), service.bind(to_bind("p", "a")))
    assert [answer.error for answer in answers] == ["", ""]
    assert client.bindings == [("p", "a")]


@in_a_loop
async def test_a_bind_to_another_node_while_one_is_under_way_is_an_error() -> None:
    client = two_nodes("p")
    service = await started(client)
    answered = bindings_wait(client)
    first = asyncio.ensure_future(service.bind(to_bind("p", "a")))
    await asyncio.sleep(0.01)
    assert "a Binding of it to a is under way" in (await service.bind(to_bind("p", "b"))).error
    answered.set()
    assert (await first).error == ""
    assert "the pod is on a already" in (await service.bind(to_bind("p", "b"))).error
    assert client.bindings == [("p", "a")]
    assert (gpu_left(service, "a"), gpu_left(service, "b")) == ([500, 1000], [1000, 1000])


@in_a_loop
async def test_a_refused_binding_gives_the_room_back() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.refused = True
    assert "refused" in (await service.bind(to_bind("p", "a"))).error
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_a_binding_of_which_nothing_is_known_keeps_its_room() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.lost = client.silent = True
    assert (await service.bind(to_bind("p", "a"))).error != ""
    assert gpu_left(service, "a") == [500, 1000]
    await service.pods.relist()  # the list shows it on its node
    assert gpu_left(service, "a") == [500, 1000]
    assert reservation_of(service, "uid-p").state is State.SEEN


@in_a_loop
async def test_a_binding_that_may_still_be_made_keeps_its_room_and_the_pod_is_sent_there_again() -> None:
    client = two_nodes("p", "q")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.late = True
    assert "no answer" in (await service.bind(to_bind("p", "a"))).error
    client.late, client.refused = False, True
    assert (await service.bind(to_bind("p", "a"))).error != ""
    assert gpu_left(service, "a") == [500, 1000]
    client.refused = False
    assert (await service.filter(asked(client.pod("p"), "b", "a"))).node_names == ["a"]
    assert "under way or was not answered" in (await service.bind(to_bind("p", "b"))).error
    assert (await service.bind(to_bind("p", "a"))).error == ""
    assert client.bindings == [("p", "a")]


@in_a_loop
async def test_a_pod_whose_binding_is_under_way_is_sent_to_no_other_node() -> None:
    """The scheduler gave up waiting for `bind` and asks again, and a better node has come meanwhile."""
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "b"))
    answered = bindings_wait(client)
    binding = asyncio.ensure_future(service.bind(to_bind("p", "b")))
    await asyncio.sleep(0.01)
    assert (await service.filter(asked(client.pod("p"), "a", "b"))).node_names == ["b"]
    assert (gpu_left(service, "a"), gpu_left(service, "b")) == ([1000, 1000], [500, 1000])
    later(service, "uid-p", 1000.0)
    await service.tidy()  # the API server says that it has no node, but the Binding is on its way
    assert gpu_left(service, "b") == [500, 1000]
    answered.set()
    assert (await binding).error == ""
    assert client.bindings == [("p", "b")]


@in_a_loop
async def test_names_that_would_lead_to_another_path_are_refused() -> None:
    client = two_nodes("p")
    service = await started(client)
    asked_before = len(client.sent)
    good = {"pod_name": "p", "pod_namespace": "default", "node": "a", "pod_uid": "uid-p"}
    names = (
        "p/status?x=",
        "../x",
        "..",
        "",
        "a\n",
        "a%2fb",
        "a b",
        "-a",
        "a-",
        "x" * 254,
        "x" * 100_000,
        "\0",
        "\u00e4",
    )
    for field in good:
        more = () if field == "pod_uid" else ("P", "a_b", "a..b", "a:b")
        for name in (*names, *more, *(["a.b", "x" * 64] if field == "pod_namespace" else [])):
            error = (await service.bind(BindingArgs(**{**good, field: name}))).error
            assert error.startswith("wattpack: ")
            assert "of a Kubernetes object" in error
            assert "\n" not in error
            assert len(error) < 600
    assert (client.bindings, client.sent[asked_before:]) == ([], [])


@in_a_loop
async def test_a_uid_that_is_that_of_another_pod_binds_neither() -> None:
    client = two_nodes("p", "q")
    service = await started(client)
    for name in ("p", "q"):
        await service.filter(asked(client.pod(name), "a", "b"))
    assert "is that of pod default/q" in (await service.bind(BindingArgs("p", "default", "a", "uid-q"))).error
    assert client.bindings == []


@in_a_loop
async def test_a_pod_of_the_same_name_and_another_uid_is_not_bound_in_its_place() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.pods["p"]["metadata"]["uid"] = "another"
    assert (await service.bind(to_bind("p", "a"))).error != ""
    assert client.bindings == []


def set_gpus(client: InMemory, service: Service, node: str, gpus: int) -> None:
    """The node shows another number of GPUs: its device plugin restarts."""
    client.nodes[node]["status"]["allocatable"]["alibabacloud.com/gpu-count"] = str(gpus)
    deliver(client, service.nodes)


@pytest.mark.parametrize("milli", [500, 1000])
@pytest.mark.parametrize("answer", ["comes late", "is lost", "is late"])
@pytest.mark.parametrize("lower", [0, 1])
def test_a_gpu_is_given_once_although_its_node_showed_fewer_while_a_binding_was_under_way(
    milli: int, answer: str, lower: int
) -> None:
    """The node has GPU 1 left; it shows no GPU, then both again, while the Binding with GPU 1 is on its way."""

    async def run() -> None:
        client = two_nodes()
        client.add_pod("running", 1000, node="a", index="0")
        service = await started(client)
        await service.filter(asked(client.add_pod("p", milli), "a"))
        answered = bindings_wait(client)
        client.lost = client.silent = answer == "is lost"
        client.late = answer == "is late"
        binding = asyncio.ensure_future(service.bind(to_bind("p", "a")))
        await asyncio.sleep(0.01)
        for gpus in (lower, 2, lower):
            set_gpus(client, service, "a", gpus)
            assert gpu_left(service, "a") == [0, 1000 - milli][:gpus]
        answered.set()
        await binding
        set_gpus(client, service, "a", 2)
        assert gpu_left(service, "a") == [0, 1000 - milli]
        assert (await service.filter(asked(client.add_pod("q", 1000), "a"))).node_names == []
        if not client.late:
            assert client.pod("p").metadata.annotations[INDEX] == "1"

    asyncio.run(run())


@pytest.mark.parametrize("milli", [500, 1000])
@pytest.mark.parametrize("lower", [0, 1])
def test_a_pod_is_not_bound_while_its_gpus_are_not_there_and_then_with_its_index(milli: int, lower: int) -> None:
    async def run() -> None:
        client = two_nodes()
        client.add_pod("running", 1000, node="a", index="0")
        service = await started(client)
        pod = client.add_pod("p", milli)
        await service.filter(asked(pod, "a"))
        set_gpus(client, service, "a", lower)
        assert "the pod is decided again" in (await service.bind(to_bind("p", "a"))).error
        assert (client.bindings, len(service.view.cluster.reservations)) == ([], 1)
        assert (await service.filter(asked(pod, "a"))).node_names == []
        set_gpus(client, service, "a", 2)
        assert (await service.filter(asked(pod, "a"))).node_names == ["a"]
        assert (await service.bind(to_bind("p", "a"))).error == ""
        assert client.pod("p").metadata.annotations[INDEX] == "1"

    asyncio.run(run())


@in_a_loop
async def test_a_pod_is_not_bound_to_gpus_on_which_another_scheduler_put_one_meanwhile() -> None:
    client = two_nodes()
    service = await started(client)
    pod = client.add_pod("p", 1000)
    await service.filter(asked(pod, "a", "b"))
    client.add_pod("foreign", 1000, node="a", index="0")
    deliver(client, service.pods)
    assert "the pod is decided again" in (await service.bind(to_bind("p", "a"))).error
    assert client.bindings == []
    assert (await service.filter(asked(pod, "a", "b"))).node_names == ["a"]  # its other GPU
    assert (await service.bind(to_bind("p", "a"))).error == ""
    assert client.pod("p").metadata.annotations[INDEX] == "1"


@in_a_loop
async def test_a_node_that_goes_and_comes_back_while_a_binding_is_under_way_still_has_the_pods_gpus_taken() -> None:
    """kube-scheduler gives up waiting and asks again while the node is away."""
    client = two_nodes()
    service = await started(client)
    pod = client.add_pod("p", 1000)
    await service.filter(asked(pod, "a", "b"))
    answered = bindings_wait(client)
    binding = asyncio.ensure_future(service.bind(to_bind("p", "a")))
    await asyncio.sleep(0.01)
    away = client.nodes.pop("a")
    deliver(client, service.nodes)
    answer = await service.filter(asked(pod, "b"))
    assert (answer.node_names, answer.error) == (None, "wattpack: the pod was bound to a, or may still be")
    client.nodes["a"] = away
    deliver(client, service.nodes)
    assert gpu_left(service, "a") == [0, 1000]
    answered.set()
    assert (await binding).error == ""
    assert client.bindings == [("p", "a")]


@in_a_loop
async def test_a_pod_created_again_while_the_binding_of_the_first_is_under_way_has_gpus_of_its_own() -> None:
    client = two_nodes()
    service = await started(client)
    await service.filter(asked(client.add_pod("p", 1000), "a", "b"))
    answered = bindings_wait(client)
    binding = asyncio.ensure_future(service.bind(to_bind("p", "a")))
    await asyncio.sleep(0.01)
    client.add_pod("p", 1000)
    client.pods["p"]["metadata"]["uid"] = "uid-again"
    await service.filter(asked(client.pod("p"), "a", "b"))
    assert gpu_left(service, "a") == [0, 0]  # the first may still be bound, for all we know
    answered.set()
    assert "replaced by another of its name" in (await binding).error
    assert gpu_left(service, "a") == [1000, 0]
    assert (await service.bind(BindingArgs("p", "default", "a", "uid-again"))).error == ""
    assert client.pod("p").metadata.annotations[INDEX] == "1"
    assert client.bindings == [("p", "a")]
