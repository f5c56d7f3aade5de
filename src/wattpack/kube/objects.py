"""The fields of Kubernetes objects that we read, and decoders for them. Other fields are skipped while decoding.

The decoders are strict about types and raise `msgspec.MsgspecError` (a `ValueError`); what the fields mean is read in
`read_node.py` and `read_pod.py`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wattpack.errors import OneLineError

Amount = str | int | float  # a quantity: text from the API server, sometimes a number in files that people write
Amounts = dict[str, Amount]


class Unreadable(OneLineError):  # noqa: N818, it names a property of the object
    """A node or a pod that we cannot read, or that contradicts itself; the reason in one line."""


class Object(msgspec.Struct, rename="camel", gc=False):
    """Structs without cycles, which the garbage collector skips: 10,000 pods cost it nothing."""


class Owner(Object):
    kind: str = ""
    uid: str = ""
    controller: bool | None = None


class Metadata(Object):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: str | None = None  # Go writes null for a time that is not set
    deletion_timestamp: str | None = None
    resource_version: str = ""
    owner_references: list[Owner] = []
    finalizers: list[str] = []


class Taint(Object):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeSpec(Object):
    unschedulable: bool = False
    taints: list[Taint] = []
    provider_id: str = msgspec.field(name="providerID", default="")


class Condition(Object):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_heartbeat_time: str | None = None  # of a Node's


class NodeStatus(Object):
    allocatable: Amounts = {}
    capacity: Amounts = {}
    conditions: list[Condition] = []


class Node(Object):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class Resources(Object):
    requests: Amounts = {}
    limits: Amounts = {}


class Port(Object):
    host_port: int = 0  # of the node


class Container(Object):
    ports: list[Port] = []
    resources: Resources = msgspec.field(default_factory=Resources)
    restart_policy: str = ""  # "Always" makes an init container a sidecar


class Expression(Object):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class NodeSelectorTerm(Object):
    match_expressions: list[Expression] = []
    match_fields: list[Expression] = []


class NodeSelector(Object):
    node_selector_terms: list[NodeSelectorTerm] = []


class NodeAffinity(Object):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[Any] = []


class PodAffinity(Object):
    """Or anti-affinity: whether there is any, no more."""

    required_during_scheduling_ignored_during_execution: list[Any] = []
    preferred_during_scheduling_ignored_during_execution: list[Any] = []


class Affinity(Object):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Spread(Object):
    when_unsatisfiable: str = ""


class Volume(Object):
    """Volumes that may be reached from some nodes only."""

    persistent_volume_claim: Any = None
    ephemeral: Any = None


class Toleration(Object):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class PodClaim(Object):
    """Dynamic resource allocation: the device behind a claim is not in the pod. The room `dra` reads claims."""

    name: str = ""
    resource_claim_name: str | None = None  # None: made from a template, its name is in the status
    resource_claim_template_name: str | None = None


class Gate(Object):
    """Holds a pod back until somebody takes it away."""

    name: str = ""


class PodSpec(Object):
    node_name: str = ""
    scheduler_name: str = ""
    containers: list[Container] = []
    init_containers: list[Container] = []
    resources: Resources | None = None  # of the pod as a whole
    overhead: Amounts = {}
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: list[Toleration] = []
    topology_spread_constraints: list[Spread] = []
    volumes: list[Volume] = []
    resource_claims: list[PodClaim] = []
    scheduling_gates: list[Gate] = []
    priority: int | None = None
    priority_class_name: str = ""
    workload_ref: dict[str, Any] | None = None  # its gang, in Kubernetes 1.35
    scheduling_group: dict[str, Any] | None = None  # its gang, from Kubernetes 1.36 on


class PodStatus(Object):
    phase: str = ""
    conditions: list[Condition] = []
    resource_claim_statuses: list[PodClaim] = []


class Pod(Object):
    """A Kubernetes v1 Pod; only what it requests and where it is are read."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class PodGroup(Object):
    """A gang, of whichever scheduler: only that it is there."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)


class ListMetadata(Object):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")  # the token of the next page, empty on the last


class WatchEvent(Object):
    """`type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR; what `object` is depends on it."""

    type: str
    object: msgspec.Raw


class Kind(Object):
    """Any object or list: its kind, and its items undecoded."""

    kind: str = ""
    items: list[msgspec.Raw] | None = None


class Whole(Kind):
    """A file: an object, or a list with what it says of itself."""

    metadata: ListMetadata | None = None


# What a decoder raises: other errors for text that is not UTF-8 and for values nested 1,000 deep.
FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

NODE = msgspec.json.Decoder(Node)
POD = msgspec.json.Decoder(Pod)
POD_GROUP = msgspec.json.Decoder(PodGroup)
KIND = msgspec.json.Decoder(Kind)
WHOLE = msgspec.json.Decoder(Whole)
