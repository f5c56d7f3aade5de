"""A service with more connections than file descriptors, and what it does with those that ask for nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest
from aiohttp import ClientSession, web

from wattpack.errors import UserError
from wattpack.kube import listening
from wattpack.kube.listening import LimitedSite, most_connections

DESCRIPTORS, CONNECTIONS = 64, 100
# The service's own listener in a process that may open few files; standard output gets its port.
SERVICE = """
import asyncio, logging, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]),) * 2)
logging.basicConfig(stream=sys.stderr, level=logging.INFO)
from kube.api_in_memory import InMemory, started
from wattpack.cli.commands.serve import new_runner
from wattpack.kube.run import listen

async def main():
    service = await started(InMemory())
    runner = await listen(service, "127.0.0.1", 0, False)
    print(runner.addresses[0][1], flush=True)
    await asyncio.sleep(60)

with new_runner() as runner:
    runner.run(main())
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[str]:
    command = [sys.executable, "-c", SERVICE, str(DESCRIPTORS)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with (tmp_path / "log.txt").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, (tmp_path / "log.txt").read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_more_connections_than_descriptors_keep_nobody_out_and_do_not_fill_the_log(
    service: str, tmp_path: Path
) -> None:
    port = int(service.rpartition(":")[2])
    with ExitStack() as opened:
        for _ in range(CONNECTIONS):  # they ask for nothing, and stay
            opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        time.sleep(2.5)
        with urlopen(f"{service}/healthz", timeout=10) as answer:
            assert answer.status == 200
    assert len((tmp_path / "log.txt").read_text().splitlines()) < 10
    with urlopen(f"{service}/healthz", timeout=10) as answer:
        assert answer.status == 200


def test_a_connection_that_is_being_answered_is_never_ended_for_a_newcomer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "most_connections", lambda: 3)

    async def run() -> None:
        go_on, waiting = asyncio.Event(), asyncio.Semaphore(0)

        async def slow(request: web.Request) -> web.Response:
            waiting.release()
            await go_on.wait()
            return web.Response(text="slow")

        app = web.Application()
        app.add_routes([web.get("/slow", slow)])
        runner = web.AppRunner(app)
        await runner.setup()
        await LimitedSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        async with ClientSession() as session:
            asking = [asyncio.create_task(session.get(f"http://{host}:{port}/slow")) for _ in range(2)]
            for _ in asking:
                await waiting.acquire()
            silent = [await asyncio.open_connection(host, port) for _ in range(6)]
            for reader, _ in silent[:5]:
                assert await asyncio.wait_for(reader.read(), 10) == b""  # ended to make room for the next
            go_on.set()
            for task in asking:
                assert await (await task).text() == "slow"
        for _, writer in silent:
            writer.close()
        await runner.cleanup()

    asyncio.run(run())


def test_a_system_without_descriptors_is_said_once_and_asked_again_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listening, "AGAIN_S", 0.01)
    asked = 0

    async def run() -> None:
        loop = asyncio.get_running_loop()
        accept = loop.sock_accept

        async def out_of_them(sock: socket.socket) -> tuple[socket.socket, object]:
            nonlocal asked
            asked += 1
            if asked <= 20:
                raise OSError(24, "Too many open files")
            return await accept(sock)

        monkeypatch.setattr(loop, "sock_accept", out_of_them)
        runner = web.AppRunner(web.Application())
        await runner.setup()
        await LimitedSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        async with ClientSession() as session, session.get(f"http://{host}:{port}/") as answer:
            assert answer.status == 404
        await runner.cleanup()

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    assert asked > 20
    assert [record.getMessage() for record in caplog.records] == [
        "connections wait: Too many open files (said at most once a minute)"
    ]


def test_few_descriptors_leave_room_for_files_and_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    for descriptors, most in ((64, 16), (1024, 256), (10**6, 512), (-1, 512), (8, 4)):
        monkeypatch.setattr(listening.resource, "getrlimit", lambda _, now=descriptors: (now, now))
        assert most_connections() == most


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "127.0.0.1\0", "a" * 300])
def test_an_address_that_cannot_be_listened_on_is_one_line(host: str) -> None:
    async def run() -> None:
        runner = web.AppRunner(web.Application())
        await runner.setup()
        try:
            await LimitedSite(runner, host, 0).start()
        finally:
            await runner.cleanup()

    with pytest.raises(UserError, match="cannot listen there") as fault:
        asyncio.run(run())
    assert "\n" not in str(fault.value)
