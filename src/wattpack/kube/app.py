"""The service over HTTP: a literal table of routes. The size of bodies and the time of requests are limited."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from wattpack.errors import RunError
from wattpack.kube.authentication import UNAUTHORISED, Door
from wattpack.kube.claim_templates import read_templates
from wattpack.kube.gauges import gauges
from wattpack.kube.measured import Power
from wattpack.kube.objects import POD, Unreadable
from wattpack.kube.openapi import OPENAPI
from wattpack.kube.questions import blocked_line, fit
from wattpack.kube.service import Service
from wattpack.kube.sleep.status import status_of
from wattpack.kube.wire import ENCODER, Wrong, read_args, read_binding

log = logging.getLogger("wattpack")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def json_answer(body: Any, status: int = 200) -> web.Response:
    return web.Response(body=ENCODER.encode(body), content_type="application/json", status=status)


def wrong(text: str, status: int = 400) -> web.Response:
    return json_answer(Wrong(text), status)


class Routes:
    """One method for each route."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def filter(self, request: web.Request) -> web.Response:
        args = read_args(await request.read())
        return json_answer(await self.service.filter(args))

    async def prioritize(self, request: web.Request) -> web.Response:
        args = read_args(await request.read())
        return web.Response(body=await self.service.prioritize(args), content_type="application/json")

    async def bind(self, request: web.Request) -> web.Response:
        args = read_binding(await request.read())
        return json_answer(await self.service.bind(args))

    async def fit(self, request: web.Request) -> web.Response:
        pod = POD.decode(await request.read())
        if self.service.view.claim_pods is not None:
            templates = await read_templates(self.service.client, pod)
            self.service.view.claim_pods.claims.templates = templates
        decision = fit(self.service.view, pod)
        if decision is not None and not decision.node and self.service.sleep is not None:
            decision = self.service.sleep.promises.would_make(pod) or decision
        if decision is None:
            return wrong("; ".join(["no node is known yet", *blocked_line(self.service.view)]), 503)
        return json_answer(decision)

    async def explain(self, request: web.Request) -> web.Response:
        namespace, pod = request.match_info["namespace"], request.match_info["pod"]
        decision = self.service.explain(namespace, pod)
        return wrong(f"no pod {namespace}/{pod}", 404) if decision is None else json_answer(decision)

    async def healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(self, request: web.Request) -> web.Response:
        if self.service.stopping:
            return web.Response(text="this replica is stopping\n", status=503)
        if self.service.ready:
            return web.Response(text="ok\n")
        return web.Response(text="the cache is not in sync with the cluster yet\n", status=503)

    async def metrics(self, request: web.Request) -> web.Response:
        text = self.service.metrics.text(gauges(self.service))
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    async def decisions(self, request: web.Request) -> web.Response:
        return json_answer(self.service.latest())

    async def state(self, request: web.Request) -> web.Response:
        return json_answer(self.service.state())

    async def shadow(self, request: web.Request) -> web.Response:
        if self.service.shadow is None:
            return wrong("not in shadow mode: start with --shadow", 404)
        return json_answer(self.service.shadow.table())

    async def sleep(self, request: web.Request) -> web.Response:
        if self.service.sleep is None:
            return wrong("no node sleeps: the configuration has no [sleep] section", 404)
        return json_answer(status_of(self.service.sleep))

    async def power(self, request: web.Request) -> web.Response:
        return json_answer(Power(prometheus=self.service.config.prometheus, models=self.service.power_errors))

    async def openapi(self, request: web.Request) -> web.Response:
        return json_answer(OPENAPI)


def new_app(service: Service, only_probes: bool = False) -> web.Application:
    """The application; `only_probes`: for the listener that is reachable from outside the pod."""
    routes = Routes(service)
    server = service.config.server
    door = Door(server, server.metrics_host if only_probes else server.host)
    app = web.Application(
        middlewares=[guarded(service, door)], client_max_size=service.config.server.max_body_mib << 20
    )
    app.add_routes(
        [
            web.get("/healthz", routes.healthz),
            web.get("/readyz", routes.readyz),
            web.get("/metrics", routes.metrics),
        ]
    )
    if not only_probes:
        app.add_routes(
            [
                web.post("/filter", routes.filter),
                web.post("/prioritize", routes.prioritize),
                web.post("/bind", routes.bind),
                web.post("/fit", routes.fit),
                web.get("/explain/{namespace}/{pod}", routes.explain),
                web.get("/decisions", routes.decisions),
                web.get("/state", routes.state),
                web.get("/shadow", routes.shadow),
                web.get("/power", routes.power),
                web.get("/sleep", routes.sleep),
                web.get("/openapi.json", routes.openapi),
            ]
        )
    return app


def guarded(service: Service, door: Door) -> Any:
    """Lets in who may ask, times every request, limits its time, and answers bad input with one line."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        started_s = time.perf_counter()
        known = request.match_info.http_exception is None
        verb = request.path.split("/")[1] if known else "unknown"
        try:
            if known and (refusal := door.refusal(request)):
                answer = wrong(f"{request.method} {request.path}: {refusal}", UNAUTHORISED)
                answer.headers["WWW-Authenticate"] = 'Bearer realm="wattpack"'
                return answer
            async with asyncio.timeout(service.config.server.timeout_s + 5):
                return await handler(request)
        except msgspec.DecodeError as fault:
            return wrong(f"{request.path}: {fault}")
        except Unreadable as fault:
            return wrong(f"{request.path}: {fault}", 422)
        except TimeoutError:
            return wrong(f"{request.path}: took longer than {service.config.server.timeout_s:g} s", 503)
        except web.HTTPException as fault:
            answer = wrong(f"{request.method} {request.path}: {fault.reason}", fault.status)
            if "Allow" in fault.headers:
                answer.headers["Allow"] = fault.headers["Allow"]
            return answer
        except UnicodeDecodeError as fault:
            return wrong(f"{request.path}: not UTF-8: {fault.reason}")
        except ConnectionError:  # the client disconnected in the middle of its request: nobody reads the answer
            return wrong(f"{request.path}: the connection was closed before the end of the request")
        except RecursionError:
            return wrong(f"{request.path}: nested too deeply")
        except RunError as fault:  # a score that is not finite, for this pod's class; others are still decided
            log.error("%s %s: %s", request.method, request.path, fault)
            return wrong(f"{request.path}: {fault}", 500)
        except Exception:
            log.exception("%s %s", request.method, request.path)
            return wrong(f"{request.path}: a fault of wattpack's own, see its log", 500)
        finally:
            service.metrics.observe(time.perf_counter() - started_s, verb=verb)

    return guard
