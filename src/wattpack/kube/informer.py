"""What the API server has, kept by version: one list and one watch for each kind of object, for everybody who asks.

Objects are kept as they are sent, not as a configuration reads them, so a new configuration reads them again without a
list. A kind is in sync while its watch has been heard of lately: a connection that is open proves nothing.
"""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from aiohttp import ClientError

from wattpack.kube.client import FORBIDDEN, NO_ANSWER, UNAUTHORIZED, ApiError, Client
from wattpack.kube.decode import NODE_NAME, Key, Skipped, read_event, read_object, skipped_object
from wattpack.kube.objects import FAULTS, Metadata

T = TypeVar("T")
Changes = list[tuple[str, T | Skipped]]  # events and their objects
log = logging.getLogger("wattpack")

# A kind whose watch was not heard of for this long is not in sync. A quiet watch sends a bookmark about once a minute,
# which is too rare, so the server is asked to end every watch after WATCH_S (client.py): its last bookmark comes 2 s
# before that and the next watch right after, so a server that lives is heard of every 8 s. A connection that stays
# silent for Client.silence_s (12 s) is dropped, which leaves 3 s to be heard of on a new one.
CONTACT_S = 15.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 5.0  # between attempts after a fault
STAYS_S = 0.3  # a watch that was opened this long ago has not been hung up on at once
SHORT_S = 2.0  # a watch that the server ends sooner than this is a fault: it is not opened again at once
READABLE = "READABLE"  # the event of `Kind.skip` after which an object is shown anew
NAMELESS = "#"  # begins what stands for a name that cannot be read; no name begins with it
TOMBSTONES = 10_000  # deleted objects whose versions are remembered
# Faults that say nothing about the version watched from: it is watched from there again, without a list.
TOO_MANY_REQUESTS, UNAVAILABLE = 429, 503
PASSING = (NO_ANSWER, UNAUTHORIZED, FORBIDDEN, TOO_MANY_REQUESTS, 500, 502, UNAVAILABLE)


