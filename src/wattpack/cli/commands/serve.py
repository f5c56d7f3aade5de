"""`wattpack serve`: the scheduler extender."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wattpack.errors import RunError, UserError
from wattpack.jit import say_if_compiling
from wattpack.model.counted import counted
from wattpack.policies.expression import is_auto

if TYPE_CHECKING:
    from wattpack.kube.client import Client
    from wattpack.kube.config import Config
    from wattpack.kube.service import Service
    from wattpack.kube.shadow import ShadowTable
    from wattpack.kube.sleep.config import SleepConfig
    from wattpack.kube.view import View

SHOWN = 20  # pods that the table of shadow mode names


def serve_command(
    *,
    config: Path | None = None,
    kubeconfig: Path | None = None,
    policy: str | None = None,
    shadow: bool = False,
    check: bool = False,
    host: str | None = None,
    port: int | None = None,
    prometheus: str | None = None,
    dialect: list[str] | None = None,
) -> None:
    """Place pods of a live cluster, beside an unmodified kube-scheduler.

    Parameters
    ----------
    config
        TOML file; without one, the defaults (docs/guide/serve.md).
    kubeconfig
        How to reach the cluster; default: $KUBECONFIG, the pod's service account, ~/.kube/config.
    policy
        Policy expression, above the one in the file.
    shadow
        Watch and decide, bind nothing: how often and how would the policy differ from the scheduler in place?
    check
        Only read the configuration, say what it means, and try to reach the cluster if one is given: what of it cannot
        be read, and what [sleep] would do now. Nothing is changed.
    host
        Address to listen on; default: loopback. Any other needs a token or a client CA (docs/guide/serve.md).
    port
        Port to listen on; 0 takes a free one.
    prometheus
        Address of a Prometheus with DCGM or Kepler metrics: modelled against measured watts at /power.
    dialect
        How pods ask for GPUs (docs/guide/dialects.md); may be given again. Default: the configuration's, or all of them
        at once. What running pods say in other dialects' annotations is not read.
    """
    try:
        from wattpack.kube.authentication import problems_of_server
        from wattpack.kube.config import checked, nul_faults, problems, read_all
        from wattpack.kube.kubeconfig import find_access
        from wattpack.kube.run import Options, serve
    except ModuleNotFoundError as fault:
        raise UserError(f"serve needs {fault.name}: install wattpack[serve]") from None

    def overridden(read: Config) -> Config:
        changes = {"policy": policy, "mode": "shadow" if shadow else None, "prometheus": prometheus, "dialect": dialect}
        server = {"host": host, "port": port}
        given = {name: value for name, value in changes.items() if value is not None}
        listening = {name: value for name, value in server.items() if value is not None}
        return msgspec.structs.replace(read, **given, server=msgspec.structs.replace(read.server, **listening))

    def laid_over(read: Config) -> Config:
        return checked(overridden(read), str(config or "command line"))

    options = {"policy": policy, "host": host, "prometheus": prometheus, "dialect": dialect, "kubeconfig": kubeconfig}
    words = {f"--{name}": str(value) if isinstance(value, Path) else value for name, value in options.items()}
    if faults := nul_faults(words):
        raise UserError("; ".join(faults))
    read, faults = read_all(config)
    settings = overridden(read)
    faults += problems(settings) + problems_of_server(settings.server)
    if check and kubeconfig is not None:
        try:
            find_access(kubeconfig)
        except UserError as fault:
            faults.append(str(fault))
    if faults:
        raise UserError(f"{config or 'command line'}: {'; '.join(faults)}")
    if check:
        print_check(settings, config)
        if kubeconfig is None:
            if is_auto(settings.policy):
                known = "add --kubeconfig FILE to see what and why"
                print(f"  {settings.policy} chooses when the nodes are known: {known}")
            return
    access = find_access(kubeconfig)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    if check:
        asyncio.run(reach(settings, access))
        return
    say_if_compiling("wattpack.engine.live.one_decision")
    compile_ahead(settings)

    running: list[Service] = []

    def started(service: Service, port: int) -> None:
        running.append(service)
        print(
            f"wattpack: serving on {settings.server.host}:{port}, policy {settings.policy}, mode {settings.mode}, "
            f"cluster {access.server}",
            file=sys.stderr,
            flush=True,
        )

    with new_runner() as runner:
        runner.run(serve(settings, Options(config, laid_over), access, started))
    if running and running[0].shadow is not None:
        print_shadow(running[0].shadow.table())


def new_runner() -> asyncio.Runner:
    """uvloop where it is there: it made the service a third faster."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def compile_ahead(settings: Config) -> None:
    """Decide once on a made-up cluster, so that the first pod does not wait for the compiler."""
    from wattpack.kube.compile_ahead import compile_kernels

    compile_kernels(settings.cluster())


