"""The fields of `resource.k8s.io/v1` objects that we read or write, and decoders for them.

Fields that we write are left out of the JSON where they have their default, as the API server does.
"""

# ruff: noqa: RUF012, msgspec copies the defaults

from __future__ import annotations

from typing import Any

import msgspec

from wattpack.kube.objects import Amount, Amounts, ListMetadata, Metadata, NodeSelector, Object

DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"  # the finalizer of an allocated claim
EXACT_COUNT, ALL_DEVICES = "ExactCount", "All"  # allocation modes


class Written(Object, omit_defaults=True):
    """Objects that we write too."""


# ---- ResourceSlice: the devices that a driver offers


class Attribute(Object):
    """Exactly one field is set."""

    int_: int | None = msgspec.field(name="int", default=None)
    bool_: bool | None = msgspec.field(name="bool", default=None)
    string: str | None = None
    version: str | None = None
    ints: list[int] | None = None  # lists of values: an alpha feature of 1.36, off by default
    bools: list[bool] | None = None
    strings: list[str] | None = None
    versions: list[str] | None = None

    def value(self) -> tuple[str, int | bool | str] | None:
        """Kind and value of an attribute with one value; None: it has none, or a list."""
        if self.int_ is not None:
            return "int", self.int_
        if self.bool_ is not None:
            return "bool", self.bool_
        if self.string is not None:
            return "string", self.string
        return None if self.version is None else ("version", self.version)


class CapacityRange(Object):
    min: Amount | None = None
    max: Amount | None = None
    step: Amount | None = None


class RequestPolicy(Object):
    """How an amount that a claim asks for becomes the amount that it consumes."""

    default: Amount | None = None
    valid_values: list[Amount] = []
    valid_range: CapacityRange | None = None


class Capacity(Object):
    value: Amount = 0
    request_policy: RequestPolicy | None = None


class Counter(Object):
    value: Amount = 0


class CounterSet(Object):
    """Amounts that the devices of a pool share, such as the memory of the GPU that MIG devices are parts of."""

    name: str = ""
    counters: dict[str, Counter] = {}


class ConsumedCounters(Object):
    counter_set: str = ""
    counters: dict[str, Counter] = {}


class DeviceTaint(Object):
    key: str = ""
    value: str = ""
    effect: str = ""


class DeviceToleration(Written):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class BasicDevice(Object):
    attributes: dict[str, Attribute] = {}
    capacity: dict[str, Capacity] = {}


class Device(BasicDevice):
    name: str = ""
    basic: BasicDevice | None = None  # where v1beta1 has attributes and capacity
    consumes_counters: list[ConsumedCounters] = []
    node_name: str | None = None  # these three only if the slice selects nodes by device
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[DeviceTaint] = []
    binds_to_node: bool = False
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    allow_multiple_allocations: bool | None = None  # shares of the device, by its capacity


class DevicePool(Object):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0  # 0: not said; v1 always says it


class SliceSpec(Object):
    driver: str = ""
    pool: DevicePool = msgspec.field(default_factory=DevicePool)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[Device] = []
    shared_counters: list[CounterSet] = []


class ResourceSlice(Object):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: SliceSpec = msgspec.field(default_factory=SliceSpec)


# ---- DeviceClass, ResourceClaim, ResourceClaimTemplate: what is asked for


class CelSelector(Object):
    expression: str = ""


class Selector(Object):
    cel: CelSelector | None = None


class DeviceConfig(Written):
    """Parameters for a driver, which pass through unread."""

    requests: list[str] = []
    opaque: dict[str, Any] | None = None


class ClassSpec(Object):
    selectors: list[Selector] = []
    config: list[DeviceConfig] = []
    extended_resource_name: str | None = None


class DeviceClass(Object):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: ClassSpec = msgspec.field(default_factory=ClassSpec)


class CapacityRequests(Object):
    requests: Amounts = {}


class ExactRequest(Object):
    device_class_name: str = ""
    selectors: list[Selector] = []
    allocation_mode: str = EXACT_COUNT
    count: int = 1
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] = []
    capacity: CapacityRequests | None = None


class SubRequest(ExactRequest):
    """One of the alternatives of a request."""

    name: str = ""


class DeviceRequest(Object):
    """`exactly`, or alternatives of which the first available one is taken."""

    name: str = ""
    exactly: ExactRequest | None = None
    first_available: list[SubRequest] = []


class DeviceConstraint(Object):
    requests: list[str] = []  # empty: all requests of the claim
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Object):
    requests: list[DeviceRequest] = []
    constraints: list[DeviceConstraint] = []
    config: list[DeviceConfig] = []


class ClaimSpec(Object):
    devices: DeviceClaim = msgspec.field(default_factory=DeviceClaim)


class Result(Written):
    """A device that was allocated for a request."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] = []
    share: str | None = msgspec.field(name="shareID", default=None)
    consumed_capacity: Amounts = {}


class AllocatedConfig(Written):
    source: str = ""  # FromClass or FromClaim
    requests: list[str] = []
    opaque: dict[str, Any] | None = None


class Results(Written):
    results: list[Result] = []
    config: list[AllocatedConfig] = []


class Allocation(Written):
    devices: Results = msgspec.field(default_factory=Results)
    node_selector: NodeSelector | None = None


class Consumer(Written):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class ClaimStatus(Object):
    allocation: Allocation | None = None
    reserved_for: list[Consumer] = []


class ResourceClaim(Object):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)
    status: ClaimStatus = msgspec.field(default_factory=ClaimStatus)


class TemplateSpec(Object):
    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)


class ResourceClaimTemplate(Object):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: TemplateSpec = msgspec.field(default_factory=TemplateSpec)


# ---- lists, as the API server pages them


class SliceList(Object):
    items: list[ResourceSlice] = []
    metadata: ListMetadata = msgspec.field(default_factory=ListMetadata)


class ClassList(Object):
    items: list[DeviceClass] = []
    metadata: ListMetadata = msgspec.field(default_factory=ListMetadata)


class ClaimList(Object):
    items: list[ResourceClaim] = []
    metadata: ListMetadata = msgspec.field(default_factory=ListMetadata)


class TemplateList(Object):
    items: list[ResourceClaimTemplate] = []
    metadata: ListMetadata = msgspec.field(default_factory=ListMetadata)


SLICE = msgspec.json.Decoder(ResourceSlice)
CLASS = msgspec.json.Decoder(DeviceClass)
CLAIM = msgspec.json.Decoder(ResourceClaim)
TEMPLATE = msgspec.json.Decoder(ResourceClaimTemplate)
SLICE_LIST = msgspec.json.Decoder(SliceList)
CLASS_LIST = msgspec.json.Decoder(ClassList)
CLAIM_LIST = msgspec.json.Decoder(ClaimList)
TEMPLATE_LIST = msgspec.json.Decoder(TemplateList)
