"""The verb bind: one Binding, whatever gets lost on the way."""

from __future__ import annotations

import asyncio

from kube.api_in_memory import asked, bindings_wait, gpu_left, in_a_loop, reservation_of, started, to_bind, two_nodes
from wattpack.kube.reservations import State

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
async def test_a_binding_that_was_never_seen_to_happen_is_given_up_in_the_end() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.late = True
    await service.bind(to_bind("p", "a"))
    reservation_of(service, "uid-p").assumed_s -= 100
    service.tidy()
    assert gpu_left(service, "a") == [500, 1000]
    reservation_of(service, "uid-p").assumed_s -= 100
    service.tidy()
    assert gpu_left(service, "a") == [1000, 1000]


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
    reservation_of(service, "uid-p").assumed_s -= 61
    service.tidy()
    assert gpu_left(service, "b") == [500, 1000]
    answered.set()
    assert (await binding).error == ""
    assert client.bindings == [("p", "b")]


@in_a_loop
async def test_names_that_would_lead_to_another_path_are_refused() -> None:
    client = two_nodes("p")
    service = await started(client)
    for name in ("p/status?x=", "../p", "", "P", "a\n"):
        assert "expected the name" in (await service.bind(to_bind(name, "a"))).error
    assert client.bindings == []


@in_a_loop
async def test_a_pod_of_the_same_name_and_another_uid_is_not_bound_in_its_place() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.pods["p"]["metadata"]["uid"] = "another"
    assert (await service.bind(to_bind("p", "a"))).error != ""
    assert client.bindings == []
