"""Scenes in which a cache can be wrong. After each, wattpack believes what the API has, and no GPU is given twice."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from kube.api_in_memory import InMemory, asked, in_a_loop, to_bind, two_nodes
from kube.api_over_http import behind_a_proxy
from kube.in_step import becomes_true, believed, check_no_gpu_is_given_twice, running, truth, until
from wattpack.cli.commands.serve import reach
from wattpack.kube import informer
from wattpack.kube.config import Config, LeaseConfig
from wattpack.kube.run import take_config
from wattpack.kube.service import Service

DEEP = msgspec.Raw(b'[{"fieldsV1":' + b'{"f:a":' * 1100 + b"{}" + b"}" * 1100 + b"}]")


async def place(service: Service, api: InMemory, name: str) -> str:
    """Filter and bind a pod, as kube-scheduler does; the node, or why there is none."""
    answer = await service.filter(asked(api.pod(name), *sorted(api.nodes)))
    if answer.error or not answer.node_names:
        return answer.error
    assert (await service.bind(to_bind(name, answer.node_names[0]))).error == ""
    return answer.node_names[0]


def whole(api: InMemory, *names: str) -> None:
    for name in names:
        api.add_pod(name, milli=1000)


def bound_elsewhere(api: InMemory, name: str, node: str, index: str) -> None:
    """Somebody else binds a pod with a whole GPU."""
    api.add_pod(name, milli=1000, node=node, index=index)


async def reload(service: Service) -> None:
    await take_config(service, msgspec.structs.replace(service.config, policy="ocs"))


def test_a_connection_that_is_half_open_is_not_in_sync_and_its_watch_is_opened_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The proxy stops forwarding, nobody closes anything, and another scheduler binds a pod in the silence."""
    monkeypatch.setattr(informer, "CONTACT_S", 0.6)

    @in_a_loop
    async def scene() -> None:
        api = two_nodes()
        whole(api, "p", "q")
        async with behind_a_proxy(api) as (client, proxy):
            client.silence_s = 0.4
            async with running(client) as service:
                await becomes_true(service, api)
                proxy.stop()
                for index in "01":
                    bound_elsewhere(api, f"other-{index}", "a", index)
                await asyncio.sleep(0.7)
                assert not service.ready
                assert "not in sync" in await place(service, api, "p")
                proxy.go_on()
                await becomes_true(service, api)
                assert await place(service, api, "p") == "b"
                await becomes_true(service, api)
        check_no_gpu_is_given_twice(api)

    scene()


def test_a_quiet_watch_stays_in_sync_because_the_server_ends_it_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informer, "CONTACT_S", 1.5)
    monkeypatch.setattr("wattpack.kube.client.WATCH_S", 1)
    monkeypatch.setattr(informer, "SHORT_S", 0.5)

    @in_a_loop
    async def scene() -> None:
        api = two_nodes()
        async with behind_a_proxy(api) as (client, _), running(client) as service:
            await becomes_true(service, api)
            for _ in range(25):
                await asyncio.sleep(0.1)
                assert service.ready
            assert [watch.restarts for watch in service.watches()] == [0, 0]
            assert len(api.lists) == 2, "a watch that has ended is opened again without a list"

    scene()


def test_a_server_that_opens_watches_and_hangs_up_at_once_is_no_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informer, "CONTACT_S", 0.5)
    monkeypatch.setattr(informer, "LONGEST_WAIT_S", 0.1)

    @in_a_loop
    async def scene() -> None:
        api = two_nodes()
        async with running(api) as service:
            await becomes_true(service, api)
            api.fault("pods").close = True
            bound_elsewhere(api, "unseen", "a", "0")
            service.nodes.contact_s = float("inf")  # their watch is open, and nothing happens to nodes here
            for _ in range(500):  # 0.5 s after the last event of the watch that was open, whenever that came
                if not service.ready:
                    break
                await asyncio.sleep(0.01)
            for _ in range(20):
                assert not service.ready
                await asyncio.sleep(0.01)
            api.fault("pods").close = False
            await becomes_true(service, api)

    scene()


