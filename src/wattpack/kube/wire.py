"""What kube-scheduler and an extender send each other, as Go writes it: keys with capitals; lower case is taken too."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from wattpack.kube.objects import Pod

NOTHING = msgspec.Raw(b"null")
NAMES_SCHEMA = {"type": ["array", "null"], "items": {"type": "string"}}


class NodeItem(msgspec.Struct, gc=False):
    """A node as far as it takes to name it; what else it holds is sent back as it came."""

    metadata: dict[str, Any] = {}


class Nodes(msgspec.Struct, gc=False):
    """Whole nodes, as they came. Read only where NodeNames is not given."""

    items: list[msgspec.Raw] | None = None


class ExtenderArgs(msgspec.Struct, rename="pascal", gc=False):
    pod: Pod
    # A list of names, or null; left as it came: see ranking.py. (A factory, for a schema cannot tell a Raw default.)
    node_names: Annotated[msgspec.Raw, Meta(extra_json_schema=NAMES_SCHEMA)] = msgspec.field(
        default_factory=lambda: NOTHING
    )
    nodes: Nodes | None = None


class LowerArgs(msgspec.Struct, gc=False):
    """The same in lower case, as Go also reads it."""

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


ARGS = msgspec.json.Decoder(ExtenderArgs)
LOWER_ARGS = msgspec.json.Decoder(LowerArgs)
BINDING_ARGS = msgspec.json.Decoder(BindingArgs)
NAMES = msgspec.json.Decoder(list[str] | None)
NODE_ITEM = msgspec.json.Decoder(NodeItem)
ANYTHING = msgspec.json.Decoder()
ENCODER = msgspec.json.Encoder()


def read_args(body: bytes) -> ExtenderArgs:
    """The arguments of filter and prioritize; raises msgspec.DecodeError with the place of what is wrong."""
    try:
        return ARGS.decode(body)
    except msgspec.ValidationError as fault:
        if "`Pod`" not in str(fault):
            raise
        lower = lowered(body)
        if lower is None:
            raise
        read = LOWER_ARGS.decode(lower)
        return ExtenderArgs(read.pod, read.nodenames, read.nodes)


def read_binding(body: bytes) -> BindingArgs:
    try:
        return BINDING_ARGS.decode(body)
    except msgspec.ValidationError as fault:
        if "missing required field" not in str(fault):
            raise
        lower = lowered(body)
        if lower is None:
            raise
        found = ANYTHING.decode(lower)
        names = {"podname": "PodName", "podnamespace": "PodNamespace", "node": "Node", "poduid": "PodUID"}
        return msgspec.convert({names[key]: value for key, value in found.items() if key in names}, BindingArgs)


def lowered(body: bytes) -> bytes | None:
    """The same object with its outermost keys in lower case; None if it is no object."""
    found = msgspec.json.decode(body, type=dict[str, msgspec.Raw] | Any)
    return ENCODER.encode({key.lower(): value for key, value in found.items()}) if isinstance(found, dict) else None


def offered_names(args: ExtenderArgs) -> list[str]:
    """Names of the nodes that the scheduler asks about, from whichever of the two fields it filled."""
    named = NAMES.decode(args.node_names)
    if named is not None:
        return named
    items = (args.nodes.items if args.nodes else None) or []
    return [str(NODE_ITEM.decode(item).metadata.get("name", "")) for item in items]


def answer_for(args: ExtenderArgs, names: list[str]) -> FilterAnswer:
    """The nodes of `names`, in the form in which they were asked about."""
    if bytes(args.node_names) != b"null":
        return FilterAnswer(node_names=names)
    wanted = set(names)
    items = (args.nodes.items if args.nodes else None) or []
    kept = [item for item in items if str(NODE_ITEM.decode(item).metadata.get("name", "")) in wanted]
    return FilterAnswer(nodes=Nodes(kept))
