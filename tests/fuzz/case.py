"""A case of the fuzz tests: the files of a folder, a command line, and what is known of its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Link:
    """A symbolic link; the target need not be there."""

    target: str


@dataclass(frozen=True)
class Folder:
    """An empty folder."""


Entry = bytes | Link | Folder


@dataclass(frozen=True)
class Case:
    """A command in a folder of its own. Everything in `files` is an input but what `outputs` names."""

    words: tuple[str, ...]
    files: Mapping[str, Entry] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()  # existing entries, and folders with all below them, that the command may write
    environment: Mapping[str, str] = field(default_factory=dict)
    full: bool = False  # stdout is a disk that is full


def lay_out(case: Case, folder: Path) -> None:
    """Make the files of the case below `folder`."""
    for name, entry in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(entry, Link):
            path.symlink_to(entry.target)
        elif isinstance(entry, Folder):
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(entry)


def tree(folder: Path) -> dict[str, Entry]:
    """All that is below `folder`, by relative path, but Python's own `__pycache__`. Links are not followed."""
    found: dict[str, Entry] = {}
    for path in sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = Link(str(path.readlink()))
        elif path.is_dir():
            found[name] = Folder()
        else:
            found[name] = path.read_bytes()
    return found
