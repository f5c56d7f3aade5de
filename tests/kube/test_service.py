"""The verbs: one node for each pod, whatever the scheduler asks and the cluster shows."""

from __future__ import annotations

import json

import pytest

from kube.api_in_memory import asked, gpu_left, in_a_loop, reservation_of, started, to_bind, two_nodes
from wattpack.kube.reservations import State

INDEX = "alibabacloud.com/gpu-index"


@in_a_loop
async def test_filter_answers_with_one_node_and_bind_writes_the_gpu() -> None:
    client = two_nodes("p")
    service = await started(client)
    answer = await service.filter(asked(client.pod("p"), "a", "b"))
    assert (answer.node_names, answer.error) == (["a"], "")
    assert (await service.bind(to_bind("p", "a"))).error == ""
    assert client.bindings == [("p", "a")]
    assert client.pod("p").metadata.annotations[INDEX] == "0"


@in_a_loop
async def test_what_is_assumed_and_not_bound_yet_is_not_given_to_the_next_pod() -> None:
    client = two_nodes()
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
    client = two_nodes("p")
    service = await started(client)
    for _ in range(5):
        assert (await service.filter(asked(client.pod("p"), "a", "b"))).node_names == ["a"]
    assert gpu_left(service, "a") == [500, 1000]


@in_a_loop
async def test_a_seen_pod_keeps_its_place_whatever_the_scheduler_asks() -> None:
    client = two_nodes()
    client.add_pod("p", node="b", index="1")
    service = await started(client)
    args = asked(client.pod("p"), "a", "b")
    assert (await service.filter(args)).node_names == ["b"]
    assert json.loads(await service.prioritize(args)) == [{"Host": "a", "Score": 0}, {"Host": "b", "Score": 10}]
    assert gpu_left(service, "b") == [1000, 500]
    assert reservation_of(service, "uid-p").state is State.SEEN


@in_a_loop
async def test_explain_leaves_the_reservation_of_a_bound_pod_as_it_is() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    await service.bind(to_bind("p", "a"))
    held, before = reservation_of(service, "uid-p"), service.state()["nodes"]
    service.decisions.clear()
    assert service.explain("default", "p") is not None
    assert reservation_of(service, "uid-p") is held
    assert held.state is State.BOUND
    assert service.state()["nodes"] == before


@in_a_loop
async def test_a_pod_that_is_deleted_while_pending_gives_its_room_back() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    service.change_pod("DELETED", client.pod("p"))
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_a_pod_bound_by_us_is_gone_after_a_list_without_it() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    await service.bind(to_bind("p", "a"))
    client.pods.clear()
    await service.pods.relist()
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_prioritize_gives_the_chosen_node_ten_and_no_other() -> None:
    client = two_nodes("p")
    client.add_node("c", model="V100M16")
    service = await started(client, mode="score")
    args = asked(client.pod("p"), "c", "a", "b", "unknown")
    assert (await service.filter(args)).node_names == ["a", "b", "c"]
    scores = {row["Host"]: row["Score"] for row in json.loads(await service.prioritize(args))}
    assert scores["a"] == 10
    assert all(0 <= scores[name] < 10 for name in ("b", "c", "unknown"))


@in_a_loop
async def test_nothing_is_decided_before_the_cache_is_in_sync() -> None:
    client = two_nodes("p")
    service = await started(client)
    service.pods.listed = False
    assert not service.ready
    assert "not in sync" in (await service.filter(asked(client.pod("p"), "a"))).error
    assert "not in sync" in (await service.bind(to_bind("p", "a"))).error


@in_a_loop
async def test_a_pod_that_contradicts_itself_is_an_error_and_takes_nothing() -> None:
    client = two_nodes()
    pod = client.add_pod("p", milli=500, count=2)
    service = await started(client)
    assert "shares of 2 GPUs" in (await service.filter(asked(pod, "a", "b"))).error
    assert len(service.view.cluster.reservations) == 0


@in_a_loop
async def test_a_node_with_a_pod_that_cannot_be_read_is_left_alone_while_the_pod_is_there() -> None:
    client = two_nodes("p")
    client.add_pod("odd", node="a")
    client.pods["odd"]["spec"]["containers"][0]["resources"]["limits"] = {"gpu.intel.com/i915": "1"}
    service = await started(client)
    assert (await service.filter(asked(client.pod("p"), "a", "b"))).node_names == ["b"]
    service.change_pod("DELETED", client.pod("odd"))
    assert (await service.filter(asked(client.pod("p"), "a", "b"))).node_names == ["a"]


@in_a_loop
async def test_explain_tells_the_decision_as_it_was_made_and_events_say_it_in_words() -> None:
    client = two_nodes("p")
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
    client = two_nodes()
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
async def test_a_pod_whose_node_is_kept_and_not_offered_is_an_error_that_the_scheduler_tries_again_soon() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    client.late = True
    await service.bind(to_bind("p", "a"))
    answer = await service.filter(asked(client.pod("p"), "b"))
    assert (answer.node_names, answer.error) == (None, "wattpack: the pod was bound to a, or may still be")
    assert (gpu_left(service, "a"), gpu_left(service, "b")) == ([500, 1000], [1000, 1000])


@in_a_loop
async def test_a_pod_with_names_that_would_lead_to_another_path_is_refused_before_it_is_decided() -> None:
    """Its names become part of paths: of its events, and to read it."""
    client = two_nodes("p")
    service = await started(client)
    for field, name in (("name", "../p"), ("namespace", "a/b"), ("namespace", ""), ("uid", ""), ("name", "p%2f")):
        pod = client.pod("p")
        setattr(pod.metadata, field, name)
        args = asked(pod, "a", "b")
        assert "of a Kubernetes object" in (await service.filter(args)).error
        assert await service.prioritize(args) == b"[]"
    assert len(service.view.cluster.reservations) == 0
    assert len(service.events.queue) == 0


@in_a_loop
async def test_a_decision_says_which_soft_terms_were_not_weighed() -> None:
    soft = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}
    for mode, said in (("choose", "preferred anti-affinity to pods"), ("score", "")):
        client = two_nodes("p")
        client.pods["p"]["spec"]["affinity"] = soft
        service = await started(client, mode=mode)
        await service.filter(asked(client.pod("p"), "a", "b"))
        decision = service.explain("default", "p")
        assert decision is not None
        assert said in decision.note if said else decision.note == ""
