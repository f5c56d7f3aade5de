"""Claims as the watch and our own writes show them: the newest version of each, who uses it, and its devices.

Our own writes are known before the watch shows them; versions keep an older event from undoing them.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator

from wattpack.kube.dra.objects import ResourceClaim, Result
from wattpack.kube.watch import number

Key = tuple[str, str]  # namespace and name of a claim
Device = tuple[str, str, str]  # driver, pool and name of a device


class LiveClaims:
    """The claims of a cluster. What devices they hold is looked up by device, as that is asked with every Binding."""

    def __init__(self) -> None:
        self._claims: dict[Key, ResourceClaim] = {}
        self._users: defaultdict[Device, dict[Key, list[Result]]] = defaultdict(dict)
        self._reached = 0  # resource version that the watch has shown
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def __iter__(self) -> Iterator[ResourceClaim]:
        return iter(self._claims.values())

    def get(self, key: Key) -> ResourceClaim | None:
        return self._claims.get(key)

    # ---- what is seen and what is written

    def replace(self, claims: Iterable[ResourceClaim]) -> list[Key]:
        """The whole list; the keys of claims that have changed or gone."""
        listed = {key_of(claim): claim for claim in claims}
        gone = [key for key in self._claims if key not in listed]
        for key in gone:
            self._forget(key)
        changed = [key for key, claim in listed.items() if self.update(claim)]
        self._reach(max((number(claim.metadata.resource_version) for claim in listed.values()), default=0))
        return gone + changed

    def change(self, event: str, claim: ResourceClaim) -> bool:
        """An event of the watch; whether anything has changed."""
        key = key_of(claim)
        changed = self._forget(key) if event == "DELETED" else self.update(claim)
        self._reach(number(claim.metadata.resource_version))
        return changed

    def update(self, claim: ResourceClaim) -> bool:
        """A claim as it is now, or as it was: an older version than the known one is ignored."""
        key = key_of(claim)
        known = self._claims.get(key)
        if known is not None and number(known.metadata.resource_version) >= number(claim.metadata.resource_version) > 0:
            return False
        self._forget(key)
        self._claims[key] = claim
        for result in results_of(claim):
            self._users[device_of(result)].setdefault(key, []).append(result)
        return True

    def _forget(self, key: Key) -> bool:
        known = self._claims.pop(key, None)
        if known is None:
            return False
        for result in results_of(known):
            users = self._users[device_of(result)]
            users.pop(key, None)
            if not users:
                del self._users[device_of(result)]
        return True

    # ---- questions

    def users(self, device: Device) -> dict[Key, list[Result]]:
        """The claims that hold the device, each with what it holds of it."""
        return self._users.get(device, {})

    async def seen(self, claims: Iterable[ResourceClaim], timeout_s: float) -> None:
        """Wait until the watch has shown these writes, and so everything that was written before them.

        Raises TimeoutError. Events of one resource come in the order of their versions.
        """
        wanted = max((number(claim.metadata.resource_version) for claim in claims), default=0)
        if self._reached >= wanted:
            return
        shown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, shown))
        await asyncio.wait_for(shown, timeout_s)

    def _reach(self, version: int) -> None:
        self._reached = max(self._reached, version)
        waiting, self._waiting = self._waiting, []
        for wanted, shown in waiting:
            if shown.done():
                continue
            if wanted <= self._reached:
                shown.set_result(None)
            else:
                self._waiting.append((wanted, shown))


def key_of(claim: ResourceClaim) -> Key:
    return claim.metadata.namespace, claim.metadata.name


def device_of(result: Result) -> Device:
    return result.driver, result.pool, result.device


def results_of(claim: ResourceClaim) -> list[Result]:
    """What the claim holds; devices that are only looked at (admin access) are not held."""
    allocation = claim.status.allocation
    return [result for result in allocation.devices.results if not result.admin_access] if allocation else []