@in_a_loop
async def test_a_lease_is_taken_with_a_list_that_is_older_than_events_already_taken() -> None:
    api = two_nodes()
    whole(api, "p", "q")
    async with running(api, lease=LeaseConfig(duration_s=5.0)) as service:
        await becomes_true(service, api)
        api.fault("pods").list_waits = answered = asyncio.Event()
        placing = asyncio.ensure_future(place(service, api, "p"))
        await asyncio.sleep(0.05)
        assert len(api.sent) > 0, "the list is on its way, as of now"
        for index in "01":
            bound_elsewhere(api, f"other-{index}", "a", index)
        del api.pods["q"]
        await until(lambda: believed(service)["left"]["a"] == [0, 0] and "uid-q" not in service.view.pods)
        answered.set()
        assert await placing == "b"
        await becomes_true(service, api)
    check_no_gpu_is_given_twice(api)


def one_gpu(api: InMemory) -> None:
    """Node `a` with one GPU."""
    del api.nodes["b"]
    api.add_node("a", gpus=1)


async def is_kept_while_lists_wait(service: Service, api: InMemory, begin: Any) -> None:
    """A pod is made and decided while what `begin` starts, and its lists, are under way; its GPU stays its own."""
    api.fault("pods").list_waits = answered = asyncio.Event()
    under_way = asyncio.ensure_future(begin())
    await asyncio.sleep(0.2)
    api.fault("pods").watch_to = api.note()
    whole(api, "new", "newer")
    assert (await service.filter(asked(api.pod("new"), "a"))).node_names == ["a"]
    answered.set()
    await under_way
    await until(lambda: service.ready)
    api.fault("pods").list_waits = None
    assert (await service.filter(asked(api.pod("newer"), "a"))).node_names == []
    assert (await service.bind(to_bind("new", "a"))).error == ""
    api.fault("pods").watch_to = None
    await becomes_true(service, api)
    check_no_gpu_is_given_twice(api)


@in_a_loop
async def test_a_list_asked_for_before_a_pod_was_made_does_not_end_its_reservation() -> None:
    api = two_nodes()
    one_gpu(api)
    async with running(api) as service:
        await becomes_true(service, api)
        await is_kept_while_lists_wait(service, api, service.pods.relist)


@in_a_loop
async def test_a_watch_that_ended_with_410_is_listed_again_and_a_reservation_made_meanwhile_stays() -> None:
    api = two_nodes()
    one_gpu(api)
    async with running(api) as service:
        await becomes_true(service, api)
        api.skip_versions(50)

        async def gone() -> None:
            api.fault("pods").gone = True
            await until(lambda: not api.fault("pods").gone)

        await is_kept_while_lists_wait(service, api, gone)


@in_a_loop
async def test_a_configuration_that_is_read_again_keeps_the_reservation_of_a_pod_not_yet_shown() -> None:
    api = two_nodes()
    one_gpu(api)
    async with running(api) as service:
        await becomes_true(service, api)
        await is_kept_while_lists_wait(service, api, lambda: reload(service))


@pytest.mark.parametrize("as_event", [True, False])
def test_a_watch_ends_with_410_while_pods_come_and_go(as_event: bool) -> None:
    @in_a_loop
    async def scene() -> None:
        api = two_nodes()
        whole(api, "p", "stays")
        bound_elsewhere(api, "goes", "a", "0")
        async with running(api) as service:
            await becomes_true(service, api)
            for fault in (api.fault("pods"), api.fault("nodes")):
                fault.watch_to, fault.gone_as_event = api.version, as_event
            del api.pods["goes"]
            bound_elsewhere(api, "comes", "b", "1")
            api.add_node("c", gpus=4)
            del api.nodes["a"]
            api.skip_versions(50)
            api.add_node("a", gpus=1)
            for fault in (api.fault("pods"), api.fault("nodes")):
                fault.gone, fault.close = True, not as_event
            await asyncio.sleep(0.05)
            for fault in (api.fault("pods"), api.fault("nodes")):
                fault.close, fault.watch_to = False, None
            await becomes_true(service, api)
            assert await place(service, api, "p") in ("a", "b", "c")
            await becomes_true(service, api)
        check_no_gpu_is_given_twice(api)

    scene()


