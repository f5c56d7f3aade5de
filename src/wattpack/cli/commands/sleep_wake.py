"""`wattpack sleep wake`: nodes back into service."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

from wattpack.cli.ask_nodes import at_cluster, nodes_meant
from wattpack.errors import RunError, UserError
from wattpack.model.durations import seconds_of

if TYPE_CHECKING:
    from wattpack.kube.client import Client


def sleep_wake_command(
    *nodes: str,
    all: bool = False,
    kubeconfig: Path | None = None,
    config: Path | None = None,
    direct: bool = False,
    timeout: str = "20m",
    stop: str | None = None,
) -> None:
    """Wake nodes that sleep, were given up or left alone, and take wattpack's marks off them.

    The wish is written on the Nodes, and the service fulfils it. With --direct this command does it itself, which also
    works while the service is dead. Exit 1 if a node is not awake in time; what is in the way is said for each.

    Parameters
    ----------
    nodes
        Names of nodes.
    all
        All nodes that have a record of sleep.
    kubeconfig
        How to reach the cluster; default: $KUBECONFIG, the service account of the pod, ~/.kube/config.
    config
        TOML file of `wattpack serve`, which says how machines are switched; for --direct.
    direct
        Do not wait for the service: turn the machines on and open the nodes from here.
    timeout
        How long to wait for all of them, for example 20m.
    stop
        Namespace of the service: it is labelled first, so that no node goes to sleep meanwhile or afterwards.
    """
    limit_s = seconds_of(timeout, "--timeout")
    from wattpack.kube.config import read_config

    settings = read_config(config) if config is not None else None
    if settings is not None and settings.sleep is None:
        raise UserError(f"{config}: no [sleep] section, expected one that says how machines are switched")
    sleep = settings.sleep if settings is not None else None

    async def work(client: Client) -> dict[str, str]:
        from wattpack.kube.sleep.people import ask_for, stop_sleep, wake_directly
        from wattpack.kube.sleep.record import WAKE
        from wattpack.kube.switches.registry import new_switch

        if stop is not None:
            await stop_sleep(client, stop)
            print(f"namespace {stop}: labelled, no node goes to sleep")
        names = await nodes_meant(client, list(nodes), all)
        if not names:
            print("no node sleeps")
            return {}
        if direct:
            switch = new_switch(sleep, client) if sleep is not None else None
            try:
                found = await asyncio.gather(*(wake_directly(client, switch, name, limit_s, print) for name in names))
            finally:
                if switch is not None:
                    await switch.close()
            return dict(zip(names, found, strict=True))
        for name in names:
            await ask_for(client, name, WAKE)
        return await wait_for(client, names, limit_s)

    troubles = {name: why for name, why in at_cluster(kubeconfig, work).items() if why}
    if troubles:
        lines = "; ".join(f"{name}: {why}" for name, why in troubles.items())
        raise RunError(f"not awake: {lines}; `wattpack sleep status --undo` says how to go on by hand")


async def wait_for(client: Client, names: list[str], limit_s: float) -> dict[str, str]:
    """Until no node has a record any more; what the others are."""
    from wattpack.kube.sleep.record import record_of

    until_s, left = time.monotonic() + limit_s, dict.fromkeys(names, "")
    print(f"asked: {', '.join(names)}")
    while True:
        nodes, _ = await client.list_nodes()
        for node in nodes:
            name, record = node.metadata.name, record_of(node)
            if name in left and record is None:
                del left[name]
                print(f"{name}: awake")
            elif name in left and record is not None:
                left[name] = (
                    f"{record.state.value} ({record.why}); is the service running, in mode act? --direct needs none"
                )
        if not left or time.monotonic() > until_s:
            return left
        await asyncio.sleep(1.0)
