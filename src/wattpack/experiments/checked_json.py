"""Results stored as JSON, one object per file, with a checksum: a file that was cut or changed is not used."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wattpack.files import say, write_text

CHECKSUM = "crc32"


def write_checked(path: Path, content: Mapping[str, Any]) -> None:
    """Store an object of plain values; floats are read back to the last bit."""
    text = json.dumps({**content, CHECKSUM: _checksum(content)}, indent=1)
    write_text(path, text + "\n")


def read_checked(path: Path) -> dict[str, Any] | None:
    """The object without its checksum. None if the file is missing or, with a line on stderr, cannot be trusted."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        checksum = found.pop(CHECKSUM, None)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        say(f"{path}: cannot be read, made again")
        return None
    if checksum != _checksum(found):
        said = "of an earlier version, without a checksum" if checksum is None else "damaged, its checksum is another"
        say(f"{path}: {said}, made again")
        return None
    return dict(found)


def _checksum(content: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(content, sort_keys=True).encode()):08x}"
