"""Files that are whole or not there: written under a temporary name, then renamed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from wattpack.errors import UserError


def make_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UserError(f"{folder}: cannot be made ({fault.strerror}), expected a folder to write into") from None
    return folder


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Call `write(temporary)` and rename the result to `path`; a failure or Ctrl-C leaves neither."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        temporary.replace(path)
    except OSError as fault:
        raise UserError(f"{path}: cannot be written ({fault.strerror}), expected a writable path") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
