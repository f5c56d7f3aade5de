"""The devices of a cluster and which of them serve a request, whatever is taken now. Rebuilt when slices change.

A device serves a request if the selectors of class and request hold, its taints are tolerated, it has the capacity that
is asked for, and no binding condition has to be waited for. Answers are kept: a pod like another costs a lookup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from wattpack.kube.dra.capacity import consumed, fits
from wattpack.kube.dra.cel import SelectorError, matches
from wattpack.kube.dra.gpus import NodeGpus, Part, gpus_of, is_gpu
from wattpack.kube.dra.objects import DeviceClass, ResourceSlice
from wattpack.kube.dra.pools import NodeDevices, Offered, Pools
from wattpack.kube.dra.wanted import Ask
from wattpack.kube.objects import Node
from wattpack.kube.quantity import nano
from wattpack.model.power import GPU_MILLI


class Matching(NamedTuple):
    """Devices of a node that serve a request, in order. After a selector that fails, no device is looked at."""

    devices: tuple[Offered, ...] = ()
    fault: str = ""  # of that selector, or of a pool where all devices are asked for


class Inventory:
    """What slices and classes say."""

    def __init__(self, slices: Iterable[ResourceSlice] = (), classes: Iterable[DeviceClass] = ()) -> None:
        self.pools = Pools(slices)
        self.classes = {one.metadata.name: one for one in classes}
        self._devices: dict[str, NodeDevices] = {}
        self._gpus: dict[str, NodeGpus] = {}
        self._matching: dict[str, dict[Ask, Matching]] = {}
        # Thousands of devices are alike but for their names: a request is evaluated once for each sort of them.
        self._sorts: dict[bytes, int] = {}
        self._sort_of: dict[Offered, int] = {}
        self._serving: dict[Ask, dict[int, bool | SelectorError]] = {}
        self._milli: dict[Ask, dict[tuple[int, int], int]] = {}

    def forget_node(self, name: str) -> None:
        """The node's labels may have changed, and with them the devices that it can reach."""
        for table in (self._devices, self._matching):
            table.pop(name, None)

    def devices(self, node: Node) -> NodeDevices:
        name = node.metadata.name
        if name not in self._devices:
            self._devices[name] = self.pools.on_node(node)
        return self._devices[name]

    def gpus(self, node: str) -> NodeGpus:
        """The GPUs of a node; also while one of its pools is being updated, as pods hold them."""
        if node not in self._gpus:
            known = self.pools.devices.values() if node in self.pools.faults else self.pools.by_node.get(node, ())
            self._gpus[node] = gpus_of((one for one in known if one.node == node), self.pools)
        return self._gpus[node]

    def part(self, offered: Offered) -> Part | None:
        """The GPU that a device is or is a part of; None: it is no GPU of a node."""
        return self.gpus(offered.node).parts.get(offered.id) if offered.node else None

    def matching(self, ask: Ask, node: Node) -> Matching:
        kept = self._matching.setdefault(node.metadata.name, {})
        kind = ask.kind
        found = kept.get(kind)
        if found is None:
            found = kept[kind] = self._find(kind, self.devices(node))
        return found

    def _find(self, ask: Ask, devices: NodeDevices) -> Matching:
        found: list[Offered] = []
        fault = devices.faults[0] if devices.faults and ask.number == 0 else ""
        answers = self._serving.setdefault(ask, {})
        for offered in devices.devices:
            sort = self.sort(offered)
            answer = answers.get(sort)
            if answer is None:
                try:
                    answer = self.serves(ask, offered)
                except SelectorError as problem:
                    answer = problem
                answers[sort] = answer
            if isinstance(answer, SelectorError):
                return Matching(() if ask.number == 0 else tuple(found), str(answer))
            if answer:
                found.append(offered)
        return Matching(() if fault else tuple(found), fault)

    def sort(self, offered: Offered) -> int:
        """The same number for devices that differ in name, pool and node alone: they serve the same requests."""
        found = self._sort_of.get(offered)
        if found is None:
            device, said = offered.device, offered.said
            parts = (said.attributes, said.capacity, device.taints, device.binding_conditions, offered.shared)
            text = msgspec.json.encode((offered.id.driver, bool(offered.node), *parts))
            found = self._sort_of[offered] = self._sorts.setdefault(text, len(self._sorts))
        return found

    def serves(self, ask: Ask, offered: Offered) -> bool:
        """Raises SelectorError."""
        if not all(matches(expression, offered) for expression in ask.selectors):
            return False
        if not all(map(ask.tolerates, offered.device.taints)):
            return False
        if offered.device.binding_conditions:
            return False  # kube-scheduler waits for them before it binds; we do not
        if is_gpu(offered) and not offered.node:
            return False  # a GPU that several nodes can reach is on none of them, and our model has nodes with GPUs
        amounts = consumed(dict(ask.capacity), offered.said.capacity)
        return amounts is not None and fits(amounts, {}, offered.said.capacity)

    def milli(self, ask: Ask, offered: Offered) -> int:
        """Thousandths of a GPU that the request takes of a device that serves it; 0: the device is no GPU."""
        part = self.part(offered)
        if part is None:
            return 0
        if not offered.shared:
            return part.milli
        answers, key = self._milli.setdefault(ask, {}), (self.sort(offered), part.milli)
        if key not in answers:
            amounts = consumed(dict(ask.capacity), offered.said.capacity) or {}
            answers[key] = share_milli(amounts, offered, part.milli)
        return answers[key]


def share_milli(amounts: Mapping[str, int], offered: Offered, of_milli: int = GPU_MILLI) -> int:
    """The largest part of any capacity, rounded down: three thirds of a GPU are 999 milli, not 1002."""
    capacity = offered.said.capacity
    parts = [
        amount * of_milli // nano(capacity[name].value)
        for name, amount in amounts.items()
        if nano(capacity[name].value)
    ]
    return max(1, max(parts, default=of_milli))
