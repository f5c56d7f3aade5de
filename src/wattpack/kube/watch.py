"""One resource kept in step with the cluster: list, watch, list again after 410 Gone, back off after errors."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import msgspec
from aiohttp import ClientError

from wattpack.kube.client import ApiError, Client
from wattpack.kube.objects import WATCH_EVENT, Metadata

T = TypeVar("T")


class Bookmark(msgspec.Struct, gc=False):
    """A watch event without an object, only with the resource version reached."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)


FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 10.0
GONE = 410
BOOKMARK = msgspec.json.Decoder(Bookmark)
log = logging.getLogger("wattpack")


class Watch(Generic[T]):
    """One resource.

    Calls `replace` with the whole list, and `change` with an event (ADDED, MODIFIED, DELETED) and its object.
    """

    def __init__(
        self,
        name: str,
        path: str,
        fetch: Callable[[], Awaitable[tuple[list[T], str]]],
        decoder: Any,
        replace: Callable[[list[T]], None],
        change: Callable[[str, T], None],
    ) -> None:
        self.name, self.path, self.fetch, self.decoder = name, path, fetch, decoder
        self.replace, self.change = replace, change
        self.version = ""  # resource version to watch from; "": list first
        self.floor = 0  # events up to this resource version are in the list already
        self.listed = False
        self.connected = False
        self.contact_s = time.monotonic()  # when the server last sent anything
        self.restarts = 0

    def in_sync(self, patience_s: float) -> bool:
        """Whether the resource was listed and is watched, or was until at most `patience_s` ago."""
        return self.listed and (self.connected or time.monotonic() - self.contact_s < patience_s)

    async def relist(self) -> None:
        """Get the whole list now; a running watch continues, and its older events are ignored."""
        objects, version = await self.fetch()
        self.version = version
        self.floor = number(version)
        self.listed = True
        self.replace(objects)
        self.contact_s = time.monotonic()

    async def run(self, client: Client) -> None:
        """Runs until it is cancelled."""
        wait_s = FIRST_WAIT_S
        while True:
            try:
                if not self.version:
                    await self.relist()
                async for line in client.watch(self.path, self.version):
                    self.connected = True
                    self.contact_s = time.monotonic()
                    wait_s = FIRST_WAIT_S
                    if line:
                        self.take(line)
            except ApiError as fault:
                if fault.status == GONE:
                    self.version = ""
                log.warning("watch of %s: %s", self.name, fault)
            except (OSError, msgspec.DecodeError, TimeoutError, ClientError) as fault:
                log.warning("watch of %s: %s", self.name, fault or type(fault).__name__)
            self.connected = False
            self.restarts += 1
            await asyncio.sleep(wait_s * random.uniform(0.5, 1.0))
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    def take(self, line: bytes) -> None:
        """Handle one event."""
        event = WATCH_EVENT.decode(line)
        if event.type == "ERROR":
            status = msgspec.json.decode(event.object)
            raise ApiError(int(status.get("code") or 500), str(status.get("message") or "watch ended with an error"))
        if event.type == "BOOKMARK":  # its object has a version and nothing else
            self.version = BOOKMARK.decode(event.object).metadata.resource_version or self.version
            return
        thing = self.decoder.decode(event.object)
        version = thing.metadata.resource_version
        if 0 < number(version) <= self.floor:
            return  # older than the list: a deleted pod would come back
        self.change(event.type, thing)
        if version:
            self.version = version
            self.floor = max(self.floor, number(version))


def number(version: str) -> int:
    """A resource version as a number; Kubernetes versions are decimal and grow. 0: not comparable."""
    return int(version) if version.isdecimal() else 0
