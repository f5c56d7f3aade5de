"""Reads all nodes and pods of a live Kubernetes cluster, for `import` and `fit`."""

from __future__ import annotations

from pathlib import Path

from wattpack.errors import RunError, UserError
from wattpack.kube.objects import Node, Pod


async def ask_cluster(kubeconfig: Path | None) -> tuple[list[Node], list[Pod]]:
    """All nodes and pods. Needs the right to list both."""
    try:
        from wattpack.kube.client import ApiError, Client
        from wattpack.kube.kubeconfig import find_access
    except ImportError as fault:
        raise UserError(f"{fault.name} is not installed, expected wattpack[serve]; or give --file") from None
    try:
        async with Client(find_access(kubeconfig)) as client:
            nodes, _ = await client.list_nodes()
            pods, _ = await client.list_pods()
    except ApiError as fault:
        raise RunError(f"the cluster cannot be asked: {fault}") from None
    return nodes, pods
