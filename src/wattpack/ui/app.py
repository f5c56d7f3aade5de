"""The page over HTTP: a literal table of routes. Bodies are limited; bad input is one line."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from wattpack import __version__
from wattpack.energy.zones import ZONES
from wattpack.errors import UserError
from wattpack.experiments.lineup import DEFAULT_POLICIES
from wattpack.policies import REGISTRY
from wattpack.policies.expression import AUTO, AUTO_SUMMARY
from wattpack.report.style import label
from wattpack.ui.answers import ENCODER, Choices, Done, PolicyLine, Words
from wattpack.ui.as_words import command_of, python_of, words_of
from wattpack.ui.ask import ask
from wattpack.ui.assets import index_page, static_file
from wattpack.ui.limits import MAX_BODY_BYTES, NotThereError, body_of, one_line
from wattpack.ui.live import live_view
from wattpack.ui.map_events import events_of
from wattpack.ui.map_payload import map_payload
from wattpack.ui.openapi import OPENAPI
from wattpack.ui.results import KINDS, figure_of, file_of, results_of
from wattpack.ui.runs import Run, Runs
from wattpack.ui.security import REPORT_POLICY, guard, json_answer, wrong
from wattpack.ui.sources import MAX_UPLOAD_BYTES, Sources
from wattpack.ui.why import why
from wattpack.ui.wire import AskRequest, MapRequest, RunRequest, WhyRequest

log = logging.getLogger("wattpack")
T = TypeVar("T")
RUN_REQUEST = msgspec.json.Decoder(RunRequest)
MAP_REQUEST = msgspec.json.Decoder(MapRequest)
WHY_REQUEST = msgspec.json.Decoder(WhyRequest)
ASK_REQUEST = msgspec.json.Decoder(AskRequest)


@dataclass
class Desk:
    """All that the routes work on. Questions to the engine wait for each other in one thread."""

    sources: Sources
    runs: Runs
    live: str = ""
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="ui"))

    async def think(self, function: Callable[..., T], *given: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *given)

    async def close(self) -> None:
        await self.runs.close()
        self.thread.shutdown(wait=False, cancel_futures=True)


class Routes:
    """One method for each route."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def run_of(self, request: web.Request) -> Run:
        try:
            return self.desk.runs.get(request.match_info["id"])
        except UserError as fault:
            raise NotThereError(str(fault)) from None

    async def page(self, request: web.Request) -> web.Response:
        return web.Response(text=index_page(), content_type="text/html")

    async def static(self, request: web.Request) -> web.Response:
        found = static_file(request.match_info["name"])
        if found is None:
            return wrong(f"no file {request.match_info['name']!r}", 404)
        return web.Response(body=found[0], content_type=found[1], charset="utf-8")

    async def choices(self, request: web.Request) -> web.Response:
        desk = self.desk
        datacenters = await desk.think(desk.sources.datacenter_lines)
        traces = await desk.think(desk.sources.trace_lines)
        lines = {name: own.summary for name, own in REGISTRY.items()} | {AUTO: AUTO_SUMMARY}
        policies = [PolicyLine(name, label(name), text, name in DEFAULT_POLICIES) for name, text in lines.items()]
        zones = [(zone.iso3, f"{zone.name}, {zone.g_per_kwh:g} g CO2e per kWh") for zone in ZONES]
        return json_answer(
            Choices(
                __version__,
                datacenters,
                traces,
                policies,
                list(desk.sources.profiles),
                zones,
                desk.runs.list(),
                desk.live,
            )
        )

    async def upload(self, request: web.Request) -> web.Response:
        kind, name = request.query.get("kind", ""), request.query.get("name", "")
        if kind not in ("nodes", "tasks"):
            return wrong(f"kind {kind!r}, expected nodes or tasks")
        data = await body_of(request, MAX_UPLOAD_BYTES)
        return json_answer(await self.desk.think(self.desk.sources.keep_upload, kind, name, data))

    async def start(self, request: web.Request) -> web.Response:
        asked = RUN_REQUEST.decode(await body_of(request, MAX_BODY_BYTES))
        run = await self.desk.runs.start(asked)
        return json_answer(run.status())

    async def words(self, request: web.Request) -> web.Response:
        """What would be run, before it is."""
        asked, desk = RUN_REQUEST.decode(await body_of(request, MAX_BODY_BYTES)), self.desk
        words = await desk.think(words_of, asked, desk.sources, desk.runs.plugins)
        return json_answer(Words(command_of(words), python_of(asked, desk.sources)))

    async def list_runs(self, request: web.Request) -> web.Response:
        return json_answer(self.desk.runs.list())

    async def status(self, request: web.Request) -> web.Response:
        return json_answer(self.run_of(request).status())

    async def cancel(self, request: web.Request) -> web.Response:
        run = self.run_of(request)
        await self.desk.runs.cancel(run)
        return json_answer(Done(f"{run.id} is cancelled; its finished runs are kept"))

    async def forget(self, request: web.Request) -> web.Response:
        run = self.run_of(request)
        await self.desk.runs.forget(run)
        return json_answer(Done(f"{run.id} is removed"))

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: the status of a run after every change, until it is over."""
        run = self.run_of(request)
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await answer.prepare(request)
        with suppress(ConnectionError):  # the page was closed or loaded again
            async for status in run.follow():
                await answer.write(
                    b": still on\n\n" if status is None else b"data: " + ENCODER.encode(status) + b"\n\n"
                )
        return answer

    async def results(self, request: web.Request) -> web.Response:
        return json_answer(await self.desk.think(results_of, self.run_of(request), self.desk.sources))

    async def file(self, request: web.Request) -> web.StreamResponse:
        file = file_of(self.run_of(request), request.match_info["name"])
        headers = {"Content-Security-Policy": REPORT_POLICY} if file.suffix == ".html" else {}
        if file.suffix in (".csv", ".json"):
            headers["Content-Disposition"] = f'attachment; filename="{file.name}"'
        return web.FileResponse(file, headers=headers)

    async def figure(self, request: web.Request) -> web.Response:
        kind, run = request.match_info["kind"], self.run_of(request)
        body = await self.desk.think(figure_of, run, self.desk.sources, int(request.match_info["trace"]), kind)
        named = {"Content-Disposition": f'attachment; filename="{run.id}-{request.match_info["trace"]}.{kind}"'}
        return web.Response(body=body, content_type=KINDS[kind], headers=named)

    async def map(self, request: web.Request) -> web.Response:
        asked = MAP_REQUEST.decode(await body_of(request, MAX_BODY_BYTES))
        body = await self.desk.think(map_of, asked, self.desk.sources)
        return web.Response(body=body, content_type="application/octet-stream")

    async def why(self, request: web.Request) -> web.Response:
        asked = WHY_REQUEST.decode(await body_of(request, MAX_BODY_BYTES))
        return json_answer(await self.desk.think(why, asked, self.desk.sources))

    async def ask(self, request: web.Request) -> web.Response:
        asked = ASK_REQUEST.decode(await body_of(request, MAX_BODY_BYTES))
        return json_answer(await self.desk.think(ask, asked, self.desk.sources))

    async def live(self, request: web.Request) -> web.Response:
        return json_answer(await live_view(self.desk.live))

    async def openapi(self, request: web.Request) -> web.Response:
        return json_answer(OPENAPI)


def map_of(asked: MapRequest, sources: Sources) -> bytes:
    return map_payload(events_of(asked, sources))


def new_app(desk: Desk, host: str, token: str) -> web.Application:
    routes = Routes(desk)
    app = web.Application(middlewares=[guard(host, token), one_line], client_max_size=MAX_UPLOAD_BYTES)
    pages = ("/", "/runs/{id}", "/map", "/why", "/ask", "/live")
    app.add_routes([web.get(path, routes.page) for path in pages])
    app.add_routes(
        [
            web.get("/static/{name}", routes.static),
            web.get("/api/choices", routes.choices),
            web.post("/api/uploads", routes.upload),
            web.post("/api/words", routes.words),
            web.get("/api/runs", routes.list_runs),
            web.post("/api/runs", routes.start),
            web.get("/api/runs/{id}", routes.status),
            web.delete("/api/runs/{id}", routes.forget),
            web.post("/api/runs/{id}/cancel", routes.cancel),
            web.get("/api/runs/{id}/events", routes.events),
            web.get("/api/runs/{id}/results", routes.results),
            web.get(r"/api/runs/{id}/files/{name:.+}", routes.file),
            web.get(r"/api/runs/{id}/figures/{trace:[0-9]{1,3}}.{kind:png|svg|pdf}", routes.figure),
            web.post("/api/map", routes.map),
            web.post("/api/why", routes.why),
            web.post("/api/ask", routes.ask),
            web.get("/api/live", routes.live),
            web.get("/openapi.json", routes.openapi),
        ]
    )

    async def close(app: web.Application) -> None:
        await desk.close()

    app.on_shutdown.append(close)
    return app


def new_desk(
    folder: Path,
    datacenters: list[str] | None = None,
    traces: list[str] | None = None,
    results: list[Path] | None = None,
    live: str = "",
    plugins: list[Path] | None = None,
    power: Path | None = None,
) -> Desk:
    sources = Sources(folder, datacenters or (), traces or (), power)
    return Desk(sources, Runs(folder, sources, results or (), plugins or ()), live)
