"""Checks of output paths before a command runs: a run of an hour must not end at a path that cannot be written.

An output that is one of the command's own inputs is refused, also by another name (a link, a hard link).
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout, suppress
from pathlib import Path

from wattpack.datasets import alibaba2023
from wattpack.datasets.edits import split_edits
from wattpack.datasets.sources import DATACENTERS
from wattpack.errors import UserError
from wattpack.files import inputs_read, is_standard_output, is_written_through, remove_leftovers, why

Input = str | Path | None  # a file, a built-in name, or not given
EXPERIMENT = (
    "experiment.json",
    "summary.csv",
    "report.html",
    "steady.csv",
    "time.csv",
    "time.html",
)  # what every experiment may write
PLAIN = "expected a file in a folder that is there and may be written to"


def check_files(outputs: Mapping[str, Path | None], inputs: Iterable[Input]) -> None:
    """Options and the files they name: each can be written, none is an input, no two are one."""
    given = {option: path for option, path in outputs.items() if path is not None}
    sources = _files(inputs)
    for option, path in given.items():
        if is_standard_output(path):
            continue
        _refuse_inputs(option, path, sources)
        if is_written_through(path):
            if not os.access(path, os.W_OK):
                raise UserError(f"{option} {path}: cannot be written, expected a device or FIFO that may be written to")
            continue
        _check_plain(option, path)
    options = list(given)
    for place, option in enumerate(options):
        for other in options[:place]:
            if _are_one(given[other], given[option]):
                raise UserError(f"{other} and {option}: both are {given[option]}, expected two files")


def check_folder(out: Path, names: Sequence[str], inputs: Iterable[Input]) -> None:
    """`--out` of commands that write several files: it is, or can become, a folder whose `names` may be replaced."""
    if str(out) == "-" or os.path.realpath(out) == out.absolute().anchor:
        raise UserError(f"--out {out}: not a folder for results, expected one of its own")
    try:
        there = _nearest(out.absolute())
        if not there.is_dir():
            raise UserError(f"--out {out}: {there} is a file, expected a folder to write into")
        if not os.access(there, os.W_OK | os.X_OK):
            raise UserError(f"--out {out}: {there} may not be written to, expected a folder to write into")
        for part in out.absolute().relative_to(there).parts:  # what is not there yet
            if len(os.fsencode(part)) > os.pathconf(there, "PC_NAME_MAX"):
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        in_the_way = [name for name in names if (out / name).is_dir()]
    except OSError as fault:
        raise UserError(f"--out {out}: cannot be made ({why(fault)}), expected a folder to write into") from None
    if in_the_way:
        raise UserError(f"--out {out}: {in_the_way[0]} in it is a folder, expected a file or nothing of this name")
    sources = _files(inputs)
    for name in names:
        _refuse_inputs("--out", out / name, sources)


def check_apart(out: Path, names: Sequence[str], option: str, file: Path | None) -> None:
    """`--out` is a folder with `names` in it, `option` a file: neither may take the other's place."""
    if file is None or is_written_through(file) or is_standard_output(file):
        return
    target, folder = Path(os.path.realpath(file)), Path(os.path.realpath(out))
    if target == folder or target in folder.parents:
        raise UserError(f"{option} {file}: --out {out} needs a folder there, expected a file of another name")
    if any(_are_one(file, out / name) for name in names):
        raise UserError(f"{option} {file}: --out {out} writes this file, expected a file of another name")


def words_beside(*outputs: Path | None) -> AbstractContextManager[object]:
    """If data go to standard output, messages for people go to stderr."""
    taken = any(path is not None and is_standard_output(path) for path in outputs)
    return redirect_stdout(sys.stderr) if taken else nullcontext()


def _check_plain(option: str, path: Path) -> None:
    target = Path(os.path.realpath(path))
    try:
        with suppress(FileNotFoundError):
            target.stat()
        if target.is_dir():
            raise UserError(f"{option} {path}: cannot be written (it is a folder), expected a file")
        if not target.parent.is_dir():
            raise UserError(f"{option} {path}: cannot be written (no folder {target.parent}), {PLAIN}")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise UserError(f"{option} {path}: cannot be written ({target.parent} may not be written to), {PLAIN}")
        remove_leftovers(target.parent)
    except OSError as fault:
        raise UserError(f"{option} {path}: cannot be written ({why(fault)}), {PLAIN}") from None


def _files(inputs: Iterable[Input]) -> list[Path]:
    """The files among `inputs`, and those that were read by now: a file may name others, as an experiment does."""
    names = (*DATACENTERS, *alibaba2023.TRACES)
    given = (split_edits(found)[0] if isinstance(found, str) else found for found in inputs)
    return [*(Path(found) for found in given if found is not None and str(found) not in names), *inputs_read()]


def _refuse_inputs(option: str, path: Path, inputs: Iterable[Path]) -> None:
    for source in inputs:
        if _are_one(path, source):
            raise UserError(f"{option} {path}: is the input {source} too, which would be lost, expected another file")


def _are_one(path: Path, other: Path) -> bool:
    """Whether two paths are one plain file, there or not; a device may well be given twice."""
    if is_standard_output(path) or is_standard_output(other):
        return is_standard_output(path) and is_standard_output(other)
    with suppress(OSError):
        if path.exists() and other.exists():
            return path.samefile(other) and path.is_file()
    return os.path.realpath(path) == os.path.realpath(other)


def _nearest(path: Path) -> Path:
    """The path, or its nearest parent that exists."""
    try:
        path.stat()
        return path
    except (FileNotFoundError, NotADirectoryError):
        return _nearest(path.parent)
