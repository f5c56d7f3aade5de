"""What the API server itself says is on a node, asked right before its machine is switched off: no watch, no cache.

The lists name no resourceVersion, so the API server answers with what is committed (a quorum read), not with what one
of its caches holds. A list that cannot be read in full raises ApiError: then nobody knows, and no machine goes off.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from wattpack.kube.client import NO_ANSWER, NOT_FOUND, ApiError, Client
from wattpack.kube.constraints import NAME_FIELD
from wattpack.kube.dra.objects import CLAIM, ResourceClaim
from wattpack.kube.dra.taken import results_of
from wattpack.kube.objects import FAULTS, POD, ListMetadata, NodeSelectorTerm
from wattpack.kube.read_pod import FINISHED, belongs_to_node
from wattpack.model.counted import counted

PAGE = 500  # objects on one page of a list
PODS = "/api/v1/pods"
RESOURCES = "/apis/resource.k8s.io"
HOSTNAME = "kubernetes.io/hostname"


class Evidence(NamedTuple):
    """What was there, and the versions at which it was read."""

    held: str  # what keeps the machine on; "": nothing
    own: int  # pods that may be on a machine that is switched off: of DaemonSets, static ones, finished ones
    pods_version: str
    claims_version: str  # "": this API server has no resource claims

    def words(self) -> str:
        claims = f"resource claims at {self.claims_version}" if self.claims_version else "there are no resource claims"
        return (
            f"{self.held or counted(self.own, 'pod') + ' of its own'}; read live: pods at {self.pods_version}, {claims}"
        )


class LiveList(msgspec.Struct):
    """A list with its objects undecoded: one that cannot be read must count, not vanish."""

    kind: str
    metadata: ListMetadata
    items: list[msgspec.Raw] | None


class Served(msgspec.Struct):
    version: str


class Group(msgspec.Struct):
    """Which versions of an API group are served."""

    versions: list[Served]


class Named(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class Something(msgspec.Struct):
    """The name of an object of which nothing else can be read."""

    metadata: Named = msgspec.field(default_factory=Named)


LIVE_LIST = msgspec.json.Decoder(LiveList)
GROUP = msgspec.json.Decoder(Group)
SOMETHING = msgspec.json.Decoder(Something)


async def look_live(client: Client, node: str) -> Evidence:
    """What is on the node now; raises ApiError."""
    selected = f"fieldSelector={quote(f'spec.nodeName={node}', safe='')}&"
    pods, pods_version = await _list(client, PODS, "PodList", selected)
    own: set[str] = set()
    held = [words for raw in pods if (words := _what_holds(raw, node, own))]
    claims, claims_version = await _claims(client)
    held += [words for raw in claims if (words := _what_names(raw, node, own))]
    more = f" and {len(held) - 1} more" if len(held) > 1 else ""
    return Evidence(held[0] + more if held else "", len(own), pods_version, claims_version)


def _what_holds(raw: msgspec.Raw, node: str, own: set[str]) -> str:
    """The pod in words if it keeps the machine on. Else its uid is noted in `own`."""
    try:
        pod = POD.decode(raw)
    except FAULTS:
        return f"pod {_name_of(raw)}, which cannot be read, is on it"
    if pod.spec.node_name != node:
        return ""  # an answer that is not limited to this node
    if belongs_to_node(pod) or pod.status.phase in FINISHED:
        own.add(pod.metadata.uid)
        return ""
    return f"pod {pod.metadata.namespace}/{pod.metadata.name} is on it"


def _what_names(raw: msgspec.Raw, node: str, own: set[str]) -> str:
    """The claim in words if devices of this node are allocated to it, for a pod that may be still on its way."""
    if f'"{node}"'.encode() not in bytes(raw):
        return ""  # most claims: they are not decoded
    try:
        claim = CLAIM.decode(raw)
    except FAULTS:
        return f"resource claim {_name_of(raw)}, which cannot be read, names it"
    consumers = {consumer.uid for consumer in claim.status.reserved_for}
    if not _is_on(claim, node) or (consumers and consumers <= own):
        return ""
    return f"resource claim {claim.metadata.namespace}/{claim.metadata.name} holds devices of it"


def _is_on(claim: ResourceClaim, node: str) -> bool:
    """Whether the claim's allocation names the node. One that several nodes reach, by their labels, names none."""
    if claim.status.allocation is None:
        return False
    selector = claim.status.allocation.node_selector
    terms = selector.node_selector_terms if selector is not None else []
    return any(_names(term, node) for term in terms) or any(result.pool == node for result in results_of(claim))


def _names(term: NodeSelectorTerm, node: str) -> bool:
    fields = [wish.values for wish in term.match_fields if wish.key == NAME_FIELD]
    labels = [wish.values for wish in term.match_expressions if wish.key == HOSTNAME]
    return any(node in values for values in fields + labels)


def _name_of(raw: msgspec.Raw) -> str:
    try:
        metadata = SOMETHING.decode(raw).metadata
    except FAULTS:
        return "without a name"
    return f"{metadata.namespace}/{metadata.name}"


async def _claims(client: Client) -> tuple[list[msgspec.Raw], str]:
    """All claims, in whichever version they are served; the version "" where there are none by any."""
    try:
        return await _list(client, f"{RESOURCES}/v1/resourceclaims", "ResourceClaimList")
    except ApiError as fault:
        if fault.status != NOT_FOUND:
            raise
    for version in await _versions(client):
        try:
            return await _list(client, f"{RESOURCES}/{version}/resourceclaims", "ResourceClaimList")
        except ApiError as fault:
            if fault.status != NOT_FOUND:
                raise
    return [], ""


async def _versions(client: Client) -> list[str]:
    try:
        return [one.version for one in _decoded(GROUP, await client.call("GET", RESOURCES), RESOURCES).versions]
    except ApiError as fault:
        if fault.status != NOT_FOUND:
            raise
        return []


async def _list(client: Client, path: str, kind: str, selected: str = "") -> tuple[list[msgspec.Raw], str]:
    """All pages, as of the moment of the first one, and the version of that moment."""
    items: list[msgspec.Raw] = []
    token = ""
    while True:
        more = f"&continue={quote(token, safe='')}" if token else ""
        page = _decoded(LIVE_LIST, await client.call("GET", f"{path}?{selected}limit={PAGE}{more}"), path)
        if page.kind != kind or not page.metadata.resource_version:
            raise ApiError(NO_ANSWER, f"GET {path}: expected a {kind} with its resourceVersion")
        items += page.items or []
        token = page.metadata.continue_
        if not token:
            return items, page.metadata.resource_version


def _decoded(decoder: msgspec.json.Decoder[Any], text: bytes, path: str) -> Any:
    try:
        return decoder.decode(text)
    except FAULTS as fault:  # the answer of a proxy, or of another server
        raise ApiError(NO_ANSWER, f"GET {path}: {fault}, expected an answer of the Kubernetes API") from None
