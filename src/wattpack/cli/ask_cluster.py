"""Reads all nodes, pods and resource claims of a live Kubernetes cluster, for `import` and `fit`."""

from __future__ import annotations

from pathlib import Path

from wattpack.errors import RunError, UserError
from wattpack.kube.dra.claims import Claims
from wattpack.kube.dra.objects import CLAIM, CLASS, TEMPLATE
from wattpack.kube.dra.slice_objects import SLICE
from wattpack.kube.import_files import ClusterObjects
from wattpack.kube.objects import KIND

RESOURCES = "/apis/resource.k8s.io/v1"
DEVICES = ("resourceslices", "resourceclaims", "deviceclasses", "resourceclaimtemplates")


async def ask_cluster(kubeconfig: Path | None) -> ClusterObjects:
    """All nodes and pods. Needs the right to list both; resource claims and slices are read where that is allowed."""
    try:
        from wattpack.kube.client import ApiError, Client
        from wattpack.kube.kubeconfig import find_access
    except ImportError as fault:
        raise UserError(f"{fault.name} is not installed, expected wattpack[serve]; or give --file") from None
    try:
        async with Client(find_access(kubeconfig)) as client:
            nodes, _ = await client.list_nodes()
            pods, _ = await client.list_pods()
            lists = []
            for name in DEVICES:
                try:
                    lists.append(KIND.decode(await client.call("GET", f"{RESOURCES}/{name}")).items or [])
                except ApiError:  # no such API before 1.34, or no right: pods with claims are then not understood
                    lists.append([])
    except ApiError as fault:
        raise RunError(f"the cluster cannot be asked: {fault}") from None
    slices, claims, classes, templates = lists
    found = Claims(
        map(SLICE.decode, slices),
        map(CLAIM.decode, claims),
        map(CLASS.decode, classes),
        map(TEMPLATE.decode, templates),
    )
    return ClusterObjects(nodes, pods, found)
