"""Decode what the API server sends, one object at a time, so that one bad object does not stop all others.

An object is read in three steps: as it is; without nulls and without what is nested very deeply (its managedFields may
be), which nobody reads; and if that fails as well, only its name and the nodes that it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from wattpack.kube.objects import FAULTS, ListMetadata, Metadata, Object, WatchEvent

T = TypeVar("T")
Key = tuple[str, str]  # namespace and name
DEEPEST = 100  # levels of an object that are read; a pod has about 15, and decoders fail at 1,000
NODE_NAME = ("nodeName",)  # members that name a node
TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)  # a string, so that brackets in it do not count
SEPARATOR = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{},]', re.DOTALL)
MEMBER = re.compile(rb'\s*"([^"\\]*)"\s*:\s*', re.DOTALL)
ANYTHING: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


class Page(Object):
    """One page of a list, its items undecoded. An answer without items is no list, and not an empty one."""

    items: list[msgspec.Raw] | None
    metadata: ListMetadata = msgspec.field(default_factory=ListMetadata)


PAGE = msgspec.json.Decoder(Page)
WATCH_EVENT = msgspec.json.Decoder(WatchEvent)


class Skipped(NamedTuple):
    """An object that cannot be decoded, and what could be read of it."""

    metadata: Metadata  # only its name, namespace, uid and version; "" where they cannot be read
    nodes: tuple[str, ...]  # nodes that it names: it may be on them, or hold devices of theirs
    phase: str
    why: str

    def is_like(self, other: object) -> bool:
        """Whether the other is this one in another version."""
        return isinstance(other, Skipped) and self[1:] == other[1:]

    @property
    def key(self) -> Key:
        return self.metadata.namespace, self.metadata.name

    @property
    def id(self) -> str:
        """Its uid, or its name if that cannot be read."""
        return self.metadata.uid or "/".join(self.key)


def read_object(decoder: msgspec.json.Decoder[T], text: bytes, naming: tuple[str, ...] = NODE_NAME) -> T | Skipped:
    """The object, or what could be read of it. `naming`: members whose values are names of nodes."""
    try:
        return decoder.decode(text)
    except FAULTS as fault:
        why = f"cannot be decoded: {fault}"
    value, is_whole = loosely(text)
    if is_whole:
        try:
            return msgspec.convert(value, decoder.type)
        except FAULTS:
            pass
    return skipped_object(text, naming, why)


def skipped_object(text: bytes, naming: tuple[str, ...], why: str) -> Skipped:
    value = loosely(text)[0]
    phase = value["status"].get("phase") if isinstance(value.get("status"), dict) else ""
    member = rb'"(?:%b)"\s*:\s*"([a-z0-9.-]+)"' % "|".join(naming).encode()
    nodes = {name.decode() for name in re.findall(member, text)}
    return Skipped(metadata_in(value), tuple(sorted(nodes)), phase if isinstance(phase, str) else "", why)


def metadata_in(value: dict[str, Any]) -> Metadata:
    metadata = value.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    found = [known.get(name) for name in ("name", "namespace", "uid", "resourceVersion")]
    name, namespace, uid, version = (part if isinstance(part, str) else "" for part in found)
    return Metadata(name=name, namespace=namespace, uid=uid, resource_version=version)


def loosely(text: bytes) -> tuple[dict[str, Any], bool]:
    """An object as plain values without nulls, which mean in Kubernetes that nothing is given.

    Of text that is no JSON only the members that are: then it is not the whole object.
    """
    text = shallow(bytes(text))
    try:
        value, is_whole = ANYTHING.decode(text), True
    except FAULTS:
        value, is_whole = readable_members(text.decode(errors="replace").encode()), False
    found = without_nulls(value)
    return (found, is_whole) if isinstance(found, dict) else ({}, False)


def readable_members(text: bytes) -> dict[str, Any]:
    value: dict[str, Any] = {}
    try:
        parts = members(text)
    except ValueError:
        return value
    for name, part in parts.items():
        try:
            value[name] = ANYTHING.decode(part)
        except FAULTS:
            value[name] = readable_members(part)
    return value


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [without_nulls(part) for part in value if part is not None]
    return value


def shallow(text: bytes) -> bytes:
    """The text with `false` in place of what is nested more than `DEEPEST` levels deep.

    A field that we read is then of a wrong type, and its object is not taken for one without that field.
    """
    kept, depth, start = [], 0, 0
    for found in TOKEN.finditer(text):
        token = found[0]
        if token in (b"{", b"["):
            depth += 1
            if depth == DEEPEST:
                kept += [text[start : found.start()], b"false"]
        elif token in (b"}", b"]"):
            if depth == DEEPEST:
                start = found.end()
            depth -= 1
    return b"".join([*kept, text[start:]]) if kept and depth < DEEPEST else text


def elements(text: bytes) -> list[bytes]:
    """Elements of an array, or members of an object, that need not be JSON themselves; none of anything else.

    Raises ValueError if its end is missing.
    """
    found, depth, start = [], 0, 0
    for part in SEPARATOR.finditer(text):
        if part[0] in (b"[", b"{"):
            depth += 1
            start = part.end() if depth == 1 else start
        elif part[0] in (b"]", b"}"):
            depth -= 1
        if depth == 0 or (depth == 1 and part[0] == b","):
            found.append(text[start : part.start()])
            start = part.end()
        if depth == 0:
            break
    if depth:
        raise ValueError("the end is missing")
    return [one for one in found if one.strip()]


def members(text: bytes) -> dict[str, bytes]:
    """Members of an object by name; their values need not be JSON."""
    found = {}
    for one in elements(text):
        if name := MEMBER.match(one):
            found[name[1].decode()] = one[name.end() :]
    return found


def read_page(text: bytes) -> Page:
    """A page of a list; raises one of `FAULTS` if it is none."""
    return decode_or_split(text, PAGE, lambda parts: {"items": [raw(one) for one in items_of(parts)]})


def items_of(parts: dict[str, bytes]) -> list[bytes]:
    """Raises ValueError or KeyError if there is no array of items."""
    if not parts["items"].lstrip().startswith(b"["):
        raise ValueError("items are no array")
    return elements(parts["items"])


def read_event(text: bytes) -> WatchEvent:
    """An event of a watch; raises one of `FAULTS` if it is none."""
    return decode_or_split(text, WATCH_EVENT, lambda parts: {"object": raw(parts["object"])})


def decode_or_split(
    text: bytes, decoder: msgspec.json.Decoder[T], undecoded: Callable[[dict[str, bytes]], dict[str, Any]]
) -> T:
    """Decode the envelope of objects, even if one of them is no JSON or too deep. `undecoded`: those members."""
    try:
        return decoder.decode(text)
    except FAULTS as fault:
        text = shallow(text)
        try:
            return decoder.decode(text)
        except FAULTS:
            try:
                parts = members(text)
                objects = undecoded(parts)
                rest = {name: ANYTHING.decode(part) for name, part in parts.items() if name not in objects}
            except (KeyError, ValueError, *FAULTS):
                raise fault from None
            return msgspec.convert({**rest, **objects}, decoder.type)


def raw(text: bytes) -> msgspec.Raw:
    return msgspec.Raw(text)
