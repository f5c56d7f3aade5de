"""ResourceSlice: the devices that a driver offers. The fields that we read, and decoders for them."""

# ruff: noqa: RUF012, msgspec copies the defaults

from __future__ import annotations

import msgspec

from wattpack.kube.objects import Amount, Metadata, NodeSelector, Object


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


SLICE = msgspec.json.Decoder(ResourceSlice)
