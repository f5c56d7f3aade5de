"""Which devices are GPUs or parts of GPUs, and the number of each GPU on its node.

GPUs of a node are numbered from 0 in the order of the numbers in their devices' names (`gpu-0`, `gpu-1`, ...). MIG
devices, and other parts that share counters, have the number of the GPU that they are parts of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from wattpack.kube.dialects.mig import SLICES, slices_of
from wattpack.kube.dra.pools import DeviceId, NodeDevices, Offered, Pools
from wattpack.kube.not_understood import ACCELERATOR
from wattpack.kube.objects import Unreadable
from wattpack.kube.quantity import memory_mib_down, nano
from wattpack.model.power import GPU_MILLI

_NUMBER = re.compile(r"[0-9]+", re.ASCII)


class Part(NamedTuple):
    """A device as a part of a GPU, or all of it."""

    gpu: int  # number on the node
    milli: int


@dataclass(frozen=True, eq=False)
class NodeGpus:
    """The GPUs of a node that slices offer."""

    count: int
    parts: dict[DeviceId, Part]
    products: tuple[str, ...]  # names of models, each once; empty: the slices do not say
    memory_mib: int  # of the smallest GPU; 0: not said


def short(name: str) -> str:
    """The name of an attribute or capacity without its domain."""
    return name.rpartition("/")[2]


def text_of(offered: Offered, attribute: str) -> str:
    """A text attribute by its short name, "" without it."""
    found = (value.string for name, value in offered.said.attributes.items() if short(name) == attribute)
    return next((text for text in found if text), "")


def is_gpu(offered: Offered) -> bool:
    """By the attribute `type`; without it, by the name of the driver."""
    kind = text_of(offered, "type")
    return kind in ("gpu", "mig") if kind else ACCELERATOR.search(offered.id.driver) is not None


def looks_like_gpu(driver: str) -> bool:
    """For a device that no slice describes."""
    return ACCELERATOR.search(driver) is not None


def gpus_of(devices: NodeDevices | Iterable[Offered], pools: Pools) -> NodeGpus:
    """The GPUs of one node. Devices that are not tied to one node are not its GPUs."""
    listed = devices.devices if isinstance(devices, NodeDevices) else devices
    own = [one for one in listed if one.node and is_gpu(one)]
    by_uuid = {uuid: _parent(one) for one in own if (uuid := text_of(one, "uuid")) and not text_of(one, "parentUUID")}
    parents = {one.id: by_uuid.get(text_of(one, "parentUUID")) or _parent(one) for one in own}
    order: dict[tuple[str, ...], int] = {}
    for one in own:
        number = number_in(one.id.device)
        wanted = len(order) if number is None else number
        order[parents[one.id]] = min(wanted, order.get(parents[one.id], wanted))
    ranked = sorted(order, key=lambda parent: (order[parent], list(order).index(parent)))
    numbers = {parent: number for number, parent in enumerate(ranked)}
    parts = {one.id: Part(numbers[parents[one.id]], milli_of(one, pools)) for one in own}
    products = tuple(dict.fromkeys(product for one in own if (product := text_of(one, "productName"))))
    memories = [_memory_mib(one) for one in own if parts[one.id].milli == GPU_MILLI]
    return NodeGpus(len(ranked), parts, products, min((memory for memory in memories if memory), default=0))


def number_in(name: str) -> int | None:
    found = _NUMBER.search(name)
    return int(found[0][:9]) if found else None


def _parent(offered: Offered) -> tuple[str, ...]:
    """What the devices of one GPU have in common: a counter set, or the number in their names."""
    pool = offered.id[:2]
    if offered.counters:
        return (*pool, "set", offered.counters[0].counter_set)
    number = number_in(offered.id.device)
    return (*pool, "device", offered.id.device) if number is None else (*pool, "number", str(number))


def milli_of(offered: Offered, pools: Pools) -> int:
    """Thousandths of a GPU that the device is: n/7 of a MIG profile, else the largest part of a shared counter.

    Rounded down, as seven parts of 143 milli would not fit one GPU. Counters of 1 are places, not amounts.
    """
    profile = text_of(offered, "profile")
    if profile:
        try:
            return slices_of(profile) * GPU_MILLI // SLICES
        except Unreadable:
            pass  # not a MIG profile: the counters say it
    if not offered.counters:
        return GPU_MILLI
    pool = pools.pools[offered.pool]
    whole = {key: amount for key, amount in pool.counters.items() if amount > nano(1)}
    found = [
        nano(counter.value) * GPU_MILLI // whole[use.counter_set, name]
        for use in offered.counters
        for name, counter in use.counters.items()
        if (use.counter_set, name) in whole
    ]
    return min(GPU_MILLI, max(1, max(found, default=GPU_MILLI)))


def _memory_mib(offered: Offered) -> int:
    found = [nano(capacity.value) for name, capacity in offered.said.capacity.items() if short(name) == "memory"]
    return memory_mib_down(found[0]) if found else 0
