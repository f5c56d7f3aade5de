"""The one place that writes: plain files whole or not at all, devices and pipes as they are, folders for us alone.

Nothing here knows what is written. `write_whole` says what happens to a link, a device, a FIFO, standard output.
Who reads a file of the user's says so (`note_input`): no command writes to what it has read.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import BinaryIO

from wattpack.errors import RunError, UserError

ABANDONED_S = 3600.0  # a temporary file this old, of a process we cannot ask about, was left by one that was killed
STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
OPENED_ALREADY = ("/dev/std", "/dev/fd/", "/proc/")  # names of descriptors: written to, never replaced
FRESH_FOLDER = "WATTPACK_FRESH_FOLDER"  # variable that tells child processes of a private folder made for one command
NOT_THE_USERS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EPIPE)  # exit code 1, not 2


def say(text: str) -> None:
    """A line on stderr for the person who waits: something is not as usual, and the command goes on."""
    if sys.stderr is not None:
        print(f"wattpack: {' '.join(text.splitlines())}", file=sys.stderr, flush=True)


_inputs: dict[Path, Path] | None = None  # files that this command has read, and how they were named

_temporaries: set[Path] = set()  # files and folders that must not outlive the process


@contextlib.contextmanager
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
    with contextlib.suppress(OSError):  # the folder is no longer writable: what was wrong has been said
        path.unlink(missing_ok=True)


def make_folder(folder: Path) -> Path:
    """Make it if it is not there, and clear it of what killed commands left of ours."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder)
    except OSError as fault:
        raise UserError(f"{folder}: cannot be made ({why(fault)}), expected a folder to write into") from None
    return folder


def why(fault: OSError) -> str:
    return fault.strerror or type(fault).__name__


@contextlib.contextmanager
def inputs_kept() -> Iterator[None]:
    """For one command: a file that it has read as an input is not written to, whatever the output is called."""
    global _inputs
    before, _inputs = _inputs, {}
    try:
        yield
    finally:
        _inputs = before


def note_input(path: Path) -> None:
    """The user's file `path` is read. A file of our own that is read and written again is no input."""
    if _inputs is not None:
        _inputs.setdefault(Path(os.path.realpath(path)), path)


def inputs_read() -> list[Path]:
    return [] if _inputs is None else list(_inputs.values())


def _refuse_input(path: Path) -> None:
    """The same file by any name: links, hard links, `/dev/fd/3`. A device may well be read and written."""
    for real, named in list((_inputs or {}).items()):
        with contextlib.suppress(OSError):  # one of them is not there
            if path.samefile(real) and path.is_file():
                raise UserError(f"{path}: is the input {named} too, which would be lost, expected another file")


def is_standard_output(path: Path) -> bool:
    """Whether `path` names standard output, or the plain file that it goes to."""
    if str(path) in STANDARD_OUTPUT:
        return True
    try:
        found = path.stat()
        return stat.S_ISREG(found.st_mode) and os.path.samestat(found, os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):  # nothing there; a stdout that is no file, or closed
        return False


def write_whole(path: Path, write: Callable[[Path], object], durable: bool = True) -> None:
    """Call `write(temporary)` and put the result where `path` says.

    A plain file is replaced by renaming: a failure or Ctrl-C leaves the old one. A link stays, its file is replaced.
    A device or a FIFO is written to, `-` is standard output. `durable`: on the disk before this returns (5 to 8 ms:
    fsync of the file and its folder); without it a power cut may leave an empty file under the new name.
    """
    try:
        if is_standard_output(path):
            _write_to_stdout(write)
            return
        _refuse_input(path)
        if is_written_through(path):
            _write_through(path, write)
        else:
            _replace(Path(os.path.realpath(path)), write, durable)
    except OSError as fault:
        if fault.errno in NOT_THE_USERS:
            raise RunError(f"{path}: cannot be written ({why(fault)})") from None
        raise UserError(f"{path}: cannot be written ({why(fault)}), expected a writable path") from None


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def is_written_through(path: Path) -> bool:
    """Whether there is something at `path` that must not be replaced: a device, a FIFO, an open descriptor."""
    if str(path).startswith(OPENED_ALREADY):
        return True
    with contextlib.suppress(OSError):
        mode = path.stat().st_mode
        if stat.S_ISBLK(mode):
            raise UserError(f"{path}: a disk, expected a file, a FIFO or a character device")
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
    return False


def _replace(target: Path, write: Callable[[Path], object], durable: bool) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with temporary_path(target.parent / _temporary_name()) as temporary:
        write(temporary)
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        if durable:
            sync(temporary)
        temporary.replace(target)
        if durable:
            sync(target.parent)


