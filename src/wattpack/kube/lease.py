"""The Lease of the one replica that decides.

Each replica runs beside its own kube-scheduler, and the schedulers elect a leader: the lease follows the leading
scheduler's requests. A replica that gets a request takes the lease if it is free or has expired, and renews it only
while requests come, or while Bindings of its own may still be made. So when another scheduler takes over, the old
replica's lease expires and the new one takes it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from wattpack.kube.client import NOT_FOUND, ApiError, Client
from wattpack.kube.config import LeaseConfig

log = logging.getLogger("wattpack")
ASKED = "wattpack.io/asked"  # annotation of the Lease: the replica that requests come to, but that does not hold it


class Lease:
    """The lease as this replica sees it. `prepare` is awaited after it is acquired, before it counts as held."""

    def __init__(
        self, config: LeaseConfig, identity: str, client: Client, prepare: Callable[[], Awaitable[None]]
    ) -> None:
        self.config, self.identity, self.client, self.prepare = config, identity, client, prepare
        self.until_s = 0.0  # monotonic time until which we hold it
        self.asked_s = 0.0  # when the last request came
        self.holder = ""  # who held it when we last read it
        self.seen: tuple[str, str] = ("", "")  # holder and renewal time as last read
        self.seen_s = 0.0  # when we first read that, by our own clock: the clocks of replicas may differ
        self.lock = asyncio.Lock()
        self.keeps_while_idle = False  # with sleep on, renew while idle, until another replica is asked
        self.tried_s = float("-inf")  # when it was last tried to be taken without a request
        self.busy: Callable[[], bool] = lambda: False  # whether Bindings of ours may still be made
        self.ended = False  # left for good: it is not taken again

    @property
    def path(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.config.namespace}/leases"

    def left_s(self) -> float:
        """Seconds for which we may still decide; without a lease: unlimited."""
        return self.until_s - time.monotonic() if self.config.enabled else 1e9

    async def held(self) -> bool:
        """Whether we may decide now; tries to take the lease if not. Called for every request."""
        self.asked_s = time.monotonic()
        if self.left_s() > 0:
            return True
        async with self.lock:
            return self.left_s() > 0 or await self.take()

    async def held_while_idle(self) -> bool:
        """The same for work that no request asks for: we take it if nobody has it, and give it up to who is asked."""
        if self.left_s() > 0:
            return True
        if self.lock.locked() or time.monotonic() - self.tried_s < self.config.duration_s / 4:
            return False
        self.tried_s = time.monotonic()
        async with self.lock:
            return self.left_s() > 0 or await self.take()

    async def take(self) -> bool:
        """One attempt to take or renew it. Call it with the lock."""
        if self.ended:
            return False
        started_s = time.monotonic()
        renewing = self.until_s > started_s
        try:
            written = await self.read()
            if written is not None and not self.free(written):
                await self.say_asked(written)
                return False
            await self.write(written)
            if not renewing:
                # The previous holder may have bound pods that our watch has not shown yet.
                await self.prepare()
        except ApiError as fault:
            log.warning("lease %s/%s: %s", self.config.namespace, self.config.name, fault)
            return False
        if not renewing:
            log.info("lease %s/%s: held by %s", self.config.namespace, self.config.name, self.identity)
        self.holder = self.identity
        self.until_s = started_s + self.config.duration_s
        return True

    async def read(self) -> dict[str, Any] | None:
        try:
            text = await self.client.call(
                "GET", f"{self.path}/{self.config.name}", timeout_s=self.config.duration_s / 3
            )
        except ApiError as fault:
            if fault.status == NOT_FOUND:
                return None
            raise
        read: dict[str, Any] = msgspec.json.decode(text)
        return read

    def free(self, written: dict[str, Any]) -> bool:
        """Whether it is ours, nobody's, or was not renewed for its duration since we first read it."""
        spec = written.get("spec") or {}
        self.holder = spec.get("holderIdentity") or ""
        if self.holder in ("", self.identity):
            return True
        seen = self.holder, spec.get("renewTime") or ""
        if seen != self.seen:
            self.seen, self.seen_s = seen, time.monotonic()
        duration_s = spec.get("leaseDurationSeconds") or self.config.duration_s
        return time.monotonic() - self.seen_s > duration_s

    async def write(self, written: dict[str, Any] | None) -> None:
        """Write our name; the resource version makes the write fail if another replica wrote in between."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        before = (written or {}).get("spec") or {}
        changed = before.get("holderIdentity") != self.identity
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self.config.duration_s),  # others must not count less than we do
            "renewTime": now,
            "acquireTime": now if changed else before.get("acquireTime", now),
            "leaseTransitions": (before.get("leaseTransitions") or 0) + (1 if changed and written else 0),
        }
        metadata: dict[str, Any] = {"name": self.config.name, "namespace": self.config.namespace}
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        limit_s = self.config.duration_s / 3
        if written is None:
            await self.client.call("POST", self.path, body, limit_s)
            return
        metadata["resourceVersion"] = written["metadata"]["resourceVersion"]
        await self.client.call("PUT", f"{self.path}/{self.config.name}", body, limit_s)

    async def keep(self) -> None:
        """Runs until it is cancelled: renews while requests come or Bindings are under way. Otherwise it expires."""
        while True:
            await asyncio.sleep(self.config.duration_s / 4)
            if self.left_s() <= 0 or not (self.needed() or self.keeps_while_idle):
                continue
            async with self.lock:
                if not self.needed() and await self.another_is_asked() and not self.needed():
                    self.tried_s = time.monotonic() + 2 * self.config.duration_s  # time for the other to take it
                    await self.release()
                else:
                    await self.take()

    def needed(self) -> bool:
        """Whether requests come, or a Binding may still be made that another replica would not know of."""
        return time.monotonic() - self.asked_s < self.config.duration_s or self.busy()

    async def say_asked(self, written: dict[str, Any]) -> None:
        """Write down that requests come to us: a holder without requests gives the lease up then."""
        known = (written["metadata"].get("annotations") or {}).get(ASKED)
        asked = time.monotonic() - self.asked_s < self.config.duration_s
        if not self.keeps_while_idle or not asked or known == self.identity:
            return
        body = {"metadata": {"annotations": {ASKED: self.identity}}}
        await self.client.call("PATCH", f"{self.path}/{self.config.name}", body, self.config.duration_s / 3)

    async def another_is_asked(self) -> bool:
        try:
            written = await self.read()
        except ApiError as fault:
            log.warning("lease %s/%s: %s", self.config.namespace, self.config.name, fault)
            return False
        asked = ((written or {}).get("metadata") or {}).get("annotations") or {}
        return asked.get(ASKED, self.identity) != self.identity

    async def leave(self) -> None:
        """Release it at the end, so that another replica need not wait; it is not taken again."""
        self.ended = True
        async with self.lock:  # a renewal under way would write our name again
            await self.release()

    async def release(self) -> None:
        """Also one that has run out, as long as our name is in it."""
        if not self.config.enabled or self.until_s == 0.0:
            return
        self.until_s = 0.0
        try:
            written = await self.read()
            if written is not None and (written.get("spec") or {}).get("holderIdentity") == self.identity:
                written["spec"]["holderIdentity"] = ""
                await self.client.call("PUT", f"{self.path}/{self.config.name}", written, self.config.duration_s / 3)
        except ApiError as fault:
            log.warning("lease %s/%s: not released: %s", self.config.namespace, self.config.name, fault)
