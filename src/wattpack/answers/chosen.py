"""Arguments that several answers have in Python: names of inputs, folders, plugins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from wattpack.errors import UserError
from wattpack.experiments.plugins import Plugin, import_file, read_plugins
from wattpack.experiments.spec.chosen import chosen_plugins

Plugins = str | Path | Iterable[str | Path | Plugin]


def named(given: object, what: str) -> str:
    """A built-in name or a path: where runs are kept, inputs are read again by what they are called."""
    if not isinstance(given, str | Path):
        raise UserError(f"{what}: of type {type(given).__name__}, expected a built-in name or the path of a CSV file")
    return str(given)


@contextmanager
def folder_of(out: str | Path | None) -> Iterator[Path]:
    """The folder given; without one a folder that is gone afterwards."""
    if out is not None:
        if not isinstance(out, str | Path) or str(out) == "":
            raise UserError(f"out: {out!r}, expected the path of a folder, or None to keep nothing")
        yield Path(out)
        return
    with TemporaryDirectory(prefix="wattpack-") as path:
        yield Path(path)


def imported_plugins(given: Plugins) -> list[str | Path | Plugin]:
    """The plugins, imported here: expressions may name the policies that they register."""
    files = chosen_plugins(given)
    for plugin in read_plugins(file for file in files if not isinstance(file, Plugin)):
        import_file(Path(plugin.path))
    return files
