"""What commands that ask a running service send to it: the token of the environment, and to nobody else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from wattpack.cli.ask_service import ask_json
from wattpack.errors import UserError

SECRET = "a-secret-of-the-service"


class Servers:
    """A service that wants the token, one that leads elsewhere, and what the latter's target was sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.stranger = self.start(self.take)
        self.service = self.start(self.guarded)
        self.astray = self.start(self.elsewhere)

    def start(self, answer: Any) -> TestServer:
        app = web.Application()
        app.add_routes([web.get("/state", answer)])
        server = TestServer(app)
        asyncio.run_coroutine_threadsafe(server.start_server(), self.loop).result(30)
        return server

    async def take(self, request: web.Request) -> web.Response:
        self.sent.append(request.headers.get("Authorization", ""))
        return web.json_response({})

    async def guarded(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {SECRET}":
            return web.json_response({"error": "GET /state: no token"}, status=401)
        return web.json_response({"mode": "choose"})

    async def elsewhere(self, request: web.Request) -> web.Response:
        raise web.HTTPFound(str(self.stranger.make_url("/state")))

    def stop(self) -> None:
        for server in (self.stranger, self.service, self.astray):
            asyncio.run_coroutine_threadsafe(server.close(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def servers() -> Iterator[Servers]:
    running = Servers()
    yield running
    running.stop()


def test_the_token_of_the_environment_is_sent(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATTPACK_TOKEN", f"{SECRET}\n")
    assert ask_json(str(servers.service.make_url("")), "/state") == {"mode": "choose"}


@pytest.mark.parametrize("token", [None, "", "another-secret-of-nobody", "line\nbreak: x", "\u00e4" * 20])
def test_without_the_right_token_it_is_one_line(
    servers: Servers, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WATTPACK_TOKEN", raising=False)
    if token is not None:
        monkeypatch.setenv("WATTPACK_TOKEN", token)
    with pytest.raises(UserError, match=r"no token in WATTPACK_TOKEN$"):
        ask_json(str(servers.service.make_url("")), "/state")


def test_a_host_that_a_redirect_names_does_not_get_the_token(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATTPACK_TOKEN", SECRET)
    ask_json(str(servers.astray.make_url("")), "/state")
    assert servers.sent == [""]
