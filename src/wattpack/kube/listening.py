"""Listens and accepts, within the file descriptors that there are: for the service and for the page.

asyncio's own loop, out of descriptors, writes up to 128 tracebacks a second, and connections that ask for nothing keep
everybody else out for ever. Here a connection that is not being answered makes room for a newcomer.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

from aiohttp import web

from wattpack.errors import UserError

log = logging.getLogger("wattpack")
MOST = 512  # connections of one listener, where there are descriptors enough
SHARE = 4  # connections take at most one in so many descriptors: the rest is for files, processes and our own calls
BACKLOG = 128
FULL_S = 0.01  # between two looks for room
AGAIN_S = 1.0  # after the system refused a connection
SAID_EVERY_S = 60.0
HANDSHAKE_S = 10.0
OUT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def most_connections() -> int:
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if descriptors == resource.RLIM_INFINITY else max(4, min(MOST, descriptors // SHARE))


class Listener:
    """Open sockets, and the connections accepted on them. `tls` gives the context of a new connection."""

    def __init__(
        self, sockets: list[socket.socket], server: web.Server, tls: Callable[[], ssl.SSLContext] | None, most: int
    ) -> None:
        self.sockets, self.server, self.tls, self.most = sockets, server, tls, most
        self.busy: dict[Any, int] = {}  # connection -> requests that are being answered
        self.opening: dict[asyncio.Task[None], None] = {}  # the oldest first
        self.said_s = -SAID_EVERY_S
        answer = server.request_handler
        server.request_handler = self.counting(answer)
        self.accepting = [asyncio.create_task(self.accept(each)) for each in sockets]

    def counting(self, answer: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def counted(request: Any) -> Any:
            connection = request.protocol
            self.busy[connection] = self.busy.get(connection, 0) + 1
            try:
                return await answer(request)
            finally:
                self.busy[connection] -= 1
                if not self.busy[connection]:
                    del self.busy[connection]

        return counted

    def close(self) -> None:
        for task in (*self.accepting, *self.opening):
            task.cancel()
        for each in self.sockets:
            each.close()

    # ---- one socket

    async def accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while len(self.server.connections) + len(self.opening) >= self.most:
                self.make_room()
                await asyncio.sleep(FULL_S)
            try:
                accepted, _ = await loop.sock_accept(listening)
            except ConnectionAbortedError:  # it went away before it was accepted
                continue
            except OSError as fault:
                self.say(fault)
                if fault.errno in OUT_OF:
                    self.make_room()
                await asyncio.sleep(AGAIN_S)
                continue
            task = loop.create_task(self.open(accepted))
            self.opening[task] = None
            task.add_done_callback(partial(self.opened, accepted))

    async def open(self, accepted: socket.socket) -> None:
        """Hand a connection to the HTTP server, after the handshake where there is one."""
        try:
            accepted.setblocking(False)
            secure: dict[str, Any] = {}
            if self.tls is not None:
                secure = {"ssl": self.tls(), "ssl_handshake_timeout": HANDSHAKE_S}
            await asyncio.get_running_loop().connect_accepted_socket(self.server, accepted, **secure)
        except (OSError, ssl.SSLError):  # it went away, or has no certificate that we accept
            accepted.close()

    def opened(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        self.opening.pop(task, None)
        if task.cancelled():  # perhaps before its first step
            accepted.close()

    def make_room(self) -> None:
        """End the oldest connection that is not being answered, if any."""
        for connection in self.server.connections:
            transport = connection.transport
            if connection not in self.busy and transport is not None and not transport.is_closing():
                transport.abort()
                return
        for task in self.opening:  # handshakes
            task.cancel()
            return

    def say(self, fault: OSError) -> None:
        now_s = time.monotonic()
        if now_s - self.said_s >= SAID_EVERY_S:
            self.said_s = now_s
            log.warning("connections wait: %s (said at most once a minute)", os.strerror(fault.errno or 0))


class LimitedSite(web.BaseSite):
    """`web.TCPSite` with our own listener."""

    def __init__(
        self, runner: web.AppRunner, host: str, port: int, tls: Callable[[], ssl.SSLContext] | None = None
    ) -> None:
        super().__init__(runner)
        self.host, self.port, self.tls = host, port, tls

    @property
    def name(self) -> str:
        return f"{'http' if self.tls is None else 'https'}://{self.host}:{self.port}"

    async def start(self) -> None:
        """Raises UserError where it cannot listen."""
        sockets = await open_sockets(self.host, self.port)
        await super().start()
        server = self._runner.server
        assert server is not None
        # Of a server a site wants these two: `sockets` and `close`.
        self._server = cast(asyncio.AbstractServer, Listener(sockets, server, self.tls, most_connections()))


async def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Listening sockets, one for each address of the host."""
    found: list[socket.socket] = []
    try:
        if not host.isprintable():
            raise ValueError(f"{host!r} is no host")
        loop = asyncio.get_running_loop()
        rows = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(rows):
            each = socket.socket(family, kind, protocol)
            found.append(each)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            each.bind(address)
            each.listen(BACKLOG)
            each.setblocking(False)
    except (OSError, ValueError) as fault:  # ValueError: letters that no host name has
        for each in found:
            each.close()
        why = getattr(fault, "strerror", None) or fault
        raise UserError(f"{host}:{port}: cannot listen there: {why}, expected an address and a free port") from None
    return found
