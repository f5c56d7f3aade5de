"""The API server in memory behind real sockets, and a proxy in front of it that can stop forwarding."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from kube.api_in_memory import InMemory
from wattpack.kube.client import ApiError, Client
from wattpack.kube.kubeconfig import Access


class Proxy:
    """Forwards TCP to a port. Stopped, it accepts and keeps connections open, and forwards nothing."""

    def __init__(self, to: int) -> None:
        self.to, self.stopped, self.port = to, False, 0
        self.pumps: set[asyncio.Task[None]] = set()
        self.dead: list[asyncio.StreamWriter] = []

    async def start(self) -> None:
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Connections that are open are half open from now on, for ever."""
        self.stopped = True
        for pump in self.pumps:
            pump.cancel()

    def go_on(self) -> None:
        """New connections are forwarded again."""
        self.stopped = False

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.dead.append(writer)
        if self.stopped:
            return
        there_reader, there = await asyncio.open_connection("127.0.0.1", self.to)
        self.dead.append(there)
        for source, target in ((reader, there), (there_reader, writer)):
            pump = asyncio.ensure_future(self.forward(source, target))
            self.pumps.add(pump)
            pump.add_done_callback(self.pumps.discard)

    async def forward(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
        target.close()

    async def close(self) -> None:
        self.stop()
        self.server.close()
        for writer in self.dead:
            writer.close()
        await asyncio.sleep(0)


async def answer_request(api: InMemory, request: web.Request) -> web.StreamResponse:
    path = request.path
    try:
        if "watch" in request.query:
            return await answer_watch(api, request)
        body: Any = await request.json() if request.can_read_body else None
        if path.endswith("/binding"):
            metadata = body["metadata"]
            names = metadata["namespace"], metadata["name"], metadata["uid"], body["target"]["name"]
            await api.bind(*names, metadata["annotations"], 1.0)
            return web.json_response({})
        return web.Response(body=await api.call(request.method, str(request.rel_url), body))
    except ApiError as fault:
        return web.json_response({"message": str(fault)}, status=fault.status or 500)


async def answer_watch(api: InMemory, request: web.Request) -> web.StreamResponse:
    """A watch that ends after its timeoutSeconds."""
    response = web.StreamResponse()
    await response.prepare(request)
    with contextlib.suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(float(request.query["timeoutSeconds"])):
            kind = request.path.rsplit("/", 1)[1]
            async for line in api.answer_watch(kind, request.query["resourceVersion"], 1e9):
                await response.write(line + b"\n")
    return response


def app_of(api: InMemory) -> web.Application:
    app = web.Application()

    async def handle(request: web.Request) -> web.StreamResponse:
        return await answer_request(api, request)

    app.router.add_route("*", "/{path:.*}", handle)
    return app


@contextlib.asynccontextmanager
async def served(api: InMemory) -> AsyncIterator[str]:
    """Its address. What it was asked for is done even if the client has gone, as by a real server."""
    runner = web.AppRunner(app_of(api), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def behind_a_proxy(api: InMemory) -> AsyncIterator[tuple[Client, Proxy]]:
    """A client that reaches the API server through the proxy."""
    async with TestServer(app_of(api)) as server:
        assert server.port is not None
        proxy = Proxy(server.port)
        await proxy.start()
        try:
            async with Client(Access(f"http://127.0.0.1:{proxy.port}", None), timeout_s=0.3) as client:
                yield client, proxy
        finally:
            await proxy.close()
