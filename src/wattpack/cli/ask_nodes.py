"""What the `wattpack sleep` commands share: reaching the cluster, and naming the nodes that are meant."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from wattpack.errors import RunError, UserError

if TYPE_CHECKING:
    from wattpack.kube.client import Client

T = TypeVar("T")


def at_cluster(kubeconfig: Path | None, work: Callable[[Client], Awaitable[T]]) -> T:
    """Do `work` with a client of the cluster."""
    try:
        from wattpack.kube.client import ApiError, Client
        from wattpack.kube.kubeconfig import find_access
    except ImportError as fault:
        raise UserError(f"{fault.name} is not installed, expected wattpack[serve]") from None

    async def run() -> T:
        async with Client(find_access(kubeconfig)) as client:
            return await work(client)

    try:
        return asyncio.run(run())
    except ApiError as fault:
        raise RunError(f"the cluster cannot be asked: {fault}") from None


async def nodes_meant(client: Client, named: list[str], every: bool) -> list[str]:
    """The nodes named; with `every`, all that have a record of sleep."""
    from wattpack.kube.sleep.record import record_of

    if bool(named) == every:
        raise UserError("expected names of nodes, or --all")
    nodes, _ = await client.list_nodes()
    known = {node.metadata.name: node for node in nodes}
    unknown = [name for name in named if name not in known]
    if unknown:
        raise UserError(f"node {unknown[0]}: the cluster has none of this name")
    return named or sorted(name for name, node in known.items() if record_of(node) is not None)
