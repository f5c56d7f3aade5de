"""The devices of a cluster and which of them serve a request, whatever is taken now. Rebuilt when slices change.

A device serves a request if the selectors of class and request hold, its taints are tolerated, it has the capacity that
is asked for, and no binding condition has to be waited for. Answers are kept: a pod like another costs a lookup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from wattpack.kube.dra.capacity import AmountsNano, consumed, fits
from wattpack.kube.dra.cel import SelectorError, matches
from wattpack.kube.dra.gpus import NodeGpus, Part, gpus_of, is_gpu
from wattpack.kube.dra.objects import DeviceClass
from wattpack.kube.dra.pools import NodeDevices, Offered, Pools
from wattpack.kube.dra.slice_objects import ResourceSlice
from wattpack.kube.dra.wanted import Ask
from wattpack.kube.objects import Node
from wattpack.kube.quantity import nano
from wattpack.model.power import GPU_MILLI

Capacities = tuple[tuple[str, int], ...]


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
        self._serving: dict[Ask, dict[int, bool | str | SelectorError]] = {}  # a text: why it cannot be had
        # A new amount is no new selector: devices differ in their UUIDs, and evaluating CEL on each is what costs.
        self._selected: dict[str, dict[Ask, Matching]] = {}  # by node, of requests without their capacity
        self._amounts: dict[tuple[Capacities, bytes], AmountsNano | None] = {}
        self._milli: dict[tuple[Capacities, bytes, int], int] = {}

    def forget_node(self, name: str) -> None:
        """The node's labels may have changed, and with them the devices that it can reach."""
        self._devices.pop(name, None)
        self._matching.pop(name, None)
        self._selected.pop(name, None)

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
            bare = kind._replace(capacity=(), number=min(1, kind.number))
            known = self._selected.setdefault(node.metadata.name, {})
            if bare not in known:
                known[bare] = self._find(bare, self.devices(node))
            selected = known[bare]
            devices = tuple(one for one in selected.devices if self.amounts(kind, one) is not None)
            found = kept[kind] = Matching(devices, selected.fault)
        return found

    def _find(self, ask: Ask, devices: NodeDevices) -> Matching:
        """A request for all devices finds none if one of those that match cannot be had, as in kube-scheduler."""
        found: list[Offered] = []
        every = ask.number == 0
        fault = devices.faults[0] if devices.faults and every else ""
        answers = self._serving.setdefault(ask, {})
        for offered in devices.devices:
            sort = self.sort(offered)
            answer = answers.get(sort)
            if answer is None:
                try:
                    answer = self.selects(ask, offered) and (not_to_be_had(ask, offered) or True)
                except SelectorError as problem:
                    answer = problem
                answers[sort] = answer
            if isinstance(answer, SelectorError):
                return Matching(() if every else tuple(found), str(answer))
            if answer is True:
                found.append(offered)
            elif answer and (every or not found):
                fault = fault or f"device {offered.id}: {answer}"
        if every and fault:
            return Matching((), fault)
        return Matching(tuple(found), "" if found else fault)

    def sort(self, offered: Offered) -> int:
        """The same number for devices that differ in name, pool and node alone: they serve the same requests."""
        found = self._sort_of.get(offered)
        if found is None:
            device, said = offered.device, offered.said
            parts = (said.attributes, said.capacity, device.taints, device.binding_conditions, offered.shared)
            text = msgspec.json.encode((offered.id.driver, bool(offered.node), *parts))
            found = self._sort_of[offered] = self._sorts.setdefault(text, len(self._sorts))
        return found

    @staticmethod
    def selects(ask: Ask, offered: Offered) -> bool:
        """Whether the selectors of class and request hold; raises SelectorError."""
        return all(matches(expression, offered) for expression in ask.selectors)

    def amounts(self, ask: Ask, offered: Offered) -> AmountsNano | None:
        """What the request consumes of the device's capacity; None: it has too little. The same for equal devices."""
        key = ask.capacity, offered.capacity_text
        if key not in self._amounts:
            found = consumed(dict(ask.capacity), offered.said.capacity)
            enough = found is not None and fits(found, {}, offered.said.capacity)
            self._amounts[key] = found if enough else None
        return self._amounts[key]

    def milli(self, ask: Ask, offered: Offered) -> int:
        """Thousandths of a GPU that the request takes of a device that serves it; 0: the device is no GPU."""
        part = self.part(offered)
        if part is None:
            return 0
        if not offered.shared:
            return part.milli
        key = ask.capacity, offered.capacity_text, part.milli
        if key not in self._milli:
            self._milli[key] = share_milli(self.amounts(ask, offered) or {}, offered, part.milli)
        return self._milli[key]


def not_to_be_had(ask: Ask, offered: Offered) -> str:
    """Why a device that matches cannot be allocated for the request; "": it can."""
    for taint in offered.device.taints:
        if not ask.tolerates(taint):
            return f"the request does not tolerate its taint {taint.key}:{taint.effect}"
    if offered.device.binding_conditions:  # kube-scheduler waits for them before it binds; we do not
        return f"binding conditions ({', '.join(offered.device.binding_conditions)}) are not supported"
    if not offered.node and is_gpu(offered):  # our model has nodes with GPUs
        return "a GPU that several nodes can reach is not supported"
    return ""


def share_milli(amounts: Mapping[str, int], offered: Offered, of_milli: int = GPU_MILLI) -> int:
    """The largest part of any capacity, rounded down: three thirds of a GPU are 999 milli, not 1002."""
    capacity = offered.said.capacity
    parts = [
        amount * of_milli // nano(capacity[name].value)
        for name, amount in amounts.items()
        if nano(capacity[name].value)
    ]
    return max(1, max(parts, default=of_milli))
