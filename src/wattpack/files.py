"""Files that are whole or not there: written under a temporary name, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wattpack.errors import UserError

_temporaries: set[Path] = set()  # files and folders that must not outlive the process


@contextmanager
def temporary_path(path: Path) -> Iterator[Path]:
    """A file or folder that is gone afterwards, also where Ctrl-C ends the process at once."""
    _temporaries.add(path)
    try:
        yield path
    finally:
        _remove(path)
        _temporaries.discard(path)


def remove_temporaries() -> None:
    """For a process that is about to end without unwinding."""
    for path in list(_temporaries):
        _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):  # the folder is no longer writable: what was wrong has been said
        path.unlink(missing_ok=True)


def make_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UserError(f"{folder}: cannot be made ({fault.strerror}), expected a folder to write into") from None
    return folder


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Call `write(temporary)` and rename the result to `path`; a failure or Ctrl-C leaves neither."""
    with temporary_path(path.with_name(f".{path.name}.{os.getpid()}.tmp")) as temporary:
        try:
            write(temporary)
            temporary.replace(path)
        except OSError as fault:
            raise UserError(f"{path}: cannot be written ({fault.strerror}), expected a writable path") from None


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
