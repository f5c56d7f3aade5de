"""DeviceClass, ResourceClaim and ResourceClaimTemplate: the fields that we read or write, and decoders for them.

Fields that we write are left out of the JSON where they have their default, as the API server does.
"""

# ruff: noqa: RUF012, msgspec copies the defaults

from __future__ import annotations

from typing import Any

import msgspec

from wattpack.kube.objects import Amounts, Metadata, NodeSelector, Object

DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"  # the finalizer of an allocated claim
EXACT_COUNT, ALL_DEVICES = "ExactCount", "All"  # allocation modes


class Written(Object, omit_defaults=True):
    """Objects that we write too."""


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


class DeviceToleration(Written):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


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


CLASS = msgspec.json.Decoder(DeviceClass)
CLAIM = msgspec.json.Decoder(ResourceClaim)
TEMPLATE = msgspec.json.Decoder(ResourceClaimTemplate)
