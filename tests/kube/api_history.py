"""What an API server in memory remembers: every version of every object, so that lists and watches can be late.

Versions count up over all kinds, as etcd's do. Tests change the tables as they like; `note` finds what has changed and
gives it the next version, as a write to a real server would.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import msgspec

from wattpack.kube.client import ApiError

Thing = dict[str, Any]
Table = dict[str, Thing]  # by name; a field may be `msgspec.Raw`, which is sent as it is, even if it is no JSON
GONE = 410
POLL_S = 0.001


class Written(NamedTuple):
    """One write: an event of a watch."""

    version: int
    kind: str  # of objects, as in their path: "pods"
    event: str  # ADDED, MODIFIED, DELETED
    name: str
    text: bytes  # the object; a deleted one has the version of its deletion

    @property
    def line(self) -> bytes:
        return b'{"type":"%b","object":%b}' % (self.event.encode(), self.text)


@dataclass
class Faults:
    """How the server's answers about one kind are wrong; all of it may be changed at any time."""

    list_at: int | None = None  # lists are answered as of this version, however old that is
    list_waits: asyncio.Event | None = None  # a list is made when it is asked for, and answered when this is set
    lists_fail: bool = False
    watch_to: int | None = None  # watches lag: nothing newer than this version is shown
    silent: bool = False  # watches are open and send nothing, old ones and new ones
    repeat: int = 0  # watches begin this many versions before the one asked for
    gone: bool = False  # watches end with 410 until a list was answered
    gone_as_event: bool = True  # 410 comes in the watch; or it is the status of the answer
    close: bool = False  # watches end now, as after timeoutSeconds; and those asked for later, at once
    extra: list[bytes] = field(default_factory=list)  # lines that the watch sends next, whatever they are


