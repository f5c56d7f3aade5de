"""Slices, classes and claims as the API server would write them, for tests: a case stays a line."""

from __future__ import annotations

import json
from typing import Any

from wattpack.kube.dra.inventory import Inventory
from wattpack.kube.dra.objects import CLAIM, CLASS, ClaimSpec, DeviceClass, ResourceClaim
from wattpack.kube.dra.slice_objects import SLICE, ResourceSlice
from wattpack.kube.dra.wanted import Wanted, alternatives_of

Json = dict[str, Any]
DRIVER = "gpu.example.com"
CLASS_NAME = "gpu"
PRODUCT = "NVIDIA A100-SXM4-80GB"


def attributes(**values: Any) -> Json:
    """A version is given as ("1.2.3",)."""
    kinds = {bool: "bool", int: "int", str: "string", tuple: "version"}
    return {
        name.replace("__", "/"): {kinds[type(value)]: value[0] if isinstance(value, tuple) else value}
        for name, value in values.items()
    }


def device(name: str = "gpu-0", kind: str = "gpu", capacity: Json | None = None, **more: Any) -> Json:
    """`more`: fields of the device; attributes as `said=attributes(...)`."""
    said = attributes(type=kind, productName=PRODUCT) if kind == "gpu" else attributes(type=kind)
    amounts = {key: value if isinstance(value, dict) else {"value": value} for key, value in (capacity or {}).items()}
    return {"name": name, "attributes": said | more.pop("said", {}), "capacity": amounts, **more}


def shared(name: str = "gpu-0", **more: Any) -> Json:
    """A GPU of which claims take shares in thousandths, 10 at a time."""
    policy = {"default": "1000", "validRange": {"min": "10", "max": "1000", "step": "10"}}
    milli = {"value": "1000", "requestPolicy": policy}
    return device(name, allowMultipleAllocations=True, capacity={"milli": milli}, **more)


def slice_json(*devices: Json, node: str = "n1", driver: str = DRIVER, name: str = "", **more: Any) -> Json:
    pool = {
        "name": more.pop("pool", node),
        "generation": more.pop("generation", 1),
        "resourceSliceCount": more.pop("slices", 1),
    }
    where: Json = {"nodeName": node} if node else {}
    spec = {"driver": driver, "pool": pool, **where, "devices": list(devices), **more}
    return {"kind": "ResourceSlice", "metadata": {"name": name or f"{node or 'all'}-{driver}"}, "spec": spec}


def make_slice(*devices: Json, **more: Any) -> ResourceSlice:
    return SLICE.decode(json.dumps(slice_json(*devices, **more)))


def make_class(name: str = CLASS_NAME, *expressions: str, **more: Any) -> DeviceClass:
    selectors = [{"cel": {"expression": one}} for one in expressions]
    return CLASS.decode(json.dumps({"metadata": {"name": name}, "spec": {"selectors": selectors, **more}}))


GPU_CLASS = make_class(CLASS_NAME, f'device.driver == "{DRIVER}"')
NIC_CLASS = make_class("nic", 'device.driver == "nic.example.com"')


def exactly(name: str = "r", *expressions: str, milli: str = "", **more: Any) -> Json:
    said: Json = {"deviceClassName": CLASS_NAME} | more
    if expressions:
        said["selectors"] = [{"cel": {"expression": one}} for one in expressions]
    if milli:
        said["capacity"] = {"requests": {"milli": milli}}
    return {"name": name, "exactly": said}


def claim_json(*requests: Json, name: str = "c", constraints: list[Json] | None = None, **status: Any) -> Json:
    devices = {"requests": list(requests), "constraints": constraints or []}
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}"},
        "spec": {"devices": devices},
        "status": status,
    }


def make_claim(*requests: Json, **more: Any) -> ResourceClaim:
    return CLAIM.decode(json.dumps(claim_json(*requests, **more)))


def make_spec(*requests: Json, **more: Any) -> ClaimSpec:
    return make_claim(*requests, **more).spec


def wanted(*requests: Json, classes: tuple[DeviceClass, ...] = (GPU_CLASS, NIC_CLASS), **more: Any) -> Wanted:
    """The first alternative of one claim `c`."""
    return alternatives_of({"c": make_spec(*requests, **more)}, {one.metadata.name: one for one in classes})[0]


def make_inventory(*slices: ResourceSlice) -> Inventory:
    return Inventory(slices, [GPU_CLASS, NIC_CLASS])
