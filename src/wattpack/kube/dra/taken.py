"""What allocated claims take of devices: whole devices, shares of capacity, and with them shared counters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from wattpack.kube.dra.capacity import AmountsNano
from wattpack.kube.dra.objects import ResourceClaim, Result
from wattpack.kube.dra.pools import DeviceId, Offered, PoolId, Pools
from wattpack.kube.quantity import nano


class Use(NamedTuple):
    """One device of one claim."""

    device: DeviceId
    consumed: tuple[tuple[str, int], ...] | None  # of a share, in billionths; None: the whole device


class Taken:
    """By holder (a claim's uid, or whatever the caller counts by): the same holder again replaces what it held."""

    def __init__(self, claims: Iterable[ResourceClaim] = ()) -> None:
        self.held: dict[str, tuple[Use, ...]] = {}
        self._whole: dict[DeviceId, int] = {}  # how many holders: two if somebody allocated a device twice
        self._shares: dict[DeviceId, dict[str, int]] = {}
        self._holders: dict[DeviceId, int] = {}  # of shares
        self._by_pool: dict[PoolId, dict[DeviceId, int]] = {}
        for claim in claims:
            self.hold(claim.metadata.uid or f"{claim.metadata.namespace}/{claim.metadata.name}", results_of(claim))

    def hold(self, holder: str, results: Iterable[Result]) -> None:
        """Devices with admin access are not taken."""
        self.free(holder)
        uses = tuple(_use(result) for result in results if not result.admin_access)
        if uses:
            self.held[holder] = uses
            self._count(uses, 1)

    def free(self, holder: str) -> None:
        self._count(self.held.pop(holder, ()), -1)

    def whole(self, device: DeviceId) -> bool:
        return device in self._whole

    def shares(self, device: DeviceId) -> AmountsNano:
        return self._shares.get(device, {})

    def in_use(self, device: DeviceId) -> bool:
        return device in self._whole or device in self._holders

    def overbooked(self, offered: Offered, pools: Pools) -> bool:
        """Whether more of the device is held than there is: somebody allocated without seeing what others hold."""
        whole, holders = self._whole.get(offered.id, 0), self._holders.get(offered.id, 0)
        if whole + (holders > 0) > 1 or (holders and not offered.shared):
            return True
        capacity = offered.said.capacity
        shares = self.shares(offered.id).items()
        if any(amount > nano(capacity[name].value) for name, amount in shares if name in capacity):
            return True
        return bool(offered.counters) and min(self.counters_left(offered, pools).values(), default=0) < 0

    def counters_left(self, offered: Offered, pools: Pools) -> dict[tuple[str, str], int]:
        """Of the counter sets that the device consumes from."""
        pool = pools.pools[offered.pool]
        sets = {use.counter_set for use in offered.counters}
        left = {key: amount for key, amount in pool.counters.items() if key[0] in sets}
        for device in self._by_pool.get(offered.pool, ()):
            held = pools.devices.get(device)
            for use in held.counters if held is not None else ():
                for name, counter in use.counters.items():
                    if (use.counter_set, name) in left:
                        left[use.counter_set, name] -= nano(counter.value)
        return left

    def fits_counters(self, offered: Offered, pools: Pools) -> bool:
        """A device of which shares are held has its counters already."""
        if not offered.counters or (offered.shared and self.in_use(offered.id)):
            return True
        left = self.counters_left(offered, pools)
        return all(
            nano(counter.value) <= left.get((use.counter_set, name), 0)
            for use in offered.counters
            for name, counter in use.counters.items()
        )

    def _count(self, uses: Iterable[Use], sign: int) -> None:
        for device, consumed in uses:
            table = self._whole if consumed is None else self._holders
            _add(table, device, sign)
            _add(self._by_pool.setdefault(PoolId(*device[:2]), {}), device, sign)
            if consumed is not None:
                amounts = self._shares.setdefault(device, {})
                for name, amount in consumed:
                    amounts[name] = amounts.get(name, 0) + sign * amount
                if device not in self._holders:
                    del self._shares[device]


def _add(counts: dict[DeviceId, int], device: DeviceId, sign: int) -> None:
    counts[device] = counts.get(device, 0) + sign
    if counts[device] == 0:
        del counts[device]


def _use(result: Result) -> Use:
    device = DeviceId(result.driver, result.pool, result.device)
    if result.share is None:
        return Use(device, None)
    return Use(device, tuple((name, nano(amount)) for name, amount in result.consumed_capacity.items()))


def results_of(claim: ResourceClaim) -> list[Result]:
    return claim.status.allocation.devices.results if claim.status.allocation else []
