"""A proxy that does harm on purpose: plain HTTP in, HTTP or TLS out, rules in between. For tests of faults only.

It stands between the service and the apiserver, or between kube-scheduler and the service, and makes the moment of a
fault exact: `before` runs when a request has come in and has not gone on, `after` when it was answered and the answer
has not been handed over.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

HOP_HEADERS = {"host", "connection", "transfer-encoding", "content-length", "content-encoding", "accept-encoding"}
FOREVER = 10**9


@dataclass
class Rule:
    """What happens to the requests it matches: to `times` of them, after the first `skip`."""

    method: str
    path: str  # a regular expression that the path with its query is searched for
    times: int = FOREVER
    skip: int = 0
    delay_s: float = 0.0
    before: Callable[[str], object] | None = None  # is given the path
    before_with_body: Callable[[str, bytes], object] | None = None  # is given the path and what is sent
    after: Callable[[str], object] | None = None
    answer: tuple[int, bytes] | None = None  # instead of what upstream would say
    lose_answer: bool = False  # upstream is asked, and its answer never arrives
    lines: Callable[[bytes], Iterable[bytes]] | None = None  # what becomes of each line of a watch
    line_delay_s: float = 0.0
    used: int = 0
    spent: threading.Event = field(default_factory=threading.Event)

    def matches(self, method: str, path: str) -> bool:
        """Whether it is for this request; counts it."""
        if self.method not in ("*", method) or not re.search(self.path, path) or self.spent.is_set():
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.used += 1
        if self.used >= self.times:
            self.spent.set()
        return True


class ChaosProxy:
    """One proxy in a thread of its own. `with ChaosProxy(url, certificate) as proxy: proxy.add(Rule(...))`."""

    def __init__(self, upstream: str, certificate: Path | None = None) -> None:
        self.upstream = upstream
        self.port = 0
        self.cut = False  # True: every connection is dropped
        self.requests: list[tuple[str, str]] = []
        self._tls: ssl.SSLContext | bool = (
            ssl.create_default_context(cafile=certificate) if certificate is not None else True
        )
        self._rules: list[Rule] = []
        self._streams: set[asyncio.Transport] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chaos", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ChaosProxy:
        self._thread.start()
        self._call(self._start())
        return self

    def __exit__(self, *exception: object) -> None:
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def add(self, rule: Rule) -> Rule:
        self._rules.append(rule)
        return rule

    def remove(self, rule: Rule) -> None:
        self._rules.remove(rule)

    def drop_streams(self) -> int:
        """Cut all open watches without a word; how many there were."""

        async def drop() -> int:
            streams = list(self._streams)
            for transport in streams:
                transport.abort()
            return len(streams)

        return int(self._call(drop()))

    def _call(self, job: Any) -> Any:
        done: Future[Any] = asyncio.run_coroutine_threadsafe(job, self._loop)
        return done.result(30)

    async def _start(self) -> None:
        connector = aiohttp.TCPConnector(ssl=self._tls, limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector, timeout=aiohttp.ClientTimeout(total=None), read_bufsize=2**22
        )
        app = web.Application(client_max_size=2**30)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _stop(self) -> None:
        for transport in list(self._streams):
            transport.abort()
        await self._runner.cleanup()
        await self._session.close()
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.sleep(0.1)  # transports that were closed just now are gone in a later turn of the loop

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path_qs
        self.requests.append((request.method, path))
        body = await request.read()
        rules = [rule for rule in self._rules if rule.matches(request.method, path)]
        for rule in rules:
            if rule.delay_s:
                await asyncio.sleep(rule.delay_s)
            if rule.before is not None:
                await asyncio.to_thread(rule.before, path)
            if rule.before_with_body is not None:
                await asyncio.to_thread(rule.before_with_body, path, body)
        if self.cut:
            _abort(request)
        for rule in rules:
            if rule.answer is not None:
                status, text = rule.answer
                return web.Response(status=status, body=text, content_type="application/json")
        headers = {key: value for key, value in request.headers.items() if key.lower() not in HOP_HEADERS}
        headers["Accept-Encoding"] = "identity"  # rules look at lines
        try:
            async with self._session.request(
                request.method, self.upstream + path, data=body or None, headers=headers, allow_redirects=False
            ) as answer:
                if re.search(r"[?&]watch=(1|true)", path):
                    return await self._stream(request, answer, rules)
                text = await answer.read()
        except (aiohttp.ClientError, ConnectionError, asyncio.IncompleteReadError) as fault:
            return web.Response(status=502, text=f"chaos proxy: {fault}")
        for rule in rules:
            if rule.after is not None:
                await asyncio.to_thread(rule.after, path)
        if self.cut or any(rule.lose_answer for rule in rules):
            _abort(request)
        kept = {key: value for key, value in answer.headers.items() if key.lower() not in HOP_HEADERS}
        return web.Response(status=answer.status, body=text, headers=kept)

    async def _stream(
        self, request: web.Request, answer: aiohttp.ClientResponse, rules: list[Rule]
    ) -> web.StreamResponse:
        stream = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
        transport = request.transport
        assert isinstance(transport, asyncio.Transport)
        try:
            await stream.prepare(request)
            self._streams.add(transport)
            while line := await answer.content.readline():
                if self.cut:
                    _abort(request)
                lines: list[bytes] = [line]
                for rule in rules:
                    if rule.line_delay_s:
                        await asyncio.sleep(rule.line_delay_s)
                    if rule.lines is not None:
                        lines = [made for one in lines for made in rule.lines(one)]
                for made in lines:
                    await stream.write(made)
            await stream.write_eof()
        except (ConnectionError, aiohttp.ClientError):
            pass  # one of the two ends has gone: that is what a proxy of faults is for
        finally:
            self._streams.discard(transport)
        return stream


def _abort(request: web.Request) -> None:
    """Drop the connection, as a partition of the network would."""
    if request.transport is not None:
        request.transport.abort()
    raise ConnectionResetError("cut off by the chaos proxy")
