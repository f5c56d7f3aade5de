"""Files that people name, read whole within a limit: what is larger is refused before memory is taken."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from wattpack.errors import UserError
from wattpack.files import note_input

MAX_STREAM_BYTES = 100_000_000  # of a pipe or a device, whose size nobody knows before: /dev/zero has no end


def read_bytes_up_to(path: Path, most: int, expected: str) -> bytes:
    """The whole file; a fault is one line that says what was `expected`."""
    try:
        with path.open("rb") as file:
            note_input(path)
            about = os.fstat(file.fileno())
            size = about.st_size
            if not stat.S_ISREG(about.st_mode):
                most = min(most, MAX_STREAM_BYTES)
            data = b"" if size > most else file.read(most + 1)
    except OSError as fault:
        raise UserError(f"{path}: cannot be read ({fault.strerror}), expected {expected}") from None
    if size > most or len(data) > most:
        held = f"{size:,}" if size > most else f"more than {most:,}"
        raise UserError(f"{path}: {held} bytes, expected {expected} of at most {most:,}")
    return data
