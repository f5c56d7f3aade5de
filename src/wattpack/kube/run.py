"""Start the service, keep it in step with the cluster (watches, lease, events, configuration, power), and stop it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from wattpack.errors import RunError, UserError
from wattpack.kube.app import new_app
from wattpack.kube.authentication import tls_of
from wattpack.kube.claim_watches import check_claims
from wattpack.kube.client import Client
from wattpack.kube.config import Config, read_config
from wattpack.kube.energy import run_energy
from wattpack.kube.events import Events
from wattpack.kube.kubeconfig import Access
from wattpack.kube.listening import LimitedSite
from wattpack.kube.measured import errors_by_model, measure
from wattpack.kube.service import Service
from wattpack.kube.shadow import Shadow
from wattpack.kube.sleep.keeper import run_sleep
from wattpack.kube.view import View

log = logging.getLogger("wattpack")
CONFIG_EVERY_S = 2.0  # the configuration file is read this often
TIDY_EVERY_S = 5.0
SHADOW_EVERY_S = 60.0
MEASURE_EVERY_S, MEASURE_AGAIN_S = 30.0, 5.0  # measured power is queried this often; while there is none, this often
KEEP_ALIVE_S = 75.0


@dataclass
class Options:
    """The configuration file, and the command line's options that override it."""

    file: Path | None
    change: Callable[[Config], Config]  # applies the command line's options to a configuration


async def serve(config: Config, options: Options, access: Access, started: Callable[[Service, int], None]) -> None:
    """Serve until SIGTERM or SIGINT. `started` is called with the service and the port once it listens.

    After the signal no request is taken, and the outcome of every Binding is awaited before the lease is handed over. A
    second signal ends that: then the lease is not handed over but expires.
    """
    stop, stop_now = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        (stop_now if stop.is_set() else stop).set()

    for ending in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(ending, end)
    async with Client(access, config.server.timeout_s) as client:
        if config.reads_claims():
            await check_claims(client)
        service = Service(config, client, identity(config))
        runner = await listen(service, config.server.host, config.server.port, False)
        probes = None
        if config.server.metrics_host:
            probes = await listen(service, config.server.metrics_host, config.server.metrics_port, True)
        reload = asyncio.Event()
        loop.add_signal_handler(signal.SIGHUP, reload.set)
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(work, name=name)
            for name, work in {
                "lease": service.lease.keep(),
                "events": run_events(service),
                "tidy": run_tidy(service),
                "energy": run_energy(service),
                "config": run_config(service, options, reload),
                "measured": run_measured(service),
                "shadow": run_shadow(service),
                "sleep": run_sleep(service),
                **{watch.name: watch.run() for watch in service.watches()},
            }.items()
        ]
        # Little garbage in cycles arises here, and a collection during a decision took 4 ms: collect rarely.
        gc.collect()
        gc.freeze()
        gc.set_threshold(100_000, 50, 50)
        started(service, runner.addresses[0][1])
        stopping: asyncio.Task[Any] = asyncio.create_task(stop.wait())
        done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if task is not stopping and task.exception() is not None:
                log.error("%s stopped: %r", task.get_name(), task.exception())
        await hand_over(service, [task for task in tasks if task.get_name() == "sleep"], stop_now)
        await runner.cleanup()  # lets running requests finish
        if probes is not None:
            await probes.cleanup()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            if task is not stopping and task.exception() is not None:
                raise RunError(f"{task.get_name()} stopped: {task.exception()!r}") from task.exception()


async def hand_over(service: Service, acting: list[asyncio.Task[Any]], stop_now: asyncio.Event) -> None:
    """Take no more work, stop `acting`, await every Binding, then release the lease, unless `stop_now` is set first."""
    service.stopping = True
    for task in acting:
        task.cancel()
    await asyncio.gather(*acting, return_exceptions=True)
    drained, hurried = asyncio.ensure_future(service.settler.drain()), asyncio.ensure_future(stop_now.wait())
    await asyncio.wait([drained, hurried], return_when=asyncio.FIRST_COMPLETED)
    hurried.cancel()
    if drained.done():
        drained.result()
        await service.lease.leave()
        return
    drained.cancel()
    log.warning("stopped before the outcome of every Binding was known: the lease is not handed over, it expires")


