"""Writes to resource claims: the finalizer, the allocation with its pod, and both taken back.

Every write names the resource version that it is based on, so that a claim somebody else has changed is refused with
409 and nothing is overwritten. A claim is written in two calls, as the API server takes metadata and status apart. No
rules about devices here: `claim_binding.py` says what is written.
"""

from __future__ import annotations

from typing import Any

from wattpack.kube.client import Client
from wattpack.kube.dra.objects import CLAIM, DELETE_PROTECTION, Allocation, Consumer, ResourceClaim


def claim_path(claim: ResourceClaim) -> str:
    metadata = claim.metadata
    return f"/apis/resource.k8s.io/v1/namespaces/{metadata.namespace}/resourceclaims/{metadata.name}"


async def get_claim(client: Client, claim: ResourceClaim, timeout_s: float | None = None) -> ResourceClaim:
    return CLAIM.decode(await client.call("GET", claim_path(claim), timeout_s=timeout_s))


async def protect(client: Client, claim: ResourceClaim, timeout_s: float) -> ResourceClaim:
    """Add the finalizer: an allocated claim stays until nobody uses it."""
    if DELETE_PROTECTION in claim.metadata.finalizers:
        return claim
    finalizers = [*claim.metadata.finalizers, DELETE_PROTECTION]
    return await _patch(client, claim, claim_path(claim), {"metadata": {"finalizers": finalizers}}, timeout_s)


async def unprotect(client: Client, claim: ResourceClaim, timeout_s: float) -> ResourceClaim:
    """Take the finalizer away from a claim that is not allocated."""
    if DELETE_PROTECTION not in claim.metadata.finalizers:
        return claim
    finalizers = [name for name in claim.metadata.finalizers if name != DELETE_PROTECTION]
    return await _patch(client, claim, claim_path(claim), {"metadata": {"finalizers": finalizers}}, timeout_s)


async def allocate(
    client: Client, claim: ResourceClaim, allocation: Allocation, pod: Consumer, timeout_s: float
) -> ResourceClaim:
    """Write the allocation and the pod it is for. Both at once: a claim without a pod would never be freed."""
    status = {"allocation": allocation, "reservedFor": [pod]}
    return await _patch(client, claim, claim_path(claim) + "/status", {"status": status}, timeout_s)


async def reserve(client: Client, claim: ResourceClaim, pod: Consumer, timeout_s: float) -> ResourceClaim:
    """Add a pod to those that use an allocated claim."""
    if any(one.uid == pod.uid for one in claim.status.reserved_for):
        return claim
    users = [*claim.status.reserved_for, pod]
    return await _patch(client, claim, claim_path(claim) + "/status", {"status": {"reservedFor": users}}, timeout_s)


async def give_back(client: Client, claim: ResourceClaim, pod_uid: str, timeout_s: float) -> ResourceClaim:
    """Take the pod out of the claim; the allocation goes with the last pod that uses it, and then the finalizer.

    A claim that is not reserved for the pod is left as it is: what it holds is not the pod's.
    """
    others = [one for one in claim.status.reserved_for if one.uid != pod_uid]
    if len(others) == len(claim.status.reserved_for):
        return claim
    status: dict[str, Any] = {"reservedFor": others} if others else {"reservedFor": None, "allocation": None}
    claim = await _patch(client, claim, claim_path(claim) + "/status", {"status": status}, timeout_s)
    return claim if others else await unprotect(client, claim, timeout_s)


async def _patch(
    client: Client, claim: ResourceClaim, path: str, change: dict[str, Any], timeout_s: float
) -> ResourceClaim:
    """A merge patch that fails with 409 if the claim is not the one we know, in the version that we know."""
    known = {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}
    body = {**change, "metadata": {**change.get("metadata", {}), **known}}
    return CLAIM.decode(await client.call("PATCH", path, body, timeout_s))
