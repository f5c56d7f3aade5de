"""What the apiserver alone says about claims: who holds which device, and whether any device holds too much.

As in audit.py nothing here imports the service or its readers.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from e2e.api import Api, Json
from e2e.audit import Placement, pods_of
from e2e.claim_objects import CLAIMS, MILLI, SLICES

FINISHED = ("Succeeded", "Failed")


class Share(NamedTuple):
    node: str
    device: str
    milli: int


def thousandths(text: str) -> int:
    """The API server writes 1000 as 1k."""
    return 1000 * int(text[:-1]) if text.endswith("k") else int(text)


def claims_of(api: Api) -> dict[str, Json]:
    return {claim["metadata"]["name"]: claim for claim in api.list(CLAIMS)}


def shares_of(claim: Json) -> list[Share]:
    """What an allocated claim holds; pools have the names of their nodes."""
    allocation = claim.get("status", {}).get("allocation") or {}
    return [
        Share(result["pool"], result["device"], thousandths((result.get("consumedCapacity") or {}).get(MILLI, "1000")))
        for result in (allocation.get("devices") or {}).get("results") or []
    ]


def claim_names(pod: Json) -> list[str]:
    made = {one["name"]: one.get("resourceClaimName") for one in pod["status"].get("resourceClaimStatuses") or []}
    asked = pod["spec"].get("resourceClaims") or []
    return [one.get("resourceClaimName") or made.get(one["name"]) or "" for one in asked]


def claimed_placements(api: Api) -> dict[str, Placement]:
    """Node and GPU numbers of every bound pod, by name, from its claims."""
    claims, found = claims_of(api), {}
    for pod in pods_of(api):
        if node := pod["spec"].get("nodeName"):
            held = [share for name in claim_names(pod) if name in claims for share in shares_of(claims[name])]
            numbers = sorted(int(share.device.removeprefix("gpu-")) for share in held)
            found[pod["metadata"]["name"]] = Placement(node, "-".join(map(str, numbers)))
    return found


def claim_faults(api: Api) -> list[str]:
    """Everything that must not be, one line each."""
    found: list[str] = []
    pods = {pod["metadata"]["uid"]: pod for pod in pods_of(api)}
    claims = claims_of(api)
    there = {
        (item["spec"]["pool"]["name"], one["name"]): thousandths(one["capacity"][MILLI]["value"])
        for item in api.list(SLICES)
        for one in item["spec"]["devices"]
    }
    nodes = {node["metadata"]["name"] for node in api.list("/api/v1/nodes")}
    held: defaultdict[tuple[str, str], int] = defaultdict(int)
    for name, claim in claims.items():
        shares, users = shares_of(claim), claim.get("status", {}).get("reservedFor") or []
        for share in shares:
            held[share.node, share.device] += share.milli
        if shares and not any(user["uid"] in pods for user in users):
            found.append(f"claim {name} is allocated and no pod uses it: {users}")
        for user in users:
            pod = pods.get(user["uid"])
            if pod and pod["spec"].get("nodeName") not in (None, *(share.node for share in shares)):
                found.append(f"claim {name} is on {shares} and its pod on {pod['spec']['nodeName']}")
    for device, milli in held.items():
        if milli > there.get(device, milli if device[0] not in nodes else 0):
            found.append(f"{device} holds {milli} milli of {there.get(device)}")
    for pod in pods.values():
        if pod["spec"].get("nodeName") is None or pod["status"].get("phase") in FINISHED:
            continue
        for name in claim_names(pod):
            users = claims.get(name, {}).get("status", {}).get("reservedFor") or []
            if pod["metadata"]["uid"] not in [user["uid"] for user in users]:
                found.append(f"pod {pod['metadata']['name']} is bound and its claim {name!r} is not reserved for it")
    return found


def claimed_gpus(api: Api) -> float:
    """GPUs that allocated claims hold."""
    return sum(share.milli for claim in claims_of(api).values() for share in shares_of(claim)) / 1000