async def listen(service: Service, host: str, port: int, only_probes: bool) -> web.AppRunner:
    # Requests that are not HTTP are the sender's fault: no traceback in the log.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    runner = web.AppRunner(
        new_app(service, only_probes), access_log=None, keepalive_timeout=KEEP_ALIVE_S, shutdown_timeout=5.0
    )
    await runner.setup()
    await LimitedSite(runner, host, port, tls_of(service.config.server)).start()
    return runner


def identity(config: Config) -> str:
    """The same after a restart, so that a replica does not wait for its own lease to expire."""
    return f"{socket.gethostname()}:{config.server.port}"


async def run_events(service: Service) -> None:
    while True:
        events = service.events
        work = asyncio.ensure_future(events.run())
        try:
            while service.events is events and not work.done():
                await asyncio.wait([work], timeout=1.0)
        finally:
            work.cancel()


async def run_tidy(service: Service) -> None:
    while True:
        await asyncio.sleep(TIDY_EVERY_S)
        await service.tidy()
        await service.choose_again()


async def run_shadow(service: Service) -> None:
    """Log the shadow's totals whenever there are new pods in them."""
    logged = 0
    while True:
        await asyncio.sleep(SHADOW_EVERY_S)
        shadow = service.shadow
        if shadow is not None and (seen := shadow.table()["pods_placed_since_start"]) != logged:
            logged = seen
            log.info("%s", shadow.words())


async def run_measured(service: Service) -> None:
    while True:
        if service.config.prometheus:
            try:
                samples = await measure(service.client.session, service.config.prometheus)
                service.power_errors = errors_by_model(samples, service.view.cluster)
            except RunError as fault:
                log.warning("measured power: %s", fault)
        await asyncio.sleep(MEASURE_EVERY_S if service.power_errors else MEASURE_AGAIN_S)


async def run_config(service: Service, options: Options, reload: asyncio.Event) -> None:
    """Read the configuration again when it or the power file changes, or on SIGHUP; a bad one is logged, not used."""
    before = contents(options.file, service.config)
    while True:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reload.wait(), CONFIG_EVERY_S)
        asked, now = reload.is_set(), contents(options.file, service.config)
        reload.clear()
        if not asked and now == before:
            continue
        before = now
        try:
            await take_config(service, options.change(read_config(options.file)))
        except UserError as fault:
            service.metrics.count("wattpack_config_reloads_total", outcome="refused")
            log.error("configuration rejected, the old one stays in use: %s", fault)
            continue
        before = contents(options.file, service.config)  # it may name another power file
        service.metrics.count("wattpack_config_reloads_total", outcome="taken")
        log.info("new configuration in use: policy %s, mode %s", service.config.policy, service.config.mode)


def contents(file: Path | None, config: Config) -> bytes:
    """Of the configuration file and its power file."""
    return content(file) + b"\0" + content(Path(config.power_file) if config.power_file else None)


def content(file: Path | None) -> bytes:
    try:
        return b"" if file is None else file.read_bytes()
    except OSError:
        return b""


async def take_config(service: Service, config: Config) -> None:
    """Replace policy, target, dialect and the like at one moment; reservations are taken over."""
    if config.server != service.config.server or config.lease != service.config.lease:
        raise UserError("[server] and [lease] cannot be changed without a restart")
    if config.allocate_claims != service.config.allocate_claims:
        raise UserError("allocate_claims cannot be changed without a restart")
    view = View(config, service.view.claims)
    # All from what the watches have shown, and without `await`: no request, event or list sees a half of the change.
    service.nodes.show_again(view.change_node, view.skip_node, view.replace_nodes)
    # Before the pods: GPUs that a claim holds count with its pod's reservation.
    view.cluster.adopt(service.view.cluster)
    service.pods.show_again(view.change_pod, view.skip_pod)
    if view.claim_pods is not None:
        view.claim_pods.changed(list(view.claim_pods.claims.claims))  # claims without pods hold GPUs too
        for skipped in service.claims[-1].skipped():
            view.skip_holder("ADDED", skipped)
    view.cluster.engine()
    before = service.sleep
    service.view, service.config = view, config
    service.start_sleep(config)
    service.events = Events(service.client, service.metrics, config.events)
    service.shadow = None
    if config.mode == "shadow":
        service.shadow = Shadow(view, service.metrics)
        service.shadow.start()
    if before is not None:
        await before.close()
