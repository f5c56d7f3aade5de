"""Devices for claims on one node, exactly: the GPUs that the engine chose, first fit for everything else.

The search is kube-scheduler's: requests in order, devices in order, back when a later request finds none. GPUs are
limited to the ones given. Nothing is taken here: the caller holds the results in `Taken`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from wattpack.errors import OneLineError
from wattpack.kube.dra.capacity import amount_text, consumed, fits
from wattpack.kube.dra.inventory import Inventory
from wattpack.kube.dra.objects import DeviceToleration, Result
from wattpack.kube.dra.pools import DeviceId, Offered
from wattpack.kube.dra.rules import Rules
from wattpack.kube.dra.taken import Taken
from wattpack.kube.dra.wanted import MAX_DEVICES, Ask, Wanted
from wattpack.kube.gpus import bits
from wattpack.kube.objects import Node

MAX_STEPS = 20_000  # devices tried; more are needed only where many requests exclude each other
NEW = "\0new"  # the holder of what is being allocated

Allocated = dict[str, list[Result]]  # by claim


class NotAllocatableError(OneLineError):
    """The devices cannot be had on this node now; the text says which request found none."""


def new_share() -> str:
    return str(uuid.uuid4())


def allocate(
    wanted: Wanted,
    node: Node,
    gpus: tuple[int, ...] | int,
    taken: Taken,
    inventory: Inventory,
    share_id: Callable[[], str] = new_share,
) -> Allocated:
    """Results by claim, with GPUs among `gpus` only (numbers, or a bit set); raises NotAllocatableError."""
    search = _Search(wanted, node, gpus if isinstance(gpus, int) else bits(gpus), taken, inventory, share_id)
    try:
        found = search.next_request(0)
    finally:
        taken.free(NEW)
    if not found:
        raise NotAllocatableError(search.why or f"no devices on node {node.metadata.name}")
    by_claim: Allocated = {ask.claim: [] for ask in wanted.asks}
    for ask, _, result in search.results:
        by_claim[ask.claim].append(result)
    return by_claim


class _Search:
    def __init__(
        self,
        wanted: Wanted,
        node: Node,
        gpus: int,
        taken: Taken,
        inventory: Inventory,
        share_id: Callable[[], str],
    ) -> None:
        self.asks, self.rules = wanted.asks, Rules(wanted.rules)
        self.node, self.gpus, self.taken, self.inventory = node, gpus, taken, inventory
        self.share_id = share_id
        self.results: list[tuple[Ask, Offered, Result]] = []
        self.used: dict[str, set[DeviceId]] = {}  # by claim: admin access takes a device once a claim
        self.deepest, self.why = -1, ""
        self.steps = 0

    def next_request(self, number: int) -> bool:
        if number == len(self.asks):
            return True
        ask = self.asks[number]
        found = self.inventory.matching(ask, self.node)
        devices = [one for one in found.devices if self.is_allowed(ask, one)]
        every = ask.number == 0
        if every and len(devices) < len(found.devices):
            devices = []  # one of them is a GPU that was not chosen
        count = len(devices) if every else ask.number
        if not devices or len(devices) < count:
            return self.fail(number, found.fault or f"{len(devices)} of {max(1, count)} devices serve it there")
        if sum(one.claim == ask.claim for one, _, _ in self.results) + count > MAX_DEVICES:
            return self.fail(number, f"the claim would hold more than {MAX_DEVICES} devices")
        if self.next_device(number, ask, devices, 0, count):
            return True
        return self.fail(number, found.fault or "the devices that serve it are taken, or a constraint forbids them")

    def next_device(self, number: int, ask: Ask, devices: list[Offered], start: int, left: int) -> bool:
        if left == 0:
            return self.next_request(number + 1)
        for place in range(start, len(devices) - left + 1):
            self.steps += 1
            if self.steps > MAX_STEPS:
                return self.fail(len(self.asks), f"no devices found in {MAX_STEPS} tries")
            if not self.take(ask, devices[place]):
                continue
            if self.next_device(number, ask, devices, place + 1, left - 1):
                return True
            self.give_back()
        return False

    def is_allowed(self, ask: Ask, offered: Offered) -> bool:
        """A GPU must be one of those chosen; other devices, and GPUs that are only looked at, may be any."""
        part = None if ask.admin else self.inventory.part(offered)
        return part is None or self.gpus >> part.gpu & 1 == 1

    def take(self, ask: Ask, offered: Offered) -> bool:
        result = self.result(ask, offered)
        if result is None or not self.rules.add(ask, offered):
            return False
        self.results.append((ask, offered, result))
        self.used.setdefault(ask.claim, set()).add(offered.id)
        self.hold()
        return True

    def give_back(self) -> None:
        ask, offered, _ = self.results.pop()
        self.rules.remove(ask, offered)
        self.used[ask.claim].discard(offered.id)
        self.hold()

    def hold(self) -> None:
        self.taken.hold(NEW, [result for _, _, result in self.results])

    def result(self, ask: Ask, offered: Offered) -> Result | None:
        """None: the device is taken, or has too little left."""
        taken = self.taken
        tolerations = [DeviceToleration(t.key, t.operator, t.value, t.effect) for t in ask.tolerations]
        result = Result(ask.name, *offered.id, tolerations=tolerations)
        if ask.admin:
            result.admin_access = True
            return None if offered.id in self.used.get(ask.claim, ()) else result
        if taken.whole(offered.id) or not taken.fits_counters(offered, self.inventory.pools):
            return None
        if not offered.shared:
            return None if taken.in_use(offered.id) else result
        amounts = consumed(dict(ask.capacity), offered.said.capacity)
        if amounts is None or not fits(amounts, taken.shares(offered.id), offered.said.capacity):
            return None
        result.share = self.share_id()
        result.consumed_capacity = _texts(amounts)
        return result

    def fail(self, number: int, why: str) -> bool:
        """Keeps the reason of the request that came furthest."""
        if number > self.deepest:
            self.deepest = number
            where = f"{self.asks[number].words}: " if number < len(self.asks) else ""
            self.why = f"{where}node {self.node.metadata.name}: {why}"
        return False


def _texts(amounts: Mapping[str, int]) -> dict[str, str | int | float]:
    return {name: amount_text(amount) for name, amount in amounts.items()}
