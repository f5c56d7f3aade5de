"""Messages between kube-scheduler and an extender, as Go writes them: keys with capitals; lower case is read too."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from wattpack.kube.objects import Pod

T = TypeVar("T")
NOTHING = msgspec.Raw(b"null")
NAMES_SCHEMA = {"type": ["array", "null"], "items": {"type": "string"}}


class NodeItem(msgspec.Struct, gc=False):
    """The part of a node that names it; the rest is sent back unread."""

    metadata: dict[str, Any] = {}


class Nodes(msgspec.Struct, gc=False):
    """Whole nodes, unread; used only where NodeNames is not given."""

    items: list[msgspec.Raw] | None = None


class ExtenderArgs(msgspec.Struct, rename="pascal", gc=False):
    pod: Pod
    # A list of names, or null; decoded in ranking.py. (A factory, because a schema cannot show a Raw default.)
    node_names: Annotated[msgspec.Raw, Meta(extra_json_schema=NAMES_SCHEMA)] = msgspec.field(
        default_factory=lambda: NOTHING
    )
    nodes: Nodes | None = None


class LowerArgs(msgspec.Struct, gc=False):
    """The same with keys in lower case, which Go reads too."""

    pod: Pod
    nodenames: msgspec.Raw = NOTHING
    nodes: Nodes | None = None


class BindingArgs(msgspec.Struct, rename="pascal", gc=False):
    pod_name: str
    pod_namespace: str
    node: str
    pod_uid: str = msgspec.field(name="PodUID", default="")


class FilterAnswer(msgspec.Struct, rename="pascal", gc=False):
    nodes: Nodes | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] = {}
    failed_and_unresolvable_nodes: dict[str, str] = {}
    error: str = ""


class HostPriority(msgspec.Struct, rename="pascal", gc=False):
    host: str
    score: Annotated[int, Meta(ge=0, le=10)]


class BindAnswer(msgspec.Struct, rename="pascal", gc=False):
    error: str = ""


class Wrong(msgspec.Struct, gc=False):
    """What went wrong, in one line."""

    error: str


# Names become part of a path. Lengths as Kubernetes limits them; a uid may be anything without a sign of an address.
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = re.compile(rf"(?=.{{1,253}}$){LABEL}(\.{LABEL})*")
NAME_PATTERNS = {
    "namespace": re.compile(rf"(?=.{{1,63}}$){LABEL}"),
    "pod": SUBDOMAIN,
    "node": SUBDOMAIN,
    "template": SUBDOMAIN,
    "uid": re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([-._:A-Za-z0-9]*[A-Za-z0-9])?"),
}

ARGS = msgspec.json.Decoder(ExtenderArgs)
LOWER_ARGS = msgspec.json.Decoder(LowerArgs)
BINDING_ARGS = msgspec.json.Decoder(BindingArgs)
NAMES = msgspec.json.Decoder(list[str] | None)
NODE_ITEM = msgspec.json.Decoder(NodeItem)
ANYTHING = msgspec.json.Decoder()
ENCODER = msgspec.json.Encoder()


def read_args(body: bytes) -> ExtenderArgs:
    """The arguments of filter and prioritize; raises msgspec.DecodeError with the place of the error."""
    return _read_either_case(body, ARGS.decode, _lower_args, missing="`Pod`")


def read_binding(body: bytes) -> BindingArgs:
    """The arguments of bind; raises msgspec.DecodeError with the place of the error."""
    return _read_either_case(body, BINDING_ARGS.decode, _lower_binding, missing="missing required field")


def _read_either_case(body: bytes, read: Callable[[bytes], T], read_lower: Callable[[bytes], T], missing: str) -> T:
    """`read`; where keys with capitals are missing, by the text `missing` in the error, the same in lower case."""
    try:
        return read(body)
    except msgspec.ValidationError as fault:
        lower = lowered(body) if missing in str(fault) else None
        if lower is None:
            raise
        return read_lower(lower)


def _lower_args(body: bytes) -> ExtenderArgs:
    read = LOWER_ARGS.decode(body)
    return ExtenderArgs(read.pod, read.nodenames, read.nodes)


def _lower_binding(body: bytes) -> BindingArgs:
    names = {"podname": "PodName", "podnamespace": "PodNamespace", "node": "Node", "poduid": "PodUID"}
    found = ANYTHING.decode(body)
    return msgspec.convert({names[key]: value for key, value in found.items() if key in names}, BindingArgs)


def lowered(body: bytes) -> bytes | None:
    """The same object with its outermost keys in lower case; None: it is no object."""
    found = msgspec.json.decode(body, type=dict[str, msgspec.Raw] | Any)
    return ENCODER.encode({key.lower(): value for key, value in found.items()}) if isinstance(found, dict) else None


def offered_names(args: ExtenderArgs) -> list[str]:
    """Names of the nodes that the scheduler asks about, in NodeNames or in Nodes."""
    named = NAMES.decode(args.node_names)
    if named is not None:
        return named
    items = (args.nodes.items if args.nodes else None) or []
    return [str(NODE_ITEM.decode(item).metadata.get("name", "")) for item in items]


def answer_for(args: ExtenderArgs, names: list[str]) -> FilterAnswer:
    """The nodes of `names`, as names or whole, as the request has them."""
    if bytes(args.node_names) != b"null":
        return FilterAnswer(node_names=names)
    wanted = set(names)
    items = (args.nodes.items if args.nodes else None) or []
    kept = [item for item in items if str(NODE_ITEM.decode(item).metadata.get("name", "")) in wanted]
    return FilterAnswer(nodes=Nodes(kept))


def wrong_name(**names: str) -> str:
    """What is wrong with the names of a request, by their kind; "" if nothing."""
    for kind, name in names.items():
        if not NAME_PATTERNS[kind].fullmatch(name):
            return f"{kind} {name[:100]!r}, expected the {'uid' if kind == 'uid' else 'name'} of a Kubernetes object"
    return ""