@in_a_loop
async def test_a_configuration_is_read_again_while_pods_are_bound_and_nodes_deleted() -> None:
    """Nothing is listed for it, so there is no moment at which events go to the old picture and not to the new one."""
    api = two_nodes()
    whole(api, "p", "q")
    bound_elsewhere(api, "goes", "a", "0")
    async with running(api) as service:
        await becomes_true(service, api)
        lists = len(api.lists)
        waits = asyncio.Event()
        api.fault("pods").list_waits = api.fault("nodes").list_waits = waits
        reloading = asyncio.ensure_future(reload(service))
        await asyncio.sleep(0.02)
        for index in "01":
            bound_elsewhere(api, f"other-{index}", "b", index)
        del api.pods["goes"]
        del api.nodes["a"]
        await until(lambda: "uid-goes" not in service.view.pods and "uid-other-1" in service.view.pods)
        waits.set()
        await reloading
        await becomes_true(service, api)
        assert len(api.lists) == lists
        api.add_node("a", gpus=1)
        await becomes_true(service, api)
        assert await place(service, api, "p") == "a"
        await reload(service)
        await becomes_true(service, api)
    check_no_gpu_is_given_twice(api)


@in_a_loop
async def test_a_watch_that_repeats_old_events_changes_nothing() -> None:
    api = two_nodes()
    whole(api, "p")
    bound_elsewhere(api, "goes", "a", "0")
    async with running(api) as service:
        await becomes_true(service, api)
        del api.pods["goes"]
        bound_elsewhere(api, "comes", "a", "0")
        await becomes_true(service, api)
        api.fault("pods").repeat = 100
        api.fault("pods").close = True
        await asyncio.sleep(0.05)
        api.fault("pods").close = False
        await asyncio.sleep(0.3)
        await becomes_true(service, api)
        assert await place(service, api, "p") in ("a", "b")
        await becomes_true(service, api)
    check_no_gpu_is_given_twice(api)


async def goes_on(service: Service, api: InMemory) -> None:
    """What comes after an odd object is still taken."""
    bound_elsewhere(api, "later", "b", "1")
    await until(lambda: "uid-later" in service.view.pods)
    assert service.ready
    assert service.view.cluster.in_step.current() is not None


@in_a_loop
async def test_fields_that_are_null_count_as_not_given() -> None:
    api = two_nodes()
    async with running(api) as service:
        await becomes_true(service, api)
        api.add_pod("null", milli=1000, node="a", index="0")
        api.pods["null"]["metadata"]["annotations"] = None
        api.pods["null"]["metadata"]["labels"] = None
        await until(lambda: "uid-null" in service.view.pods)
        await goes_on(service, api)
        assert service.state()["skipped"] == {}


ODD_PODS: dict[str, Any] = {
    "a field of a wrong type": {"containers": 7},
    "no JSON": msgspec.Raw(b'{"nodeName":"a",nope}'),
    "too deep where it is read": {"containers": msgspec.Raw(b"[" * 1100 + b"]" * 1100)},
}


@pytest.mark.parametrize("way", ["event", "list"])
@pytest.mark.parametrize("odd", ODD_PODS)
def test_a_pod_that_cannot_be_decoded_closes_its_node_and_is_named(way: str, odd: str) -> None:
    @in_a_loop
    async def scene() -> None:
        api = two_nodes()
        whole(api, "p", "q")
        spec = ODD_PODS[odd]
        if way == "list":
            api.add_pod("odd", node="a", index="0")
            api.pods["odd"]["spec"] = {"nodeName": "a", **spec} if isinstance(spec, dict) else spec
        async with running(api) as service:
            if way == "event":
                await becomes_true(service, api)
                api.add_pod("odd", node="a", index="0")
                api.pods["odd"]["spec"] = {"nodeName": "a", **spec} if isinstance(spec, dict) else spec
            await until(lambda: service.ready and service.skipped())
            await goes_on(service, api)
            state = service.state()
            assert list(state["skipped"]) == ["pods default/odd"]
            assert "cannot be decoded" in state["unreadable_pods"]["uid-odd"]
            assert "a" in state["unreadable_nodes"]
            assert [event.reason for event in service.events.queue] == ["WattpackCannotRead"]  # type: ignore[union-attr]
            assert await place(service, api, "p") == "b"
            assert await place(service, api, "q") == ""
            del api.pods["odd"]
            await until(lambda: service.skipped() == {})
            await becomes_true(service, api)
            assert await place(service, api, "q") == "a"

    scene()


