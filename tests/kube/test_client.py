"""Calls to the API server: a token that has run out is fetched anew, and what goes wrong is told, not thrown about."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from wattpack.errors import UserError
from wattpack.kube import client as client_module
from wattpack.kube.client import ApiError, Client
from wattpack.kube.exec_program import ExecProgram
from wattpack.kube.kubeconfig import Access

# Prints token 1, then 2, and so on: how often it was called stands in the file.
LOGIN = """
import json, pathlib, sys
file = pathlib.Path(sys.argv[1])
count = int(file.read_text()) + 1
file.write_text(str(count))
print(json.dumps({"kind": "ExecCredential", "status": {"token": str(count)}}))
"""


def login(folder: Path) -> ExecProgram:
    file = folder / "count"
    file.write_text("0")
    return ExecProgram(sys.executable, ["-c", LOGIN, str(file)])


def against(accepted: str, access: Access, test: Callable[[Client], Awaitable[None]]) -> None:
    """Run `test` with a client of a server that lets in one token only."""

    async def answer(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {accepted}":
            return web.json_response({"message": "Unauthorized"}, status=401)
        return web.Response(text='{"type":"BOOKMARK","object":{}}\n')

    async def run() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        async with TestServer(app) as server:
            access.server = str(server.make_url("")).rstrip("/")
            async with Client(access) as client:
                await test(client)

    asyncio.run(run())


async def first_lines(client: Client) -> list[bytes]:
    return [line async for line in client.watch("/api/v1/nodes", "1")]


def test_a_call_whose_token_has_run_out_is_made_again_with_a_new_one(tmp_path: Path) -> None:
    async def test(client: Client) -> None:
        assert b"BOOKMARK" in await client.call("GET", "/api/v1/nodes")
        assert client.access.token == "2"

    against("2", Access("", None, command=login(tmp_path)), test)


def test_a_call_that_changes_something_is_not_sent_again_but_the_next_one_has_the_new_token(tmp_path: Path) -> None:
    async def test(client: Client) -> None:
        with pytest.raises(ApiError, match="401: Unauthorized"):
            await client.call("POST", "/api/v1/binding", {})
        assert client.access.token == "2"
        await client.call("POST", "/api/v1/binding", {})

    against("2", Access("", None, command=login(tmp_path)), test)


def test_a_watch_whose_token_has_run_out_is_begun_again_with_a_new_one(tmp_path: Path) -> None:
    async def test(client: Client) -> None:
        assert len(await first_lines(client)) == 2
        assert client.access.token == "2"

    against("2", Access("", None, command=login(tmp_path)), test)


def test_a_server_that_takes_no_token_is_asked_twice_not_for_ever(tmp_path: Path) -> None:
    async def test(client: Client) -> None:
        for work in (client.call("GET", "/x"), first_lines(client)):
            with pytest.raises(ApiError, match="401: Unauthorized"):
                await work
        assert client.access.token == "3"

    against("none", Access("", None, command=login(tmp_path)), test)


def test_a_program_that_fails_later_on_is_an_api_error_that_a_service_survives(tmp_path: Path) -> None:
    async def test(client: Client) -> None:
        client.access.command = ExecProgram(str(tmp_path / "gone"))
        with pytest.raises(ApiError, match="gone: No such file"):
            await client.call("GET", "/x")
        with pytest.raises(ApiError, match="gone: No such file"):
            await first_lines(client)

    against("none", Access("", None, command=login(tmp_path)), test)


def test_a_token_file_that_has_gone_is_an_api_error_that_a_service_survives(tmp_path: Path) -> None:
    async def test(client: Client) -> None:
        with pytest.raises(ApiError, match="No such file"):
            await client.call("GET", "/x")

    against("none", Access("", None, token_file=tmp_path / "gone"), test)


def test_a_program_that_hangs_is_ended_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "PROGRAM_S", 0.2)
    access = Access("http://nowhere", None, command=ExecProgram(sys.executable, ["-c", "import time; time.sleep(600)"]))

    async def run() -> None:
        async with Client(access):
            pass

    with pytest.raises(UserError, match="no token within"):
        asyncio.run(run())
