"""Claims through filter and bind: what is written, what is given back, and each rule about claims of others."""

from __future__ import annotations

import copy

import msgspec

from kube.api_in_memory import asked, gpu_left, in_a_loop, reservation_of, to_bind
from kube.claims_in_memory import ClaimsInMemory, serving, two_nodes_with_slices
from wattpack.kube.client import ApiError
from wattpack.kube.config import Server
from wattpack.kube.dra.objects import DELETE_PROTECTION
from wattpack.kube.questions import fit, state_of
from wattpack.kube.reservations import State
from wattpack.kube.run import take_config
from wattpack.kube.service import Service


async def filtered(service: Service, client: ClaimsInMemory, pod: str) -> list[str] | None:
    return (await service.filter(asked(client.pod(pod), "a", "b"))).node_names


async def placed(service: Service, client: ClaimsInMemory, pod: str) -> str:
    """Filter and bind; the node, or the error of the bind."""
    names = await filtered(service, client, pod)
    assert names, await service.filter(asked(client.pod(pod), "a", "b"))
    return (await service.bind(to_bind(pod, names[0]))).error or names[0]


@in_a_loop
async def test_filter_decides_node_and_device_and_bind_writes_finalizer_allocation_pod_and_binding() -> None:
    client = two_nodes_with_slices("p")
    service = await serving(client)
    assert await filtered(service, client, "p") == ["a"]
    assert client.written == []
    assert gpu_left(service, "a") == [500, 1000]
    assert (await service.bind(to_bind("p", "a"))).error == ""
    assert client.written == ["p", "p/status"]
    assert client.claims["p"]["metadata"]["finalizers"] == [DELETE_PROTECTION]
    assert client.allocated("p") == ("a", ["gpu-0"], ["p"])
    assert client.bindings == [("p", "a")]
    await service.pods.relist()
    assert reservation_of(service, "uid-p").state is State.SEEN
    assert gpu_left(service, "a") == [500, 1000]


@in_a_loop
async def test_pods_are_packed_on_devices_as_the_policy_packs_gpus() -> None:
    client = two_nodes_with_slices()
    for number, milli in enumerate((500, 1000, 500, 1000)):
        client.add_claim(f"p{number}", milli)
        client.add_claiming_pod(f"p{number}")
    client.add_claim("two", 1000, count=2)
    client.add_claiming_pod("two")
    service = await serving(client)
    for number in range(4):
        await placed(service, client, f"p{number}")
    assert [client.allocated(f"p{number}")[:2] for number in range(4)] == [
        ("a", ["gpu-0"]),
        ("a", ["gpu-1"]),
        ("a", ["gpu-0"]),  # the other half
        ("b", ["gpu-0"]),
    ]
    answer = await service.filter(asked(client.pod("two"), "a", "b"))
    assert answer.node_names == []
    assert set(answer.failed_and_unresolvable_nodes) == {"a", "b"}


@in_a_loop
async def test_a_claim_that_is_not_made_from_its_template_yet_is_an_error_that_the_scheduler_tries_again() -> None:
    client = two_nodes_with_slices()
    client.add_claiming_pod("p", template="half")
    service = await serving(client)
    assert "not made from its template yet" in (await service.filter(asked(client.pod("p"), "a", "b"))).error
    client.add_claim("p-gpu-x7k2p")
    client.pods["p"]["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": "p-gpu-x7k2p"}]
    assert await placed(service, client, "p") == "a"
    assert client.allocated("p-gpu-x7k2p") == ("a", ["gpu-0"], ["p"])


@in_a_loop
async def test_a_claim_that_was_deleted_or_is_going_is_an_error_and_nothing_is_written() -> None:
    client = two_nodes_with_slices("p", "q")
    client.claims["q"]["metadata"]["deletionTimestamp"] = "2026-01-05T10:00:00Z"
    del client.claims["p"]
    service = await serving(client)
    assert "claim p is not there" in (await service.filter(asked(client.pod("p"), "a", "b"))).error
    assert "claim q is being deleted" in (await service.filter(asked(client.pod("q"), "a", "b"))).error
    assert client.written == []


