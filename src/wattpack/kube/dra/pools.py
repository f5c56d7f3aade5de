"""The devices that ResourceSlices offer, by pool and by node.

A pool counts only in its newest generation, when all of its slices are there and its devices have different names, as
in kube-scheduler. The order of devices is kube-scheduler's too: pools by driver and name, slices by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import msgspec

from wattpack.kube.constraints import selects
from wattpack.kube.dra.slice_objects import BasicDevice, ConsumedCounters, Device, ResourceSlice, SliceSpec
from wattpack.kube.objects import Node, NodeSelector, Unreadable
from wattpack.kube.quantity import nano


class PoolId(NamedTuple):
    driver: str
    pool: str


class DeviceId(NamedTuple):
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


@dataclass(frozen=True, eq=False)
class Offered:
    """One device of a pool, and the nodes that can reach it: one by name, those of a selector, or all."""

    id: DeviceId
    device: Device
    said: BasicDevice  # attributes and capacity, wherever the version of the API has them
    node: str  # the one node that has the device; "": not tied to one
    selector: NodeSelector | None
    everywhere: bool

    @cached_property
    def capacity_text(self) -> bytes:
        """Equal for devices whose capacity and policies are equal."""
        return msgspec.json.encode(self.said.capacity)

    @property
    def shared(self) -> bool:
        """Whether several claims may hold shares of it."""
        return self.device.allow_multiple_allocations is True

    @property
    def pool(self) -> PoolId:
        return PoolId(self.id.driver, self.id.pool)

    @property
    def counters(self) -> list[ConsumedCounters]:
        return self.device.consumes_counters

    def reached_from(self, node: Node) -> bool:
        if self.node:
            return self.node == node.metadata.name
        return self.everywhere or (self.selector is not None and selects(self.selector, node))


@dataclass(frozen=True, eq=False)
class Pool:
    """One pool; `fault` says why nothing of it may be allocated now."""

    id: PoolId
    fault: str
    devices: tuple[Offered, ...]
    counters: dict[tuple[str, str], int] = field(default_factory=dict)  # (set, counter) -> billionths


class NodeDevices(NamedTuple):
    """What a node can reach, in the order of kube-scheduler."""

    devices: tuple[Offered, ...]
    faults: tuple[str, ...]  # of pools of which nothing may be allocated now


class Pools:
    """All pools of a cluster."""

    def __init__(self, slices: Iterable[ResourceSlice] = ()) -> None:
        by_pool: dict[PoolId, list[ResourceSlice]] = {}
        for one in slices:
            by_pool.setdefault(PoolId(one.spec.driver, one.spec.pool.name), []).append(one)
        self.pools = {key: _pool(key, by_pool[key]) for key in sorted(by_pool)}
        self.devices: dict[DeviceId, Offered] = {}  # of pools with a fault too: claims may hold them
        self.by_node: dict[str, list[Offered]] = {}
        self.faults: dict[str, list[str]] = {}
        self._not_tied: list[Pool] = []
        for pool in self.pools.values():
            nodes = {one.node for one in pool.devices}
            if "" in nodes:
                self._not_tied.append(pool)
            for node in nodes - {""} if pool.fault else ():
                self.faults.setdefault(node, []).append(pool.fault)
            for offered in pool.devices:
                self.devices.setdefault(offered.id, offered)
                if offered.node and not pool.fault:
                    self.by_node.setdefault(offered.node, []).append(offered)

    def on_node(self, node: Node) -> NodeDevices:
        name = node.metadata.name
        found, faults = list(self.by_node.get(name, ())), list(self.faults.get(name, ()))
        for pool in self._not_tied:
            reached = [one for one in pool.devices if not one.node and one.reached_from(node)]
            if reached and pool.fault:
                faults.append(pool.fault)
            elif reached:
                found += reached
        if self._not_tied:
            found.sort(key=lambda one: one.id[:2])  # stable: inside a pool, the order of slices stays
        # Pools with devices that are bound only after a condition holds come last.
        later = {one.id[:2] for one in found if one.device.binding_conditions}
        if later:
            found.sort(key=lambda one: one.id[:2] in later)
        return NodeDevices(tuple(found), tuple(dict.fromkeys(faults)))


def _pool(key: PoolId, slices: list[ResourceSlice]) -> Pool:
    newest = max(one.spec.pool.generation for one in slices)
    current = sorted((one for one in slices if one.spec.pool.generation == newest), key=lambda one: one.metadata.name)
    devices = tuple(_offered(one.spec, device) for one in current for device in one.spec.devices)
    said = f"pool {key.pool} of {key.driver}"
    fault = ""
    counters: dict[tuple[str, str], int] = {}
    try:
        for group in (group for one in current for group in one.spec.shared_counters):
            counters |= {(group.name, name): nano(counter.value) for name, counter in group.counters.items()}
    except Unreadable as problem:
        return Pool(key, f"{said}: {problem}", devices)
    expected = current[0].spec.pool.resource_slice_count
    names = [one.id.device for one in devices]
    if expected and expected != len(current):
        fault = f"{said} is being updated: {len(current)} of {expected} slices are there"
    elif len(set(names)) < len(names):
        fault = f"{said} has two devices of one name"
    elif any(
        (use.counter_set, name) not in counters for one in devices for use in one.counters for name in use.counters
    ):
        fault = f"{said} has a device that consumes a counter which no slice of the pool defines"
    return Pool(key, fault, devices, counters)


def _offered(spec: SliceSpec, device: Device) -> Offered:
    by_device = spec.per_device_node_selection is True
    source = device if by_device else spec
    return Offered(
        DeviceId(spec.driver, spec.pool.name, device.name),
        device,
        device.basic or device,
        source.node_name or "",
        source.node_selector,
        source.all_nodes is True,
    )
