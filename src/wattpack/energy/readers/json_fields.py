"""JSON documents of unknown shape: decoded within limits, entries numbered from 1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from wattpack.energy.readers.points import Points
from wattpack.errors import UserError

MAX_JSON_BYTES = 100_000_000  # decoded, a document takes some 10 times as much memory
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def decoded(data: bytes, file: Path) -> Any:
    if len(data) > MAX_JSON_BYTES:
        raise UserError(f"{file}: {len(data):,} bytes, expected JSON of at most {MAX_JSON_BYTES:,}")
    try:
        return msgspec.json.decode(data.removeprefix(BYTE_ORDER_MARK))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        said = str(fault).splitlines()[0][:100]
        raise UserError(f"{file}: not JSON ({said}), expected a JSON document") from None


def is_list_with(found: Any, key: str) -> bool:
    """Whether it is a list whose first entry is an object that has `key`."""
    return isinstance(found, list) and len(found) > 0 and isinstance(found[0], dict) and key in found[0]


def entries(found: Any, points: Points, before: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a list, numbered from `before` + 1."""
    if not isinstance(found, list):
        raise points.fault(before + 1, "data", found, "a list")
    for number, entry in enumerate(found, before + 1):
        if not isinstance(entry, dict):
            raise points.fault(number, "entry", entry, "an object")
        yield number, entry


def lower_keys(found: dict[str, Any]) -> dict[str, Any]:
    return {key.lower(): value for key, value in found.items()}
