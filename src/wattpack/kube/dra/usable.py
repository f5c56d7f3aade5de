"""The GPUs of one node that can serve a demand now, where the choice by free capacity alone was not possible.

Free capacity is not all: MIG devices have places on their GPU, and a constraint may want devices of one group (the same
PCIe root, say). Of several groups that fit, the one with the fewest usable GPUs is taken: it keeps large groups whole.
"""

from __future__ import annotations

from wattpack.kube.dra.allocate import NotAllocatableError, allocate
from wattpack.kube.dra.demand import Demand
from wattpack.kube.dra.inventory import Inventory
from wattpack.kube.dra.pools import DeviceId, Offered
from wattpack.kube.dra.rules import attribute_value
from wattpack.kube.dra.taken import Taken
from wattpack.kube.dra.wanted import Ask, Wanted
from wattpack.kube.gpus import bits, gpu_numbers
from wattpack.kube.objects import Node


def usable_now(demand: Demand, node: Node, taken: Taken, inventory: Inventory) -> int:
    """A bit set of GPUs among which any choice of as many as asked for is likely to do; 0: none."""
    wanted = demand.wanted
    free = 0
    for number in gpu_numbers(demand.usable.get(node.metadata.name, 0)):
        if any(_can_have(ask, node, number, taken, inventory) for ask in wanted.asks if not ask.admin):
            free |= 1 << number
    groups = [group for group in _groups(wanted, free, node, inventory) if group.bit_count() >= demand.num_gpu]
    fitting = [group for group in groups if _fits(wanted, group, node, taken, inventory)]
    return min(fitting, key=lambda group: (group.bit_count(), group), default=0)


def first_fit(demand: Demand, node: Node, taken: Taken, inventory: Inventory) -> int | None:
    """The GPUs of the first devices that serve the demand, as a bit set; None: no devices do.

    They always do, where a choice among all usable GPUs may not: one request may match fewer of them than another.
    """
    try:
        found = allocate(demand.wanted, node, demand.usable.get(node.metadata.name, 0), taken, inventory)
    except NotAllocatableError:
        return None
    devices = inventory.pools.devices
    parts = (
        inventory.part(devices[DeviceId(result.driver, result.pool, result.device)])
        for results in found.values()
        for result in results
        if not result.admin_access
    )
    return bits(part.gpu for part in parts if part is not None)


def _can_have(ask: Ask, node: Node, number: int, taken: Taken, inventory: Inventory) -> bool:
    """Whether one device of this GPU can be had for the request."""
    return _fits(Wanted((ask._replace(number=1),)), 1 << number, node, taken, inventory)


def _fits(wanted: Wanted, gpus: int, node: Node, taken: Taken, inventory: Inventory) -> bool:
    try:
        allocate(wanted, node, gpus, taken, inventory)
    except NotAllocatableError:
        return False
    return True


def _groups(wanted: Wanted, free: int, node: Node, inventory: Inventory) -> list[int]:
    """The free GPUs by the attributes that constraints want to be the same; all of them without such a constraint."""
    names = sorted({rule.attribute for rule in wanted.rules if rule.same and _about_gpus(wanted, rule.attribute)})
    if not names:
        return [free]
    found: dict[tuple[object, ...], int] = {}
    for offered in _gpu_devices(wanted, node, inventory):
        part = inventory.part(offered)
        if part is not None and free >> part.gpu & 1:
            key = tuple(attribute_value(offered, name) for name in names)
            found[key] = found.get(key, 0) | 1 << part.gpu
    return list(found.values())


def _about_gpus(wanted: Wanted, attribute: str) -> bool:
    return any(rule.about(ask) for rule in wanted.rules if rule.attribute == attribute for ask in wanted.asks)


def _gpu_devices(wanted: Wanted, node: Node, inventory: Inventory) -> list[Offered]:
    found: dict[object, Offered] = {}
    for ask in wanted.asks:
        for offered in () if ask.admin else inventory.matching(ask, node).devices:
            if inventory.part(offered) is not None:
                found[offered.id] = offered
    return list(found.values())