@in_a_loop
async def test_a_pod_that_was_read_before_keeps_its_gpus_when_it_cannot_be_decoded_any_more() -> None:
    api = two_nodes()
    bound_elsewhere(api, "odd", "a", "0")
    async with running(api) as service:
        await becomes_true(service, api)
        api.pods["odd"]["spec"]["containers"] = 7
        await until(service.skipped)
        assert service.view.cluster.reservations.get("uid-odd") is not None
        assert "a" in service.state()["unreadable_nodes"]
        await reload(service)
        assert "a" in service.state()["unreadable_nodes"]
        api.pods["odd"]["spec"]["containers"] = [{"resources": {"requests": {"cpu": "1"}}}]
        await becomes_true(service, api)


@in_a_loop
async def test_a_node_that_cannot_be_decoded_takes_no_pods_until_it_can() -> None:
    api = two_nodes()
    whole(api, "p", "q")
    async with running(api) as service:
        await becomes_true(service, api)
        labels = api.nodes["a"]["metadata"]["labels"]
        api.nodes["a"]["metadata"]["labels"] = ["odd"]
        await until(service.skipped)
        assert list(service.state()["skipped"]) == ["nodes a"]
        assert "cannot be decoded" in service.state()["unreadable_nodes"]["a"]
        assert await place(service, api, "p") == "b"
        await reload(service)
        assert "a" in service.state()["unreadable_nodes"]
        api.nodes["a"]["metadata"]["labels"] = labels
        await becomes_true(service, api)


def test_a_check_names_what_cannot_be_decoded_and_counts_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    @in_a_loop
    async def scene() -> None:
        api = two_nodes()
        api.add_pod("odd", node="a")
        api.pods["odd"]["spec"]["containers"] = 7
        api.add_node("odd")
        api.nodes["odd"]["status"] = 7
        async with behind_a_proxy(api) as (client, _):
            await reach(Config(policy="fgd", target="default"), client.access)

    scene()
    printed = capsys.readouterr().out
    assert "1 node, 0 pods on it" in printed
    assert "node odd: cannot be decoded: Expected `object`, got `int` - at `$.status`" in printed
    assert "pod default/odd: cannot be decoded: Expected `array`, got `int` - at `$.spec.containers`" in printed


@in_a_loop
async def test_an_event_that_is_no_json_at_all_asks_for_a_list() -> None:
    api = two_nodes()
    async with running(api) as service:
        await becomes_true(service, api)
        api.fault("pods").watch_to = api.version
        bound_elsewhere(api, "lost", "a", "0")
        api.note()
        api.fault("pods").extra.append(b'\xff{"type":')
        await until(lambda: "uid-lost" in service.view.pods)
        api.fault("pods").watch_to = None
        await becomes_true(service, api)


@pytest.mark.parametrize("way", ["event", "list"])
def test_managed_fields_nested_1100_deep_are_skipped_and_the_pod_is_read(way: str) -> None:
    @in_a_loop
    async def scene() -> None:
        api = two_nodes()
        if way == "list":
            bound_elsewhere(api, "deep", "a", "0")
            api.pods["deep"]["metadata"]["managedFields"] = DEEP
        async with running(api) as service:
            if way == "event":
                await becomes_true(service, api)
                bound_elsewhere(api, "deep", "a", "0")
                api.pods["deep"]["metadata"]["managedFields"] = DEEP
            await becomes_true(service, api)
            assert believed(service)["left"]["a"] == [0, 1000] == truth(api)["left"]["a"]
            await goes_on(service, api)
            assert (await api.get_pod("default", "deep")).spec.node_name == "a"

    scene()
