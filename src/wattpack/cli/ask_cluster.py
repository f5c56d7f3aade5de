"""Reads all nodes, pods and resource claims of a live Kubernetes cluster, for `import` and `fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wattpack.errors import RunError, UserError
from wattpack.kube.dra.claims import Claims
from wattpack.kube.dra.objects import CLAIM, CLASS, TEMPLATE
from wattpack.kube.dra.slice_objects import SLICE
from wattpack.kube.import_files import ClusterObjects

RESOURCES = "/apis/resource.k8s.io/v1"
DEVICES: dict[str, Any] = {
    "resourceslices": SLICE,
    "resourceclaims": CLAIM,
    "deviceclasses": CLASS,
    "resourceclaimtemplates": TEMPLATE,
}
NO_RIGHT = "no right to read them: as if no GPU were given out by resource claims"


async def ask_cluster(kubeconfig: Path | None) -> ClusterObjects:
    """All nodes and pods. Needs the right to list both; resource claims and slices are read where that is allowed."""
    try:
        from wattpack.kube.client import FORBIDDEN, NOT_FOUND, ApiError, Client
        from wattpack.kube.kubeconfig import find_access
    except ImportError as fault:
        raise UserError(f"{fault.name} is not installed, expected wattpack[serve]; or give --file") from None
    forbidden: list[str] = []
    try:
        async with Client(find_access(kubeconfig)) as client:
            nodes, _ = await client.list_nodes()
            pods, _ = await client.list_pods()
            lists: list[list[Any]] = []
            for name, decoder in DEVICES.items():
                try:
                    lists.append((await client.list_all(f"{RESOURCES}/{name}", decoder))[0])
                except ApiError as fault:
                    if fault.status not in (FORBIDDEN, NOT_FOUND):  # there is no such API before 1.34
                        raise
                    lists.append([])  # pods with claims are then not understood
                    forbidden += [name] if fault.status == FORBIDDEN else []
    except ApiError as fault:
        raise RunError(f"the cluster cannot be asked: {fault}") from None
    return ClusterObjects(nodes, pods, Claims(*lists), forbidden)
