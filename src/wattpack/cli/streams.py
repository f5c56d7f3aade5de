"""Standard output and stderr may close before the command ends: `| head -1`, a full disk, `>&-`."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class OutputEndedError(Exception):
    """Standard output was closed. Not an OSError, so that no handler mistakes it for a faulty file."""

    def __init__(self, fault: OSError) -> None:
        said = f"cannot write to standard output ({fault.strerror or type(fault).__name__})"
        super().__init__(said)
        self.message = "" if fault.errno == errno.EPIPE else said  # quiet where its reader has seen enough


class _Stdout(io.FileIO):
    """Raises once when its end comes, then swallows what is left in buffers: Python flushes them as it ends."""

    ended = False

    def write(self, data: Any) -> int:
        if self.ended:
            return len(data)
        try:
            return super().write(data)
        except OSError as fault:
            self.ended = True
            raise OutputEndedError(fault) from None


class _Stderr(io.FileIO):
    """Ignores write errors: a message that cannot be printed must not stop a run."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


_kept: list[str] | None = None  # notes that wait for the end of `notes_after`


def note(text: str) -> None:
    """Print a note on stderr, always as one line, even if a file name in it has line breaks."""
    line = " ".join(text.splitlines())
    if _kept is None:
        print(line, file=sys.stderr)
    else:
        _kept.append(line)


@contextmanager
def notes_after() -> Iterator[None]:
    """Notes from within are printed at the end; after an error they are not, as it must be the only line."""
    global _kept
    _kept = []
    try:
        yield
        lines = _kept
    finally:
        _kept = None
    for line in lines:
        note(line)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Within, `print` to stdout raises OutputEndedError where it fails, and to stderr never fails.

    Streams that someone else has put in place (a test, a notebook) are left alone. A stdout that was closed stays None:
    words are not printed, data for it are refused.
    """
    before = sys.stdout, sys.stderr
    if sys.stdout is not None and sys.stdout is sys.__stdout__:
        sys.stdout = _over(sys.stdout, _Stdout, 1)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _over(sys.stderr, _Stderr, 2)
    try:
        yield
    finally:
        flush()
        sys.stdout, sys.stderr = before


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _over(stream: TextIO | None, kind: type[io.FileIO], descriptor: int) -> TextIO:
    """The stream again, over a descriptor of our kind, with its encoding and buffering.

    Letters that it cannot encode (a node's name where only ASCII is printed, a file name that is no UTF-8) are escaped,
    as Python does on stderr: a table with `\\xfc` in it is better than none.
    """
    raw = kind(descriptor, "wb", closefd=False)
    if not isinstance(stream, io.TextIOWrapper):  # None: it was closed when we started
        return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="replace")
    stream.flush()
    errors = "backslashreplace" if stream.errors in ("strict", "surrogateescape") else stream.errors
    if stream.write_through:  # PYTHONUNBUFFERED
        return io.TextIOWrapper(raw, stream.encoding, errors, write_through=True)
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, errors, line_buffering=stream.line_buffering)
