"""A new configuration while the service runs: reservations are taken over. And the end: Bindings are awaited."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession

from kube.api_in_memory import (
    InMemory,
    asked,
    bindings_wait,
    gpu_left,
    in_a_loop,
    reservation_of,
    started,
    to_bind,
    two_nodes,
)
from kube.api_over_http import served
from wattpack.errors import UserError
from wattpack.kube.config import Config, LeaseConfig, Server, read_config
from wattpack.kube.kubeconfig import Access
from wattpack.kube.reservations import State
from wattpack.kube.run import Options, contents, serve, take_config
from wattpack.kube.service import Service


@in_a_loop
async def test_a_new_configuration_takes_over_reservations_in_their_state() -> None:
    client = two_nodes("p", "q")
    service = await started(client)
    for pod in ("p", "q"):
        await service.filter(asked(client.pod(pod), "a", "b"))
    client.late = True
    await service.bind(to_bind("q", "a"))  # without an answer
    old = service.view
    await take_config(service, msgspec.structs.replace(service.config, policy="ocs"))
    assert service.view is not old
    assert gpu_left(service, "a") == [0, 1000]
    assert reservation_of(service, "uid-p").state is State.ASSUMED
    assert reservation_of(service, "uid-q").state is State.BOUND


@in_a_loop
async def test_a_binding_that_is_refused_after_a_new_configuration_ends_its_reservation() -> None:
    client = two_nodes("p")
    service = await started(client)
    await service.filter(asked(client.pod("p"), "a", "b"))
    answered = bindings_wait(client)
    binding = asyncio.ensure_future(service.bind(to_bind("p", "a")))
    await asyncio.sleep(0.01)
    await take_config(service, msgspec.structs.replace(service.config, policy="ocs"))
    assert gpu_left(service, "a") == [500, 1000]
    client.refused = True
    answered.set()
    assert "refused" in (await binding).error
    assert gpu_left(service, "a") == [1000, 1000]


@in_a_loop
async def test_a_configuration_that_needs_a_restart_is_rejected() -> None:
    service = await started(two_nodes())
    with pytest.raises(UserError, match="cannot be changed without a restart"):
        await take_config(service, msgspec.structs.replace(service.config, lease=LeaseConfig(duration_s=3)))


def test_a_power_file_is_taken_over_and_its_change_is_noticed(tmp_path: Path) -> None:
    asyncio.run(a_power_file_is_taken_over(tmp_path))


async def a_power_file_is_taken_over(tmp_path: Path) -> None:
    """Two nodes of 100 W base power each."""
    power, file = tmp_path / "own.toml", tmp_path / "wattpack.toml"
    power.write_text("[node]\nbase_w = 100\n")
    file.write_text('power_file = "own.toml"\n')
    service = await started(two_nodes())
    before_w = service.view.cluster.power_w()
    config = msgspec.structs.replace(service.config, power_file=read_config(file).power_file)
    await take_config(service, config)
    assert service.view.cluster.power_w() == before_w + 200
    before = contents(file, config)
    power.write_text("[node]\nbase_w = 120\n")
    assert contents(file, config) != before


# ---- the end


class Running:
    """`serve` as it is started, on an API server in memory behind HTTP."""

    def __init__(self, api: InMemory, lease_s: float = 1.0) -> None:
        self.api = api
        server = Server(port=0, timeout_s=0.3)
        self.config = Config(
            policy="fgd", target="default", server=server, lease=LeaseConfig(duration_s=lease_s), events="none"
        )
        self.service: Service
        self.port = 0

    async def start(self, url: str) -> asyncio.Task[None]:
        listening = asyncio.Event()

        def started(service: Service, port: int) -> None:
            self.service, self.port = service, port
            listening.set()

        access = Access(url, None)
        task = asyncio.ensure_future(serve(self.config, Options(None, lambda config: config), access, started))
        await asyncio.wait_for(listening.wait(), 60)
        while not self.service.ready:
            await asyncio.sleep(0.01)
        return task

    async def post(self, verb: str, body: Any) -> Any:
        async with ClientSession() as session:
            text = msgspec.json.encode(body)
            async with session.post(f"http://127.0.0.1:{self.port}/{verb}", data=text) as answer:
                return await answer.json()

    async def ask(self, name: str) -> Any:
        return await self.post("filter", {"Pod": self.api.pods[name], "NodeNames": ["a", "b"]})

    async def bind(self, name: str, node: str) -> Any:
        body = {"PodName": name, "PodNamespace": "default", "PodUID": f"uid-{name}", "Node": node}
        return await self.post("bind", body)


def while_it_runs(test: Callable[[Running, asyncio.Task[None]], Awaitable[None]]) -> None:
    async def run() -> None:
        api = two_nodes()
        api.add_pod("p", 1000)
        async with served(api) as url:
            running = Running(api)
            await test(running, await running.start(url))

    asyncio.run(run())


def holder(api: InMemory) -> str:
    assert api.lease is not None
    return str(api.lease["spec"]["holderIdentity"])


@pytest.mark.parametrize("watches", ["show it", "are silent"])
def test_a_service_told_to_end_keeps_its_lease_until_a_binding_that_hangs_is_made(watches: str) -> None:
    """The API server takes 8 times as long for the Binding as the service waits, and twice the lease."""

    async def test(running: Running, task: asyncio.Task[None]) -> None:
        api = running.api
        assert (await running.ask("p"))["NodeNames"] == ["a"]
        answered = bindings_wait(api)
        assert "no answer within" in (await running.bind("p", "a"))["Error"]
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.1)
        api.fault("pods").silent = watches == "are silent"
        assert "this replica is stopping" in (await running.ask("p"))["Error"]
        assert "this replica is stopping" in (await running.bind("p", "a"))["Error"]
        for _ in range(8):
            await asyncio.sleep(0.25)
            assert not task.done()
            assert holder(api) != ""
            assert running.service.lease.left_s() > 0
        answered.set()
        await asyncio.wait_for(task, 30)
        assert api.bindings == [("p", "a")]
        assert holder(api) == ""

    while_it_runs(test)


def test_a_service_told_to_end_with_nothing_under_way_hands_its_lease_over_at_once() -> None:
    async def test(running: Running, task: asyncio.Task[None]) -> None:
        await running.ask("p")
        await running.bind("p", "a")
        assert holder(running.api) != ""
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(task, 30)
        assert holder(running.api) == ""

    while_it_runs(test)


def test_a_second_signal_ends_the_service_and_leaves_the_lease_to_expire() -> None:
    async def test(running: Running, task: asyncio.Task[None]) -> None:
        api = running.api
        await running.ask("p")
        bindings_wait(api)
        await running.bind("p", "a")
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.1)
        assert not task.done()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(task, 30)
        assert holder(api) != ""

    while_it_runs(test)