@in_a_loop
async def test_a_claim_that_is_deleted_between_filter_and_bind_gives_the_room_back() -> None:
    client = two_nodes_with_slices("p")
    service = await serving(client)
    await filtered(service, client, "p")

    def delete(method: str, path: str) -> None:
        client.claims.pop("p", None)

    client.before = delete
    assert "claim p was deleted" in (await service.bind(to_bind("p", "a"))).error
    assert client.bindings == []
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_a_pod_whose_claim_is_allocated_already_goes_to_that_node_and_takes_nothing_new() -> None:
    client = two_nodes_with_slices("p")
    client.allocate("p", "b", "gpu-1", pod="p", milli=500)
    written = len(client.written)
    service = await serving(client)
    assert gpu_left(service, "b") == [1000, 500]
    assert await placed(service, client, "p") == "b"
    assert len(client.written) == written
    await service.pods.relist()
    assert gpu_left(service, "b") == [1000, 500]
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_pods_that_share_a_claim_go_to_one_node_and_hold_its_gpu_once() -> None:
    client = two_nodes_with_slices()
    client.add_claim("shared")
    for pod in ("p", "q"):
        client.add_claiming_pod(pod, claim="shared")
    service = await serving(client)
    assert await filtered(service, client, "p") == ["a"]
    answer = await service.filter(asked(client.pod("q"), "a", "b"))
    assert "claim shared is being allocated for pod p" in answer.error
    assert (await service.bind(to_bind("p", "a"))).error == ""
    assert await placed(service, client, "q") == "a"
    assert client.allocated("shared") == ("a", ["gpu-0"], ["p", "q"])
    await service.pods.relist()
    assert gpu_left(service, "a") == [500, 1000]
    # The first pod goes: the claim, and its GPU, stay with the second.
    del client.pods["p"]
    await service.pods.relist()
    assert gpu_left(service, "a") == [500, 1000]
    shared = copy.deepcopy(client.claims["shared"])
    shared["status"]["reservedFor"] = shared["status"]["reservedFor"][1:]
    client.put(shared)
    assert gpu_left(service, "a") == [500, 1000]
    # The second goes too; the devices are in use until the claim is freed.
    del client.pods["q"]
    await service.pods.relist()
    assert gpu_left(service, "a") == [500, 1000]
    client.put({**shared, "status": {}})
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_a_device_that_another_allocator_took_at_the_same_moment_is_given_back() -> None:
    client = two_nodes_with_slices("p")
    client.add_claim("rival", 1000)
    client.add_pod("other", 0, 0)
    service = await serving(client)
    await filtered(service, client, "p")

    def take(method: str, path: str) -> None:
        if path.endswith("/p/status") and not client.allocated("rival")[0]:
            client.allocate("rival", "a", "gpu-0", pod="other")

    client.before = take
    assert "taken by another allocator" in (await service.bind(to_bind("p", "a"))).error
    assert client.allocated("p") == ("", [], [])
    assert client.claims["p"]["metadata"]["finalizers"] == []
    assert client.bindings == []
    assert gpu_left(service, "a") == [0, 1000]
    assert await placed(service, client, "p") == "a"
    assert client.allocated("p") == ("a", ["gpu-1"], ["p"])


@in_a_loop
async def test_a_device_that_another_allocator_takes_later_is_named_and_its_node_closed_to_gpu_work() -> None:
    client = two_nodes_with_slices("p", "q")
    client.add_claim("rival", 1000)
    client.add_pod("other", 0, 0)
    service = await serving(client)
    assert await placed(service, client, "p") == "a"
    await service.pods.relist()
    client.allocate("rival", "a", "gpu-0", pod="other")
    conflicts = state_of(service.view)["gpu_conflicts"]
    assert len(conflicts) == 1
    assert "rival" in str(conflicts), conflicts
    assert await filtered(service, client, "q") == ["b"]


@in_a_loop
async def test_a_claim_that_others_changed_is_read_again_and_written() -> None:
    client = two_nodes_with_slices("p")
    service = await serving(client)
    await filtered(service, client, "p")
    touched: list[str] = []

    def touch(method: str, path: str) -> None:
        if path not in touched:
            touched.append(path)
            client.put(copy.deepcopy(client.claims["p"]))

    client.before = touch
    assert (await service.bind(to_bind("p", "a"))).error == ""
    assert len(touched) == 2
    assert client.allocated("p") == ("a", ["gpu-0"], ["p"])


@in_a_loop
async def test_writes_whose_answers_get_lost_are_found_and_not_made_twice() -> None:
    client = two_nodes_with_slices("p")
    service = await serving(client)
    await filtered(service, client, "p")
    client.lost_writes = 2
    assert (await service.bind(to_bind("p", "a"))).error == ""
    assert client.written == ["p", "p/status"]
    assert client.bindings == [("p", "a")]


async def killed_after(client: ClaimsInMemory, writes: int) -> None:
    """A service that made so many writes for pod `p`, and no more."""
    service = await serving(client)
    await filtered(service, client, "p")

    def die(method: str, path: str) -> None:
        if len(client.written) == writes:
            raise ApiError(0, "the process is gone")

    client.before, client.refused, client.silent = die, True, True
    service.claim_binder.give_back = nothing  # type: ignore[method-assign]
    assert (await service.bind(to_bind("p", "a"))).error != ""
    assert len(client.written) == writes
    client.before, client.refused, client.silent = lambda method, path: None, False, False


async def nothing(pod: object) -> bool:
    return True


@in_a_loop
async def test_a_service_that_starts_after_each_write_finishes_what_another_began() -> None:
    for writes in (1, 2):
        client = two_nodes_with_slices("p")
        await killed_after(client, writes)
        service = await serving(client)
        assert gpu_left(service, "a") == ([1000, 1000] if writes == 1 else [500, 1000])
        assert await placed(service, client, "p") == "a"
        assert client.written == ["p", "p/status"]
        assert client.bindings == [("p", "a")]