class History:
    """Tables with versions. A subclass names its tables."""

    def __init__(self) -> None:
        self.version = 0
        self.history: list[Written] = []
        self.faults: dict[str, Faults] = {}
        self.lists: list[tuple[str, int]] = []  # kind and version of every list that was answered
        self.watches: list[tuple[str, int]] = []  # kind of every watch that was opened, and the version asked for
        self._noted: dict[tuple[str, str], tuple[int, bytes]] = {}  # version and content without it
        self._changed = asyncio.Event()

    def tables(self) -> dict[str, Table]:
        raise NotImplementedError

    def fault(self, kind: str) -> Faults:
        return self.faults.setdefault(kind, Faults())

    # ---- writes

    def note(self) -> int:
        """Give what tests have changed its version; the version reached."""
        changed = []  # (own version or infinity, kind, event, name, thing)
        for kind, table in self.tables().items():
            for name, thing in table.items():
                known = self._noted.get((kind, name))
                own, content = parts_of(thing)
                if known is None or known[1] != content or own > known[0]:
                    # Some writers give versions themselves.
                    new = own if own > (known[0] if known else 0) and not self.is_used(own) else 0
                    changed.append((new or float("inf"), kind, "MODIFIED" if known else "ADDED", name, thing))
            gone = [name for known_kind, name in self._noted if known_kind == kind and name not in table]
            changed += [(float("inf"), kind, "DELETED", name, {}) for name in gone]
        for own_version, kind, event, name, thing in sorted(changed, key=lambda one: one[0]):
            if own_version == float("inf"):
                self.version += 1
            version = self.version if own_version == float("inf") else int(own_version)
            self._write(version, kind, event, name, thing)
        return self.version

    def is_used(self, version: int) -> bool:
        return bool(self.history) and version <= self.history[-1].version

    def _write(self, version: int, kind: str, event: str, name: str, thing: Thing) -> None:
        if event == "DELETED":
            last = next(one for one in reversed(self.history) if (one.kind, one.name) == (kind, name))
            before = b'"resourceVersion":"%d"' % last.version
            text = last.text.replace(before, b'"resourceVersion":"%d"' % version, 1)
            del self._noted[kind, name]
        else:
            thing["metadata"]["resourceVersion"] = str(version)
            text = msgspec.json.encode(thing)
            self._noted[kind, name] = version, parts_of(thing)[1]
        self.history.append(Written(version, kind, event, name, text))

    def skip_versions(self, count: int) -> None:
        """Other kinds are written, which nobody here watches."""
        self.note()
        self.version += count

    # ---- lists

    def at(self, kind: str, version: int) -> dict[str, bytes]:
        """The objects as they were at a version."""
        found: dict[str, bytes] = {}
        for one in self.history:
            if one.version > version:
                break
            if one.kind == kind:
                found.pop(one.name, None)
                if one.event != "DELETED":
                    found[one.name] = one.text
        return found

    async def answer_list(self, kind: str, query: str) -> bytes:
        """A list, page by page where a limit is given; of one node's pods where a field selector is."""
        asked = {key: values[0] for key, values in parse_qs(query).items()}
        now, fault = self.note(), self.fault(kind)
        version = now if fault.list_at is None else fault.list_at
        start = 0
        if "continue" in asked:
            start, version = (int(part) for part in asked["continue"].split("-"))
        texts = list(self.at(kind, version).values())
        for wish in filter(None, asked.get("fieldSelector", "").split(",")):
            path, _, value = wish.partition("=")
            texts = [text for text in texts if field_of(text, path) == value]
        stop = start + int(asked.get("limit", len(texts)) or len(texts))
        more = {"continue": f"{stop}-{version}"} if stop < len(texts) else {}
        if fault.list_waits is not None:
            await fault.list_waits.wait()
        if fault.lists_fail:
            raise ApiError(0, "connection reset")
        self.lists.append((kind, version))
        fault.gone = False
        metadata = msgspec.json.encode({"resourceVersion": str(version), **more})
        return b'{"kind":"List","metadata":%b,"items":[%b]}' % (metadata, b",".join(texts[start:stop]))

    # ---- watches

    def lines(self, kind: str, since: int) -> list[bytes]:
        """Events after a version, as far as the watch shows them."""
        self.note()
        to = self.fault(kind).watch_to
        return [
            one.line
            for one in self.history
            if one.kind == kind and one.version > since and (to is None or one.version <= to)
        ]

    def bookmark(self, kind: str, version: int | None = None) -> bytes:
        """A line; put it into `extra` to have it sent."""
        reached = self.note() if version is None else version
        metadata = {"resourceVersion": str(reached)}
        return msgspec.json.encode({"type": "BOOKMARK", "object": {"kind": kind, "metadata": metadata}})

    async def answer_watch(self, kind: str, version: str, silence_s: float) -> AsyncIterator[bytes]:
        """Lines of a watch, the first one empty; ends as real ones do, silence with TimeoutError."""
        fault = self.fault(kind)
        if fault.gone and not fault.gone_as_event:
            raise ApiError(GONE, "too old resource version")
        since = int(version)
        self.watches.append((kind, since))
        since -= fault.repeat
        if not fault.silent:
            yield b""
        silent_since_s = asyncio.get_running_loop().time()
        while True:
            await asyncio.sleep(POLL_S)
            if fault.silent:
                if asyncio.get_running_loop().time() - silent_since_s > silence_s:
                    raise TimeoutError
                continue
            if fault.close:
                return
            if fault.gone:
                status = b'{"kind":"Status","code":410,"message":"too old resource version"}'
                yield b'{"type":"ERROR","object":%b}' % status
                return
            lines, fault.extra = fault.extra + self.lines(kind, since), []
            since = max([since, *(one.version for one in self.history if one.kind == kind and self.is_shown(one))])
            for line in lines:
                silent_since_s = asyncio.get_running_loop().time()
                yield line

    def is_shown(self, one: Written) -> bool:
        to = self.fault(one.kind).watch_to
        return to is None or one.version <= to


def parts_of(thing: Thing) -> tuple[int, bytes]:
    """The version that an object has, and the rest of it."""
    metadata = dict(thing["metadata"])
    version = str(metadata.pop("resourceVersion", "0"))
    return int(version) if version.isdecimal() else 0, msgspec.json.encode({**thing, "metadata": metadata})


def field_of(text: bytes, path: str) -> str:
    value: Any = msgspec.json.decode(text)
    for part in path.split("."):
        value = (value or {}).get(part)
    return str(value or "")
