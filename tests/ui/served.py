"""A page's server on small files, and a way to ask it."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from cli.files import write_nodes, write_tasks
from wattpack.ui.app import Desk, new_app, new_desk

TOKEN = "long-secret"


class Front:
    """A running server and a client of this machine."""

    def __init__(self, desk: Desk, server: TestServer, session: ClientSession, folder: Path) -> None:
        self.desk, self.server, self.session, self.folder = desk, server, session, folder
        self.nodes, self.tasks = str(folder / "nodes.csv"), str(folder / "tasks.csv")

    @property
    def address(self) -> str:
        return str(self.server.make_url("/")).rstrip("/")

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        sent = {"data": body} if isinstance(body, bytes | io.BytesIO) else {"json": body} if body is not None else {}
        async with self.session.request(method, self.address + path, **sent, **more) as answer:
            read = await answer.read()
            return answer.status, await answer.json() if answer.content_type == "application/json" else read

    async def ended(self, id_: str) -> dict[str, Any]:
        """The run when it is over, as the stream of its events tells."""
        import json

        async with self.session.get(f"{self.address}/api/runs/{id_}/events") as answer:
            last: dict[str, Any] = {}
            async for line in answer.content:
                if line.startswith(b"data: "):
                    last = json.loads(line[6:])
            return last


def served(folder: Path, test: Callable[[Front], Awaitable[None]], admitted: bool = True, **given: Any) -> None:
    """Run `test` with a page that offers a small datacenter and a few tasks; `admitted`: the client has its token."""
    nodes, tasks = write_nodes(folder), write_tasks(folder)

    async def run() -> None:
        offered = {"datacenters": [nodes], "traces": [tasks], **given}
        desk = new_desk(folder / "out", **offered)
        headers = {"Authorization": f"Bearer {TOKEN}"} if admitted else None
        application = new_app(desk, "127.0.0.1", TOKEN)
        async with TestServer(application) as server, ClientSession(headers=headers) as session:
            await test(Front(desk, server, session, folder))

    asyncio.run(run())
