"""The verbs: one node, one binding, whatever gets lost on the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kube.api_in_memory import InMemory, asked, started, to_bind
from wattpack.kube.config import LeaseConfig
from wattpack.kube.reservations import Reservation, State
from wattpack.kube.service import Service

INDEX = "alibabacloud.com/gpu-index"
LEASED = LeaseConfig(duration_s=1.0)


def in_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """The test, run to its end in a loop of its own."""

    def run() -> None:
        asyncio.run(test())  # type: ignore[arg-type]

    run.__name__ = test.__name__  # type: ignore[attr-defined]
    return run


def cluster(*pods: str) -> InMemory:
    client = InMemory()
    for name in ("a", "b"):
        client.add_node(name)
    for pod in pods:
        client.add_pod(pod)
    return client


def gpu_left(service: Service, node: str) -> list[int]:
    return next(row["gpu_left_milli"] for row in service.state()["nodes"] if row["node"] == node)


def reservation(service: Service, uid: str) -> Reservation:
    found = service.view.cluster.reservations.get(uid)
    assert found is not None
    return found


@in_a_loop
async def test_filter_answers_with_one_node_and_bind_writes_the_gpu() -> None:
    client = cluster("p")
    service = await started(client)
    answer = await service.filter(asked(client.pod("p"), "a", "b"))
    assert (answer.node_names, answer.error) == (["a"], "")
    assert (await service.bind(to_bind("p", "a"))).error == ""
    assert client.bindings == [("p", "a")]
    assert client.pod("p").metadata.annotations[INDEX] == "0"


@in_a_loop
async def test_what_is_assumed_and_not_bound_yet_is_not_given_to_the_next_pod() -> None:
    client = cluster()
    service = await started(client)
    nodes = []
    for name in ("p", "q", "r", "s", "t"):
        pod = client.add_pod(name, 1000)
        answer = await service.filter(asked(pod, "a", "b"))
        nodes.append(answer.node_names)
    assert nodes == [["a"], ["a"], ["b"], ["b"], []]
    assert set(answer.failed_and_unresolvable_nodes) == {"a", "b"}
    assert "not enough free GPU" in answer.failed_and_unresolvable_nodes["a"]


@in_a_loop
async def test_asking_again_for_the_same_pod_takes_no_room_twice() -> None:
    client = cluster("p")
    service = await started(client)
    for _ in range(5):
        assert (await service.filter(asked(client.pod("p"), "a", "b"))).node_names == ["a"]
    assert gpu_left(service, "a") == [500, 1000]


@in_a_loop
async def test_a_bind_after_a_restart_finds_room_on_the_node_that_the_scheduler_names() -> None:
    client = cluster("p")
    service = await started(client)  # knows nothing of what an earlier process answered
    assert (await service.bind(to_bind("p", "b"))).error == ""
    assert client.bindings == [("p", "b")]
    assert client.pod("p").metadata.annotations[INDEX] == "0"


@in_a_loop
async def test_a_bind_where_nothing_is_left_is_refused_and_binds_nothing() -> None:
    client = cluster("p")
    for number in range(4):
        client.add_pod(f"q{number}", 1000, node="ab"[number // 2], index=str(number % 2))
    service = await started(client)
    assert "does not fit" in (await service.bind(to_bind("p", "b"))).error
    assert client.bindings == []


@in_a_loop
async def test_a_binding_whose_answer_was_lost_is_found_and_told_as_done() -> None:
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.lost = True
    assert (await service.bind(to_bind("p", "a"))).error == ""
    assert client.bindings == [("p", "a")]
    assert gpu_left(service, "a") == [500, 1000]


@in_a_loop
async def test_a_second_bind_of_a_bound_pod_is_done_already_and_elsewhere_an_error() -> None:
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    for _ in range(2):
        assert (await service.bind(to_bind("p", "a"))).error == ""
    assert "already" in (await service.bind(to_bind("p", "b"))).error
    assert client.bindings == [("p", "a")]


@in_a_loop
async def test_two_binds_of_one_pod_at_the_same_time_make_one_binding() -> None:
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    answers = await asyncio.gather(service.bind(to_bind("p", "a")), service.bind(to_bind("p", "a")))
    assert [answer.error for answer in answers] == ["", ""]
    assert client.bindings == [("p", "a")]


@in_a_loop
async def test_a_refused_binding_gives_the_room_back() -> None:
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.refused = True
    assert "refused" in (await service.bind(to_bind("p", "a"))).error
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_a_binding_of_which_nothing_is_known_keeps_its_room() -> None:
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.lost = client.silent = True
    assert (await service.bind(to_bind("p", "a"))).error != ""
    assert gpu_left(service, "a") == [500, 1000]
    await service.pods.relist()  # the list shows it on its node
    assert gpu_left(service, "a") == [500, 1000]
    assert reservation(service, "uid-p").state is State.SEEN


@in_a_loop
async def test_a_binding_that_may_still_be_made_keeps_its_room_and_the_pod_is_sent_there_again() -> None:
    client = cluster("p", "q")
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
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.late = True
    await service.bind(to_bind("p", "a"))
    reservation(service, "uid-p").assumed_s -= 100
    service.tidy()
    assert gpu_left(service, "a") == [500, 1000]
    reservation(service, "uid-p").assumed_s -= 100
    service.tidy()
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_a_pod_whose_binding_is_under_way_is_sent_to_no_other_node() -> None:
    """The scheduler gave up waiting for `bind` and asks again, and a better node has come meanwhile."""
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "b"))
    answered = asyncio.Event()
    made = client.bind

    async def slow(*given: Any) -> None:
        await answered.wait()
        await made(*given)

    client.bind = slow  # type: ignore[method-assign]
    binding = asyncio.ensure_future(service.bind(to_bind("p", "b")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (await service.filter(asked(client.pod("p"), "a", "b"))).node_names == ["b"]
    assert (gpu_left(service, "a"), gpu_left(service, "b")) == ([1000, 1000], [500, 1000])
    reservation(service, "uid-p").assumed_s -= 61
    service.tidy()
    assert gpu_left(service, "b") == [500, 1000]
    answered.set()
    assert (await binding).error == ""
    assert client.bindings == [("p", "b")]


@in_a_loop
async def test_a_seen_pod_keeps_its_place_whatever_the_scheduler_asks() -> None:
    client = cluster()
    client.add_pod("p", node="b", index="1")
    service = await started(client)
    args = asked(client.pod("p"), "a", "b")
    assert (await service.filter(args)).node_names == ["b"]
    assert json.loads(await service.prioritize(args)) == [{"Host": "a", "Score": 0}, {"Host": "b", "Score": 10}]
    assert gpu_left(service, "b") == [1000, 500]
    assert reservation(service, "uid-p").state is State.SEEN


@in_a_loop
async def test_explain_leaves_the_reservation_of_a_bound_pod_as_it_is() -> None:
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    await service.bind(to_bind("p", "a"))
    held, before = reservation(service, "uid-p"), service.state()["nodes"]
    service.decisions.clear()
    assert service.explain("default", "p") is not None
    assert reservation(service, "uid-p") is held
    assert held.state is State.BOUND
    assert service.state()["nodes"] == before


@in_a_loop
async def test_names_that_would_lead_to_another_path_are_refused() -> None:
    client = cluster("p")
    service = await started(client)
    for name in ("p/status?x=", "../p", "", "P", "a\n"):
        assert "expected the name" in (await service.bind(to_bind(name, "a"))).error
    assert client.bindings == []


@in_a_loop
async def test_a_pod_that_is_deleted_while_pending_gives_its_room_back() -> None:
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    service.change_pod("DELETED", client.pod("p"))
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_a_pod_bound_by_us_is_gone_after_a_list_without_it() -> None:
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    await service.bind(to_bind("p", "a"))
    client.pods.clear()
    await service.pods.relist()
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_a_pod_of_the_same_name_and_another_uid_is_not_bound_in_its_place() -> None:
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.pods["p"]["metadata"]["uid"] = "another"
    assert (await service.bind(to_bind("p", "a"))).error != ""
    assert client.bindings == []


@in_a_loop
async def test_prioritize_gives_the_chosen_node_ten_and_no_other() -> None:
    client = cluster("p")
    client.add_node("c", model="V100M16")
    service = await started(client, mode="score")
    args = asked(client.pod("p"), "c", "a", "b", "unknown")
    assert (await service.filter(args)).node_names == ["a", "b", "c"]
    scores = {row["Host"]: row["Score"] for row in json.loads(await service.prioritize(args))}
    assert scores["a"] == 10
    assert all(0 <= scores[name] < 10 for name in ("b", "c", "unknown"))


@in_a_loop
async def test_nothing_is_decided_before_the_cache_is_in_sync() -> None:
    client = cluster("p")
    service = await started(client)
    service.pods.listed = False
    assert not service.ready
    assert "not in sync" in (await service.filter(asked(client.pod("p"), "a"))).error
    assert "not in sync" in (await service.bind(to_bind("p", "a"))).error


@in_a_loop
async def test_of_two_replicas_one_decides_and_the_other_takes_over_when_it_stops() -> None:
    client = cluster("p", "q")
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
    client = cluster("p")
    one = await started(client, "one", lease=LEASED)
    await one.filter(asked(client.pod("p"), "a", "b"))
    again = await started(client, "one", lease=LEASED)
    assert (await again.filter(asked(client.pod("p"), "a", "b"))).error == ""


@in_a_loop
async def test_a_replica_that_ends_leaves_its_lease_to_others() -> None:
    client = cluster("p")
    one, two = await started(client, "one", lease=LEASED), await started(client, "two", lease=LEASED)
    await one.filter(asked(client.pod("p"), "a", "b"))
    await one.lease.leave()
    assert (await two.filter(asked(client.pod("p"), "a", "b"))).error == ""


@in_a_loop
async def test_a_pod_that_contradicts_itself_is_an_error_and_takes_nothing() -> None:
    client = cluster()
    pod = client.add_pod("p", milli=500, count=2)
    service = await started(client)
    assert "shares of 2 GPUs" in (await service.filter(asked(pod, "a", "b"))).error
    assert len(service.view.cluster.reservations) == 0


@in_a_loop
async def test_a_node_with_a_pod_that_cannot_be_read_is_left_alone_while_the_pod_is_there() -> None:
    client = cluster("p")
    client.add_pod("odd", milli=500, count=2, node="a")
    service = await started(client)
    assert (await service.filter(asked(client.pod("p"), "a", "b"))).node_names == ["b"]
    service.change_pod("DELETED", client.pod("odd"))
    assert (await service.filter(asked(client.pod("p"), "a", "b"))).node_names == ["a"]


@in_a_loop
async def test_explain_tells_the_decision_as_it_was_made_and_events_say_it_in_words() -> None:
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    await service.bind(to_bind("p", "a"))
    decision = service.explain("default", "p")
    assert decision is not None
    assert (decision.node, decision.gpus, decision.fitting) == ("a", (0,), 2)
    assert decision.watts == pytest.approx(60 + 105)  # a T4 from 10 to 70 W, a socket from 15 to 120 W
    assert decision.words() == service.events.queue[0].words()
    assert "a GPU 0 chosen among 2 nodes" in decision.words()


@in_a_loop
async def test_explain_of_a_pod_from_before_the_start_says_how_it_would_be_decided_now() -> None:
    client = cluster()
    client.add_pod("old", node="b", index="1")
    service = await started(client)
    before = service.state()["nodes"]
    decision = service.explain("default", "old")
    assert decision is not None
    assert decision.node == "a"
    assert "it is on b" in decision.note
    assert service.state()["nodes"] == before
    assert service.explain("default", "nobody") is None


@in_a_loop
async def test_an_assumed_reservation_without_a_binding_expires() -> None:
    client = cluster("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    service.tidy()
    assert gpu_left(service, "a") == [500, 1000]
    reservation(service, "uid-p").assumed_s -= 61
    service.tidy()
    assert gpu_left(service, "a") == [1000, 1000]
