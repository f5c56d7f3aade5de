"""The GPUs that claims ask for, as the engine counts them: a number of whole GPUs, or a share of one.

Requests for devices that are not GPUs, and requests with admin access, take no GPUs. A share depends on the device: the
same memory is more of a small GPU. The largest share that any device of the cluster gives is what counts until the pod
is on its node; where no GPU has that much left, smaller shares follow, on the devices that give them. What our model
does not have (shares of several GPUs at once) is refused with the request's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wattpack.kube.dra.inventory import Inventory
from wattpack.kube.dra.wanted import Ask, Wanted
from wattpack.kube.objects import Node, Unreadable
from wattpack.model.nodes import MAX_GPUS
from wattpack.model.power import GPU_MILLI


class Demand(NamedTuple):
    """One alternative of a pod's claims as a task. `usable`: GPUs, as a bit set, by node that may serve it."""

    wanted: Wanted
    num_gpu: int
    gpu_milli: int
    usable: dict[str, int]


class _Shape(NamedTuple):
    """What a request is, over the cluster."""

    milli: int  # of each GPU; 0: it asks for other devices
    by_node: dict[str, tuple[int, int]]  # devices that serve it, and the GPUs that they are on, as a bit set
    by_share: dict[int, dict[str, int]]  # milli -> node -> the GPUs of which it takes so much, as a bit set
    faults: tuple[str, ...]


def demands_of(alternatives: Sequence[Wanted], inventory: Inventory, nodes: Sequence[Node]) -> list[Demand]:
    """The demands, the preferred first; raises Unreadable if no alternative can be met by any node, with the reason."""
    found: list[Demand] = []
    why = "claims without a request"
    for wanted in alternatives:
        try:
            found += _demands(wanted, inventory, nodes)
        except Unreadable as fault:
            why = str(fault)
    if not found:
        raise Unreadable(why)
    return found


def _demands(wanted: Wanted, inventory: Inventory, nodes: Sequence[Node]) -> list[Demand]:
    shapes = [_shape(ask, inventory, nodes) for ask in wanted.asks]
    for ask, shape in zip(wanted.asks, shapes, strict=True):
        if not shape.by_node:
            raise Unreadable(f"{ask.words}: {shape.faults[0] if shape.faults else 'no device of any node serves it'}")
    gpu = [(ask, shape) for ask, shape in zip(wanted.asks, shapes, strict=True) if shape.milli and not ask.admin]
    milli = max((shape.milli for _, shape in gpu), default=0)
    if milli and milli < GPU_MILLI and (len(gpu) > 1 or gpu[0][0].number != 1):
        raise Unreadable(
            f"{gpu[-1][0].words}: parts of several GPUs at once, expected a share of one GPU or whole GPUs"
        )
    if any(shape.milli != milli for _, shape in gpu):
        raise Unreadable(f"{gpu[-1][0].words}: a part of a GPU beside whole GPUs, expected one or the other")
    by_number: dict[int, dict[str, int]] = {}
    for node in nodes:
        name = node.metadata.name
        counts = [_on_node(ask, shape, name) for ask, shape in zip(wanted.asks, shapes, strict=True)]
        if None in counts:
            continue
        own = [shape.by_node[name] for ask, shape in gpu]
        # `All`: as many as there are, and all of them must be free.
        number = sum(ask.number or has for (ask, _), (has, _) in zip(gpu, own, strict=True))
        usable = 0
        for _, bits in own:
            usable |= bits
        if number <= MAX_GPUS and usable.bit_count() >= number:
            by_number.setdefault(number, {})[name] = usable
    if not by_number:
        first = gpu[0][0] if gpu else wanted.asks[0]
        raise Unreadable(f"{first.words}: no node has all the devices that the claims ask for together")
    # `All` yields a different number of devices on each node; the smaller first, which keeps large nodes for others.
    found = [Demand(wanted, number, milli if number else 0, by_number[number]) for number in sorted(by_number)]
    if len(gpu) == 1 and gpu[0][0].number == 1:
        found += _smaller_shares(found[0], gpu[0][1])
    return found


def _smaller_shares(largest: Demand, shape: _Shape) -> list[Demand]:
    """The same demand where the request takes less of a GPU, the larger shares first."""
    found = []
    usable = dict.fromkeys(largest.usable, 0)
    for milli in sorted(shape.by_share)[:-1]:
        for name, bits in shape.by_share[milli].items():
            if name in usable:
                usable[name] |= bits
        found.append(largest._replace(gpu_milli=milli, usable={name: bits for name, bits in usable.items() if bits}))
    return [one for one in reversed(found) if one.usable]


def _on_node(ask: Ask, shape: _Shape, node: str) -> int | None:
    """How many devices of the node serve the request; None: too few."""
    has = shape.by_node.get(node, (0, 0))[0]
    return has if has >= max(1, ask.number) else None


def _shape(ask: Ask, inventory: Inventory, nodes: Sequence[Node]) -> _Shape:
    by_node: dict[str, tuple[int, int]] = {}
    by_share: dict[int, dict[str, int]] = {}
    faults: dict[str, None] = {}
    kind = ask.kind
    for node in nodes:
        found = inventory.matching(kind, node)
        if found.fault:
            faults[found.fault] = None
        bits = 0
        for offered in found.devices:
            milli = 0 if ask.admin else inventory.milli(kind, offered)
            part = inventory.part(offered)
            own = 1 << part.gpu if milli and part is not None else 0
            there = by_share.setdefault(milli, {})
            there[node.metadata.name] = there.get(node.metadata.name, 0) | own
            bits |= own
        if found.devices:
            by_node[node.metadata.name] = len(found.devices), bits
    if 0 in by_share and len(by_share) > 1:
        raise Unreadable(f"{ask.words}: GPUs and other devices serve it alike, expected a class of one kind")
    return _Shape(max(by_share, default=0), by_node, by_share, tuple(faults))
