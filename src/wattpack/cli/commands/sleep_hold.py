"""`wattpack sleep hold`: nodes that stay awake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wattpack.cli.ask_nodes import at_cluster, nodes_meant

if TYPE_CHECKING:
    from wattpack.kube.client import Client


def sleep_hold_command(*nodes: str, off: bool = False, kubeconfig: Path | None = None) -> None:
    """Hold nodes awake: they do not go to sleep, and wake if they do, until `--off`.

    Parameters
    ----------
    nodes
        Names of nodes.
    off
        Hold them no longer.
    kubeconfig
        How to reach the cluster; default: $KUBECONFIG, the service account of the pod, ~/.kube/config.
    """

    async def work(client: Client) -> None:
        from wattpack.kube.sleep.people import ask_for
        from wattpack.kube.sleep.record import HOLD

        for name in await nodes_meant(client, list(nodes), False):
            await ask_for(client, name, None if off else HOLD)
            print(f"{name}: {'may sleep again' if off else 'held awake'}")

    at_cluster(kubeconfig, work)
