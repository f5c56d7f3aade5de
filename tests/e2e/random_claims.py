"""Random devices, what is held of them, and a random claim for them: one case for two allocators.

The cases cover what selectors alone do not: policies of capacities, taints, shared counters, constraints, alternatives,
`All`, and network cards beside GPUs in one claim. Every request names the case, so that the devices of other cases do
not serve it. Kinds of claims that our guide says are refused (parts of several GPUs) do not occur.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from e2e.api import Json

GPU, NIC = "gpu.example.com", "nic.example.com"
ROOT = f"{GPU}/root"
TAINTS = ({"key": "broken", "effect": "NoSchedule"}, {"key": "old", "value": "yes", "effect": "NoExecute"})
LENIENT = (
    {"key": "broken", "operator": "Exists"},
    {"key": "old", "operator": "Equal", "value": "yes", "effect": "NoExecute"},
    {"key": "old", "operator": "Equal", "value": "no"},
    {"operator": "Exists", "effect": "NoSchedule"},
)
# Policies of a capacity of 1000: amounts are rounded up to a step, to a valid value, or not at all.
POLICIES: tuple[Json | None, ...] = (
    None,
    {"default": "1000", "validRange": {"min": "1", "max": "1000", "step": "1"}},
    {"default": "500", "validRange": {"min": "100", "max": "800", "step": "100"}},
    {"default": "300", "validRange": {"min": "250"}},
    {"default": "250", "validValues": ["250", "500", "1000"]},
    {"default": "400", "validValues": ["400", "900"]},
)
# How often a device is held before: about half of the claims of each kind then find what they ask for.
HELD = {"whole": 0.15, "share": 0.9, "parts": 0.9, "nics": 0.15}
PARTS = {"1g.10gb": 1, "3g.40gb": 4, "7g.80gb": 8}  # profile -> eighths of the memory of a GPU


class Case(NamedTuple):
    """`kind` says what it is about. `held`: results of a claim that holds devices before."""

    kind: str
    devices: dict[str, list[Json]]  # by driver
    counters: list[Json]
    held: list[Json]
    spec: Json  # of the claim


def random_case(rng: random.Random, number: int) -> Case:
    kind = ("whole", "share", "parts", "nics")[number % 4]
    counters: list[Json] = []
    if kind == "share":
        gpus = _shared_gpus(rng, number)
    elif kind == "parts":
        gpus, counters = _parts(rng, number)
    else:
        gpus = [_tainted(rng, _device(number, f"gpu-{i}", "gpu", rng)) for i in range(rng.randint(2, 4))]
    devices = {GPU: gpus}
    if kind == "nics":
        devices[NIC] = [_device(number, f"nic-{i}", "nic", rng) for i in range(rng.randint(1, 3))]
    spec = {
        "whole": _whole_claim,
        "share": _share_claim,
        "parts": _parts_claim,
        "nics": _claim_with_nics,
    }[kind](rng, number)
    return Case(kind, devices, counters, _held(rng, devices, HELD[kind]), spec)


def slices_of(case: Case, node: str) -> list[Json]:
    """Counters are in a slice of their own, as the API server wants it."""
    found = []
    for driver, devices in case.devices.items():
        own: list[Json] = [{"devices": devices}]
        if driver == GPU and case.counters:
            own.append({"sharedCounters": case.counters})
        for i, content in enumerate(own):
            pool = {"name": f"{node}-{driver[:3]}", "generation": 1, "resourceSliceCount": len(own)}
            found.append(
                {
                    "apiVersion": "resource.k8s.io/v1",
                    "kind": "ResourceSlice",
                    "metadata": {"name": f"{node}-{driver[:3]}-{i}"},
                    "spec": {"driver": driver, "nodeName": node, "pool": pool, **content},
                }
            )
    return found


def held_on(case: Case, node: str) -> list[Json]:
    """The results of the claim that holds devices before, on this node."""
    return [{**one, "pool": f"{node}-{one['driver'][:3]}"} for one in case.held]


# ---- devices


def _device(number: int, name: str, kind: str, rng: random.Random) -> Json:
    said: Json = {"case": {"int": number}, "type": {"string": kind}, "model": {"string": rng.choice("AB")}}
    if kind != "nic":
        said["productName"] = {"string": "Tesla T4"}
    if rng.random() < 0.9:
        said[ROOT] = {"string": f"pci{rng.randrange(2)}"}
    return {"name": name, "attributes": said}


def _tainted(rng: random.Random, device: Json) -> Json:
    return device | ({"taints": [rng.choice(TAINTS)]} if rng.random() < 0.2 else {})


def _shared_gpus(rng: random.Random, number: int) -> list[Json]:
    policy = rng.choice(POLICIES)
    found = []
    for i in range(rng.randint(1, 3)):
        device = _tainted(rng, _device(number, f"gpu-{i}", "gpu", rng))
        milli: Json = {"value": "1000"} | ({"requestPolicy": policy} if policy else {})
        memory = {"value": rng.choice(("16Gi", "80Gi"))}
        found.append(device | {"allowMultipleAllocations": True, "capacity": {"milli": milli, "memory": memory}})
    for device in found:  # without a policy, a claim that does not name the memory takes all of it
        device["capacity"]["memory"]["requestPolicy"] = {"default": "1Gi", "validRange": {"min": "1Gi"}}
    return found


def _parts(rng: random.Random, number: int) -> tuple[list[Json], list[Json]]:
    """GPUs in parts that share the memory of their GPU; a part of each profile at one or two places."""
    devices, counters = [], []
    for i in range(rng.randint(1, 2)):
        memory = {f"slice-{place}": {"value": "1"} for place in range(8)}
        counters.append({"name": f"gpu-{i}", "counters": {"memory": {"value": "80Gi"}, **memory}})
        for profile, eighths in PARTS.items():
            for start in range(0, 8, eighths)[: rng.randint(1, 2)]:
                taken = {f"slice-{place}": {"value": "1"} for place in range(start, start + eighths)}
                taken["memory"] = {"value": f"{10 * eighths}Gi"}
                device = _device(number, f"gpu-{i}-{profile.replace('.', '-')}-{start}", "mig", rng)
                device["attributes"]["profile"] = {"string": profile}
                devices.append(device | {"consumesCounters": [{"counterSet": f"gpu-{i}", "counters": taken}]})
    return devices, counters


def _held(rng: random.Random, devices: dict[str, list[Json]], often: float) -> list[Json]:
    """Devices that another claim holds: of parts one, as two could exclude each other, and a share of one GPU."""
    found: list[Json] = []
    for driver, own in devices.items():
        one = "consumesCounters" in own[0] or "allowMultipleAllocations" in own[0]
        for device in [rng.choice(own)] if one else own:
            if rng.random() > often:
                continue
            result = {"request": "held", "driver": driver, "device": device["name"]}
            if device.get("allowMultipleAllocations"):
                milli = rng.choice(("100", "250", "500", "750", "1000"))
                result |= {"shareID": f"00000000-0000-4000-8000-{rng.randrange(10**12):012d}"}
                result["consumedCapacity"] = {"milli": milli, "memory": rng.choice(("1Gi", "8Gi", "16Gi"))}
            found.append(result)
    return found


# ---- claims


def _request(rng: random.Random, number: int, driver: str = GPU, model: bool = True, **more: object) -> Json:
    expression = f'device.attributes["{driver}"].case == {number}'
    if model and rng.random() < 0.3:
        expression += f' && device.attributes["{driver}"].model == "{rng.choice("AB")}"'
    exactly = {"deviceClassName": driver[:3], "selectors": [{"cel": {"expression": expression}}], **more}
    if rng.random() < 0.3:
        exactly["tolerations"] = rng.sample(LENIENT, rng.randint(1, 2))
    return exactly


def _claim(requests: list[Json], constraints: list[Json] | None = None) -> Json:
    return {"devices": {"requests": requests, **({"constraints": constraints} if constraints else {})}}


def _ruled(rng: random.Random, requests: list[Json]) -> Json:
    return _claim(requests, _rule(rng, requests))


def _rule(rng: random.Random, requests: list[Json]) -> list[Json]:
    """No constraint, or one: devices of the same root, or each of another.

    Of a request for several devices kube-scheduler 1.36 compares only the last with others that must be distinct, where
    the API says all: no case has that.
    """
    if rng.random() < 0.5:
        return []
    single = all(one.get("exactly", {}).get("count") == 1 for one in requests)
    kind = "distinctAttribute" if single and rng.random() < 0.5 else "matchAttribute"
    return [{"requests": [one["name"] for one in requests], kind: ROOT}]


def _whole_claim(rng: random.Random, number: int) -> Json:
    way = rng.randrange(3)
    if way == 0:
        return _ruled(rng, [{"name": "gpu", "exactly": _request(rng, number, allocationMode="All")}])
    if way == 1:
        counts = sorted((rng.randint(1, 4) for _ in range(rng.randint(2, 3))), reverse=True)
        ways = [{"name": f"way-{i}", **_request(rng, number, count=count)} for i, count in enumerate(counts)]
        return _ruled(rng, [{"name": "gpu", "firstAvailable": ways}])
    two = [{"name": f"gpu-{i}", "exactly": _request(rng, number, count=rng.randint(1, 2))} for i in range(2)]
    return _ruled(rng, two)


def _share_claim(rng: random.Random, number: int) -> Json:
    def share() -> Json:
        asked = {"milli": str(rng.choice((90, 100, 250, 333, 500, 750, 850, 1000)))} if rng.random() < 0.8 else {}
        asked |= {"memory": rng.choice(("512Mi", "8Gi", "20Gi"))} if rng.random() < 0.5 else {}
        return _request(rng, number, **({"capacity": {"requests": asked}} if asked else {}))

    if rng.random() < 0.3:
        return _claim([{"name": "gpu", "firstAvailable": [{"name": f"way-{i}", **share()} for i in range(2)]}])
    return _claim([{"name": "gpu", "exactly": share()}])


def _parts_claim(rng: random.Random, number: int) -> Json:
    def part() -> Json:
        made = _request(rng, number, model=False)
        made["selectors"][0]["cel"]["expression"] += (
            f' && device.attributes["{GPU}"].profile == "{rng.choice(list(PARTS))}"'
        )
        return made

    if rng.random() < 0.4:
        return _claim([{"name": "gpu", "firstAvailable": [{"name": f"way-{i}", **part()} for i in range(2)]}])
    return _claim([{"name": "gpu", "exactly": part()}])


def _claim_with_nics(rng: random.Random, number: int) -> Json:
    gpu = {"name": "gpu", "exactly": _request(rng, number, count=rng.randint(1, 2))}
    nic = {"name": "nic", "exactly": _request(rng, number, NIC, count=rng.randint(1, 2))}
    return _ruled(rng, [gpu, nic])
