"""Claims as the watch and our own writes show them: the newest version of each.

Our own writes are known before the watch shows them, and versions keep an older event from undoing them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from wattpack.kube.dra.objects import ResourceClaim
from wattpack.kube.informer import number

Key = tuple[str, str]  # namespace and name of a claim


class LiveClaims(dict[Key, ResourceClaim]):
    """The claims of a cluster by namespace and name; changed by `replace`, `change` and `take` only."""

    def __init__(self) -> None:
        super().__init__()
        self._reached = 0  # resource version that the watch has shown
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def replace(self, claims: Iterable[ResourceClaim]) -> list[Key]:
        """The whole list; the keys of claims that have changed or gone."""
        listed = {key_of(claim): claim for claim in claims}
        gone = [key for key in self if key not in listed]
        for key in gone:
            del self[key]
        changed = [key for key, claim in listed.items() if self.take(claim)]
        self._reach(max((number(claim.metadata.resource_version) for claim in listed.values()), default=0))
        return gone + changed

    def change(self, event: str, claim: ResourceClaim) -> bool:
        """An event of the watch; whether anything has changed."""
        gone = event == "DELETED" and self.pop(key_of(claim), None) is not None
        changed = gone or (event != "DELETED" and self.take(claim))
        self._reach(number(claim.metadata.resource_version))
        return changed

    def take(self, claim: ResourceClaim) -> bool:
        """A claim as it is now, or was: a version that is not newer than the known one changes nothing."""
        known = self.get(key_of(claim))
        if known is not None and number(known.metadata.resource_version) >= number(claim.metadata.resource_version) > 0:
            return False
        self[key_of(claim)] = claim
        return True

    async def seen(self, claims: Iterable[ResourceClaim], timeout_s: float) -> None:
        """Wait until the watch has shown these writes, and so everything that was written before them.

        Events of one resource come in the order of their versions. Raises TimeoutError.
        """
        wanted = max((number(claim.metadata.resource_version) for claim in claims), default=0)
        if self._reached >= wanted:
            return
        shown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, shown))
        await asyncio.wait_for(shown, timeout_s)

    def _reach(self, version: int) -> None:
        self._reached = max(self._reached, version)
        for wanted, shown in self._waiting:
            if wanted <= self._reached and not shown.done():
                shown.set_result(None)
        self._waiting = [(wanted, shown) for wanted, shown in self._waiting if not shown.done()]


def key_of(claim: ResourceClaim) -> Key:
    return claim.metadata.namespace, claim.metadata.name