def print_shadow(table: ShadowTable) -> None:
    """How often and how the policy differs, at the end of shadow mode: totals, then the latest pods it differs on."""
    from rich.table import Table
    from rich.text import Text

    from wattpack.cli.consoles import wide_console

    console = wide_console()
    totals = Table(show_edge=False, show_header=False)
    for name, value in table.items():
        if name != "pods":
            totals.add_row(name.replace("_", " "), f"{value:.4g}" if isinstance(value, float) else str(value))
    console.print(totals)
    differing = [row for row in table["pods"] if row["agreement"] != "same"][-SHOWN:]
    if differing:
        pods = Table(show_edge=False)
        for column in differing[0]:
            pods.add_column(column.replace("_", " "))
        for row in differing:
            pods.add_row(*(Text(str(value)) for value in row.values()))
        console.print(pods)


def print_check(settings: Config, file: Path | None) -> None:
    print(f"{file or 'defaults'}: good")
    print(f"  {'power_profile':<15} {settings.profile().name}")
    for name in ("policy", "target", "dialect", "mode", "node_order", "events"):
        print(f"  {name:<15} {getattr(settings, name)}")
    print(f"  {'listens on':<15} {settings.server.host}:{settings.server.port}")


async def reach(settings: Config, access: object) -> None:
    """Read the cluster once and say what of it cannot be read."""
    from wattpack.kube.client import ApiError, Client
    from wattpack.kube.constraints import soft_terms
    from wattpack.kube.informer import Kind
    from wattpack.kube.kubeconfig import Access
    from wattpack.kube.objects import NODE, POD
    from wattpack.kube.read_pod import FINISHED
    from wattpack.kube.view import View

    assert isinstance(access, Access)
    async with Client(access) as client:
        await client.check()
        view = View(settings)
        nodes = Kind(client, "/api/v1/nodes", NODE, view.change_node, view.skip_node, view.replace_nodes)
        pods = Kind(client, "/api/v1/pods", POD, view.change_pod, view.skip_pod, view.replace_pods)
        try:
            await nodes.relist()
            await pods.relist()
        except ApiError as fault:
            raise RunError(f"{access.server}: {fault}") from None
        sleep = [] if settings.sleep is None else await sleep_lines(client, view, settings.sleep)
    cluster = view.cluster
    on_nodes, held = counted(len(cluster.nodes), "node"), counted(len(cluster.reservations), "pod")
    there = "it" if len(cluster.nodes) == 1 else "them"
    print(f"cluster {access.server}: {on_nodes}, {held} on {there}, {cluster.power_w():.0f} W modelled")
    if cluster.in_step.auto is not None and cluster.in_step.auto.choice is not None:
        print(f"  {cluster.in_step.auto.choice.text}")
    for line in sleep:
        print(line)
    soft = [pod for pod in pods.things() if soft_terms(pod) and pod.status.phase not in FINISHED]
    if soft and settings.mode == "choose":
        named = ", ".join(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in soft[:3])
        prefer = "pod has" if len(soft) == 1 else "pods have"
        print(f"  {len(soft)} {prefer} soft terms that mode choose does not weigh ({named}); mode score keeps them")
    for why in list(view.unreadable_nodes.values())[:10]:
        print(f"  left out: {why}")
    for why in list(view.unreadable_pods.values())[:10]:
        print(f"  {why}")


async def sleep_lines(client: Client, view: View, sleep: SleepConfig) -> list[str]:
    from wattpack.kube.sleep.dry_run import dry_run, looked_at, seen_at_once

    return [*dry_run(view, sleep), *await looked_at(client, seen_at_once(view, sleep).would_sleep)]
