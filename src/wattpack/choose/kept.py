"""Choices kept in the user's cache folder, beside the compiled kernels and by the same rules: a folder that is ours
alone. Without such a folder every command chooses again, which takes a second or two."""

from __future__ import annotations

import contextlib
import json
import zlib
from pathlib import Path
from typing import Any

from wattpack.errors import UserError
from wattpack.files import make_private, write_text
from wattpack.jit import cache

MOST_FILES = 1000  # about 2 kB each; the oldest are removed


def kept_folder() -> Path | None:
    """None where there is no folder that is ours alone."""
    if cache.FOLDER is None or make_private(cache.FOLDER.parent, "choices"):
        return None
    return cache.FOLDER.parent / "choices"


def read_kept(name: str) -> dict[str, Any] | None:
    """What was kept under this name; None where nothing is, or it is not what was written."""
    folder = kept_folder()
    if folder is None:
        return None
    try:
        found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        content = found["content"]
        whole = found["crc32"] == _checksum(content)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return content if whole and isinstance(content, dict) else None


def write_kept(name: str, content: dict[str, Any]) -> None:
    """Keep it; a full disk or a folder that went away costs a choice next time, nothing more."""
    folder = kept_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError, UserError):
        files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)
        for file in files[: max(0, len(files) - MOST_FILES + 1)]:
            file.unlink(missing_ok=True)
        write_text(folder / f"{name}.json", json.dumps({"content": content, "crc32": _checksum(content)}) + "\n")


def _checksum(content: Any) -> str:
    return f"{zlib.crc32(json.dumps(content, sort_keys=True).encode()):08x}"