class Bookmark(msgspec.Struct, gc=False):
    """A watch event without an object, only with the resource version reached."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)


class Status(msgspec.Struct, gc=False):
    """The object of an ERROR event."""

    code: int = 500
    message: str = "the watch ended with an error"


BOOKMARK = msgspec.json.Decoder(Bookmark)
STATUS = msgspec.json.Decoder(Status)


class Known(NamedTuple):
    """The newest version of an object that was shown."""

    version: int
    thing: Any  # the object, or `Skipped`


class EventLostError(Exception):
    """An event that names no object: what it changed is seen in a list only."""


class Kind(Generic[T]):
    """The objects of one kind, and the loop that keeps them in step.

    `change` is called with an event (ADDED, MODIFIED, DELETED) and its object. `skip` is called in its place with an
    object that cannot be decoded, and with READABLE when that is over. The first list goes to `replace` as a whole, if
    that is given. `listed` is called after every list with the monotonic time at which it was asked for.
    """

    def __init__(
        self,
        client: Client,
        path: str,
        decoder: msgspec.json.Decoder[T],
        change: Callable[[str, T], None],
        skip: Callable[[str, Skipped], None] = lambda event, one: None,
        replace: Callable[[list[T]], None] | None = None,
        listed: Callable[[float], None] = lambda asked_s: None,
        naming: tuple[str, ...] = NODE_NAME,
    ) -> None:
        """`naming`: members of an object whose values are names of nodes."""
        self.client, self.path, self.name = client, path, path.rsplit("/", 1)[1]
        self.change, self.skip, self.replace, self.after_list = change, skip, replace, listed
        self.naming = naming
        self.read: Callable[[bytes], T | Skipped] = partial(read_object, decoder, naming=naming)
        self.known: dict[Key, Known] = {}
        self.tombstones: dict[Key, int] = {}  # deleted objects -> version of the deletion, the oldest first
        self.floor = 0  # an object that is not known was gone at this version
        self.newest = 0  # the newest version shown by a list, an event or a bookmark
        self.version = ""  # the resource version to watch from; "": list first
        self.listed = False
        self.contact_s = float("-inf")  # when the server was last heard of
        self.opened_s = float("inf")  # when the watch that is open was opened; inf: none is
        self.restarts = 0
        self.lock = asyncio.Lock()  # one list at a time

    def in_sync(self, now_s: float | None = None) -> bool:
        """Whether the objects were listed, and the server was heard of lately."""
        now_s = time.monotonic() if now_s is None else now_s
        # A watch that was opened is contact once it has stayed open: who opens and hangs up may show nothing for ever.
        heard_s = max(self.contact_s, self.opened_s) if now_s - self.opened_s > STAYS_S else self.contact_s
        return self.listed and now_s - heard_s < CONTACT_S

    def things(self) -> list[T]:
        """The objects that could be decoded."""
        return [known.thing for known in self.known.values() if not isinstance(known.thing, Skipped)]

    def skipped(self) -> list[Skipped]:
        return [known.thing for known in self.known.values() if isinstance(known.thing, Skipped)]

    # ---- list, then watch

    async def run(self) -> None:
        """Runs until it is cancelled."""
        wait_s = FIRST_WAIT_S
        while True:
            began_s = time.monotonic()
            try:
                if not self.version:
                    await self.relist()
                if not self.version:
                    raise ApiError(NO_ANSWER, f"GET {self.path}: a list without a version, expected one to watch from")
                async for line in self.client.watch(self.path, self.version):
                    if not line:
                        self.opened_s = time.monotonic()
                        continue
                    self.contact_s = max(self.contact_s, time.monotonic())
                    self.take(line)
                    wait_s = FIRST_WAIT_S
                if time.monotonic() - began_s > SHORT_S:
                    self.contact_s = max(self.contact_s, self.opened_s)
                    wait_s = FIRST_WAIT_S
                    continue  # the server ended the watch, as it was asked to
            except ApiError as fault:
                if fault.status not in PASSING:
                    self.version = ""
                log.warning("watch of %s: %s", self.name, fault)
            except (EventLostError, *FAULTS) as fault:
                self.version = ""
                log.warning("watch of %s: %s; listing again", self.name, fault)
            except (OSError, TimeoutError, ClientError) as fault:
                log.warning("watch of %s: %s", self.name, str(fault) or type(fault).__name__)
            finally:
                self.opened_s = float("inf")
            self.restarts += 1
            await asyncio.sleep(wait_s * random.uniform(0.5, 1.0))
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    async def relist(self) -> None:
        """Get the whole list now; a watch that is open goes on. Raises ApiError."""
        async with self.lock:
            known, asked_s = self.newest, time.monotonic()
            things, version = await self.client.list_objects(self.path, self.read)
            if 0 < number(version) < known:
                # Lists are asked for as quorum reads. Versions that go back are those of an etcd restored from a
                # backup, after which Kubernetes wants its clients restarted: what was seen since is not undone here.
                raise ApiError(
                    NO_ANSWER, f"GET {self.path}: a list of version {version}, older than {known}, which was shown"
                )
            self.take_list(things, version, asked_s)

    # ---- what is shown

    def take(self, line: bytes) -> None:
        """One event of the watch."""
        event = read_event(line)
        if event.type == "ERROR":
            status = STATUS.decode(event.object)
            raise ApiError(status.code, status.message)
        if event.type == "BOOKMARK":  # its object has a version and nothing else
            self.reach(BOOKMARK.decode(event.object).metadata.resource_version)
            return
        thing = self.read(event.object)
        metadata = metadata_of(thing)
        if not metadata.name:
            raise EventLostError("an event of an object whose name cannot be read")
        self.show(thing, event.type)
        self.reach(metadata.resource_version)

    def show(self, thing: T | Skipped, event: str = "MODIFIED") -> None:
        """An object as the watch, or the answer to a call, shows it. One that is older than what is known is left."""
        metadata = metadata_of(thing)
        key, version = (metadata.namespace, metadata.name), number(metadata.resource_version)
        known = self.known.get(key)
        if event == "DELETED":
            if known is None or version == 0 or version >= known.version:
                self.hand_on(self.without(key, version))
        elif version == 0 or version > (known.version if known is not None else self.gone_at(key)):
            self.hand_on(self.having(key, version, thing))

    def take_list(self, things: list[T | Skipped], version: str, asked_s: float) -> None:
        """Objects as they were at a version. What is known to have happened later stays as it is."""
        reached = number(version) or sys.maxsize
        listed = {key_of(thing, place): thing for place, thing in enumerate(things)}
        # An object without a readable name may be any of those that are missing: then none of them counts as deleted.
        doubtful = any(name.startswith(NAMELESS) for _, name in listed)
        missing = [key for key, known in self.known.items() if key not in listed and known.version <= reached]
        changes: Changes[T] = []
        for key in missing:
            if not doubtful or key[1].startswith(NAMELESS):
                changes += self.without(key, number(version))
        # By version, which is the order in which it happened: a pod that has finished before the one in its place.
        for key, thing in sorted(listed.items(), key=lambda one: number(metadata_of(one[1]).resource_version)):
            own, known = number(metadata_of(thing).resource_version), self.known.get(key)
            if own == 0 or (own > known.version if known is not None else self.gone_at(key) <= reached):
                changes += self.having(key, own, thing)
        self.floor = max(self.floor, number(version))
        self.tombstones = {key: gone for key, gone in self.tombstones.items() if gone > self.floor}
        self.reach(version)
        first, self.listed = not self.listed, True
        self.contact_s = max(self.contact_s, asked_s)
        self.hand_on(changes, self.replace if first else None)
        self.after_list(asked_s)

    def reach(self, version: str) -> None:
        """Everything up to this version was shown."""
        if number(version) >= self.newest or not number(version):
            self.version = version or self.version
            self.newest = max(self.newest, number(version))

    def gone_at(self, key: Key) -> int:
        """The version at which an object that is not known was gone."""
        return max(self.tombstones.get(key, 0), self.floor)

    # ---- what is known, and the changes in it

    def having(self, key: Key, version: int, thing: T | Skipped) -> Changes[T]:
        """Keep an object; what follows for those who are told of changes."""
        before = self.known.get(key)
        if isinstance(thing, Skipped) and before is not None and not thing.metadata.uid:
            thing.metadata.uid = metadata_of(before.thing).uid
        self.known[key] = Known(version, thing)
        self.tombstones.pop(key, None)
        if before is None:
            return [("ADDED", thing)]
        if metadata_of(before.thing).uid != metadata_of(thing).uid:  # another object of this name
            return [("DELETED", before.thing), ("ADDED", thing)]
        if isinstance(before.thing, Skipped):
            return [] if before.thing.is_like(thing) else [(READABLE, before.thing), ("MODIFIED", thing)]
        return [("MODIFIED", thing)]

    def without(self, key: Key, version: int) -> Changes[T]:
        """An object is gone at a version, 0 if that is not known."""
        if version:
            self.tombstones[key] = max(version, self.tombstones.pop(key, 0))
        if len(self.tombstones) > TOMBSTONES:
            self.floor = max(self.floor, self.tombstones.pop(next(iter(self.tombstones))))
        before = self.known.pop(key, None)
        return [] if before is None else [("DELETED", before.thing)]

    def hand_on(self, changes: Changes[T], replace: Callable[[list[T]], None] | None = None) -> None:
        hand_to(self, changes, self.change, self.skip, replace)

    def show_again(
        self,
        change: Callable[[str, T], None],
        skip: Callable[[str, Skipped], None],
        replace: Callable[[list[T]], None] | None = None,
    ) -> None:
        """Show everything that is known to somebody who knows nothing yet."""
        changes: Changes[T] = [("ADDED", known.thing) for known in list(self.known.values())]
        hand_to(self, changes, change, skip, replace)

    def given_up(self, thing: T, fault: Exception) -> Skipped:
        """An object that we fail to read is treated as one that cannot be decoded."""
        skipped = skipped_object(msgspec.json.encode(thing), self.naming, f"cannot be read: {fault!r}")
        self.known[key_of(thing)] = Known(number(skipped.metadata.resource_version), skipped)
        return skipped


def hand_to(
    kind: Kind[T],
    changes: Changes[T],
    change: Callable[[str, T], None],
    skip: Callable[[str, Skipped], None],
    replace: Callable[[list[T]], None] | None,
) -> None:
    """`replace`: takes all objects that can be decoded at once."""
    if replace is not None:
        try:
            replace(kind.things())
            changes = [(event, thing) for event, thing in changes if isinstance(thing, Skipped)]
        except Exception:
            log.exception("%s, now one by one", kind.name)
    for event, thing in changes:
        if isinstance(thing, Skipped):
            skip(event, thing)
            continue
        try:
            change(event, thing)
        except Exception as fault:  # one object must not stop all others, whatever is wrong with it
            log.exception("%s %s", kind.name, "/".join(key_of(thing)).strip("/"))
            if event != "DELETED":
                skip("ADDED", kind.given_up(thing, fault))


def metadata_of(thing: Any) -> Metadata:
    found: Metadata = thing.metadata
    return found


def key_of(thing: Any, place: int = 0) -> Key:
    """Namespace and name; in place of a name that cannot be read, the place in the list."""
    metadata = metadata_of(thing)
    return metadata.namespace, metadata.name or f"{NAMELESS}{place}"


def number(version: str) -> int:
    """A resource version as a number; Kubernetes versions are decimal and grow. 0: not comparable."""
    return int(version) if version.isdecimal() else 0