def _write_to_stdout(write: Callable[[Path], object]) -> None:
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")
    sys.stdout.flush()
    with _made_aside(write) as made:
        shutil.copyfileobj(made, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _write_through(path: Path, write: Callable[[Path], object]) -> None:
    # Opened first: who waits at the other end of a FIFO waits no longer than needed, and what is not there is said.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as sink, _made_aside(write) as made:
        shutil.copyfileobj(made, sink)


@contextlib.contextmanager
def _made_aside(write: Callable[[Path], object]) -> Iterator[BinaryIO]:
    with temporary_path(Path(tempfile.mkdtemp(prefix="wattpack-"))) as folder:
        made = folder / "output"
        write(made)
        with made.open("rb") as opened:
            yield opened


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk: a power cut loses nothing of it."""
    with contextlib.suppress(PermissionError):  # a folder that may be written to but not read
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        except OSError as fault:
            if fault.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems, for folders
                raise
        finally:
            os.close(opened)


def sync_all(paths: Collection[Path]) -> None:
    """The same for many files of one folder, those that are still there.

    Sixteen at once share the disk's commits: 0.2 ms a file of 30 kB against 4 one after the other (200 files).
    """

    def sync_if_there(path: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            sync(path)

    if paths:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(sync_if_there, paths))
        for folder in {path.parent for path in paths}:
            sync_if_there(folder)


def _temporary_name() -> str:
    """`.wattpack-PROCESSES-RANDOM.PID.tmp`: short enough beside a file whose own name is as long as names may be."""
    return f".wattpack-{_process_space()}-{os.urandom(4).hex()}.{os.getpid()}.tmp"


@cache
def _process_space() -> str:
    """Where process ids mean what they mean here: this boot of this machine, this container. Empty if unknown."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return hashlib.sha256(f"{boot} {Path('/proc/self/ns/pid').stat().st_ino}".encode()).hexdigest()[:8]
    return ""


def remove_leftovers(folder: Path) -> None:
    """Remove our temporary files of commands that were killed: those of dead processes, and any that are old."""
    for leftover in folder.glob(".wattpack-*.tmp"):
        with contextlib.suppress(OSError):
            if _is_dead(leftover.name) or leftover.lstat().st_mtime < time.time() - ABANDONED_S:
                leftover.unlink()


def _is_dead(name: str) -> bool:
    space, pid = _process_space(), name.removesuffix(".tmp").rpartition(".")[2]
    if not space or not name.startswith(f".wattpack-{space}-") or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def make_private(folder: Path, *below: str) -> str:
    """Make `folder`, and a folder below it, ours alone (mode 0700); empty, or which of them is not and why.

    What lies in the last one will be run: pickles of compiled kernels, copies of plugins. So it is used only if it
    belongs to us, is no link, and nobody else could have written to it. Those above are closed before it is looked at.
    """
    for name in ("", *below):
        folder = folder / name
        try:
            fault = _make_private(folder, may_hold_more=name == "" and bool(below))
        except OSError as error:
            fault = f"cannot be written to ({why(error)})"
        if fault:
            return f"{folder}: {fault}"
    return ""


def _make_private(folder: Path, may_hold_more: bool) -> str:
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return "a link or no folder"
    if hasattr(os, "geteuid"):
        if found.st_uid != os.geteuid():
            return "belongs to another user"
        if found.st_mode & 0o022 and not may_hold_more:
            return "others could write to it, expected to delete it"
        if found.st_mode & 0o077:
            folder.chmod(0o700)
    with tempfile.TemporaryFile(dir=folder):
        return ""


def private_temporary_folder(name: str) -> Path:
    """A folder in the temporary folder for us alone: found again by the next command where that is safe.

    Where another user sits on its name, a fresh one for this command and the processes it starts, which is said.
    OSError where there is no temporary folder to write to.
    """
    shared = Path(tempfile.gettempdir()) / f"wattpack-{os.geteuid() if hasattr(os, 'geteuid') else 0}"
    given = os.environ.get(FRESH_FOLDER)  # by the process that started this one
    if given and not make_private(Path(given), name):
        return Path(given) / name
    if fault := make_private(shared, name):
        fresh = Path(tempfile.mkdtemp(prefix="wattpack-"))
        os.environ[FRESH_FOLDER] = str(fresh)
        atexit.register(_remove_if_maker, fresh, os.getpid())
        say(f"{fault}, not used; {fresh} takes its place for this command only")
        make_private(fresh, name)
        return fresh / name
    return shared / name


def _remove_if_maker(folder: Path, maker: int) -> None:
    if os.getpid() == maker:  # not a process that was forked from it
        shutil.rmtree(folder, ignore_errors=True)