@in_a_loop
async def test_a_refused_binding_and_a_pod_deleted_before_it_give_the_claim_back() -> None:
    for deleted in (False, True):
        client = two_nodes_with_slices("p")
        service = await serving(client)
        await filtered(service, client, "p")
        if deleted:
            del client.pods["p"]
        else:
            client.refused = True
        assert (await service.bind(to_bind("p", "a"))).error != ""
        assert client.allocated("p") == ("", [], [])
        assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_claims_that_tie_a_pod_to_a_node_without_room_are_given_back() -> None:
    client = two_nodes_with_slices("p")
    client.allocate("p", "b", "gpu-1", pod="p", milli=500)
    service = await serving(client)
    answer = await service.filter(asked(client.pod("p"), "a"))  # `b` is cordoned, say
    assert "given back" in answer.error
    assert client.allocated("p") == ("", [], [])
    assert (await service.filter(asked(client.pod("p"), "a"))).node_names == ["a"]


@in_a_loop
async def test_a_claim_of_others_that_ties_a_pod_to_a_node_without_room_stays_theirs() -> None:
    client = two_nodes_with_slices()
    client.add_claim("shared")
    for pod in ("p", "q"):
        client.add_claiming_pod(pod, claim="shared")
    client.allocate("shared", "b", "gpu-1", pod="q", milli=500)
    service = await serving(client)
    answer = await service.filter(asked(client.pod("p"), "a"))
    assert (answer.error, answer.node_names) == ("", [])
    assert client.allocated("shared") == ("b", ["gpu-1"], ["q"])


async def lose_first_device(service: Service, client: ClaimsInMemory) -> None:
    """The slice of node `a` changes: `gpu-0` has left it."""
    changed = copy.deepcopy(client.slices["a"])
    changed["spec"]["pool"]["generation"] = 2
    changed["spec"]["devices"] = changed["spec"]["devices"][1:]
    client.slices["a"] = changed
    await service.claims[0].relist()


@in_a_loop
async def test_a_slice_that_loses_the_device_before_the_write_is_seen_and_the_claim_given_back() -> None:
    client = two_nodes_with_slices("p")
    service = await serving(client)
    await filtered(service, client, "p")
    await lose_first_device(service, client)
    assert "gpu-0: gone" in (await service.bind(to_bind("p", "a"))).error
    assert client.allocated("p") == ("", [], [])
    assert await placed(service, client, "p") in ("a", "b")
    assert client.allocated("p")[1] != ["gpu-0"] or client.allocated("p")[0] == "b"


@in_a_loop
async def test_a_pod_whose_claim_was_written_without_an_answer_goes_elsewhere_when_the_device_is_gone() -> None:
    """No Binding was sent, so nothing holds the pod on its node, whether the claim was written or not."""
    for made in (False, True):
        client = two_nodes_with_slices("p")
        service = await serving(client, server=Server(timeout_s=0.2))
        await filtered(service, client, "p")

        def no_answer(method: str, path: str) -> None:
            raise ApiError(0, "connection reset")

        shown, client.shown = client.shown, lambda claim: None  # the watch is late
        client.before = client.before if made else no_answer
        assert (await service.bind(to_bind("p", "a"))).error != ""
        assert client.bindings == []
        client.before, client.shown = lambda method, path: None, shown
        await lose_first_device(service, client)
        await service.claims[-1].relist()
        assert await filtered(service, client, "p") == ["a"]
        assert "gone" in (await service.bind(to_bind("p", "a"))).error
        assert client.allocated("p") == ("", [], [])
        assert await placed(service, client, "p") in ("a", "b")
        assert client.allocated("p")[:2] != ("a", ["gpu-0"])
        assert len(client.bindings) == 1


@in_a_loop
async def test_pods_that_ask_in_other_words_do_not_go_to_gpus_that_claims_give_out() -> None:
    client = two_nodes_with_slices()
    client.add_pod("plain", 500)
    service = await serving(client)
    answer = await service.filter(asked(client.pod("plain"), "a", "b"))
    assert answer.node_names == []
    assert "resource claims" in answer.failed_and_unresolvable_nodes["a"]


@in_a_loop
async def test_a_new_configuration_keeps_what_claims_hold_and_what_is_promised() -> None:
    client = two_nodes_with_slices("p", "q")
    service = await serving(client)
    await placed(service, client, "p")
    assert await filtered(service, client, "q") == ["a"]
    await take_config(service, msgspec.structs.replace(service.config, policy="bestfit"))
    assert gpu_left(service, "a") == [0, 1000]
    assert (await service.bind(to_bind("q", "a"))).error == ""
    assert client.allocated("q") == ("a", ["gpu-0"], ["q"])


@in_a_loop
async def test_fit_says_where_a_pod_with_a_claim_would_go_and_changes_nothing() -> None:
    client = two_nodes_with_slices("p", "q")
    service = await serving(client)
    await placed(service, client, "p")
    decision = fit(service.view, client.pod("q"))
    assert decision is not None
    assert (decision.node, decision.gpus) == ("a", (0,))
    assert "a/gpu-0" in decision.note
    assert client.written == ["p", "p/status"]
