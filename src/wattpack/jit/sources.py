"""Digests of our own sources: what kernels are made of, and what a module uses.

Imports nothing of ours, so that tools can load it without numba.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]

# What kernels are made of. An edit anywhere else keeps the compiled kernels (tests/test_layers.py checks the list).
KERNEL_SOURCES = ("jit", "model", "policies", "engine", "optimise", "kube/extender_json.py")

# Import statements of ours, also those inside functions. By pattern: `ast` takes 4 ms a file, this 0.04 ms; a test
# compares both on every file of the package. Text that only looks like an import adds a module at worst.
IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(wattpack[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(wattpack[^\n]*))", re.M
)
FOR_TYPE_CHECKERS = re.compile(rb"^if TYPE_CHECKING:[^\n]*\n(?:(?:[ \t]+[^\n]*)?\n)+", re.M)
REMARK = re.compile(rb"#[^\n]*")


def source_digest(folder: Path, parts: Sequence[str] = ("",)) -> str:
    """Digest of the Python sources under `folder`, or only of these parts of it.

    numba checks only the file of the function itself for changes; a callee edited in another file would give the old
    result (measured). A cache folder named after this digest cannot go stale.
    """
    files = {
        file
        for part in parts
        for file in ((folder / part).rglob("*.py") if (folder / part).is_dir() else [folder / part])
    }
    return _digest_of(folder, {path: path.read_bytes() for path in files})


def closure_digest(
    modules: Iterable[str], package: Path = PACKAGE, read: Callable[[Path], bytes] = Path.read_bytes
) -> str:
    """Digest of these modules and of everything of ours that they import, and so on: of all code that they can run."""
    return _digest_of(package, closure(modules, package, read))


def closure(
    modules: Iterable[str], package: Path = PACKAGE, read: Callable[[Path], bytes] = Path.read_bytes
) -> dict[Path, bytes]:
    """The files of these modules and of everything of ours that they import, and so on, with their contents.

    Imports inside functions count, those for type checkers do not. To import `a.b.c` runs the `__init__` of `a` and
    `a.b`, so these count too. Names that the front door looks up when they are used are no imports of it.
    """
    is_package = cache(lambda name: package.joinpath(*name.split(".")[1:]).is_dir())
    found: dict[Path, bytes] = {}
    to_visit, seen = list(modules), set[str]()
    while to_visit:
        name = to_visit.pop()
        if name in seen:
            continue
        seen.add(name)
        to_visit += [name.rpartition(".")[0]] if "." in name else []
        place = package.joinpath(*name.split(".")[1:])
        file = place / "__init__.py" if is_package(name) else place.with_suffix(".py")
        if file.is_file():  # else a name that a module defines
            found[file] = read(file)
            to_visit += imported(found[file], is_package)
    return found


def imported(source: bytes, is_package: Callable[[str], bool]) -> set[str]:
    """Full names of the modules of ours that a source imports when it runs; some may be other names of a package."""
    found = set[str]()
    for module, names, plain in IMPORT.findall(FOR_TYPE_CHECKERS.sub(b"", source)):
        if plain:
            found |= {one.split()[0] for one in REMARK.sub(b"", plain).decode().split(",")}
            continue
        found.add(name := module.decode())
        if is_package(name):  # `from wattpack.engine.core import state` imports a module
            listed = REMARK.sub(b"", names).decode().strip("() \t\n").split(",")
            found |= {f"{name}.{one.split()[0]}" for one in listed if one.strip()}
    return found


def _digest_of(folder: Path, contents: dict[Path, bytes]) -> str:
    digest = hashlib.sha256()
    for path in sorted(contents):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + contents[path] + b"\0")
    return digest.hexdigest()[:16]


DIGEST = source_digest(PACKAGE, KERNEL_SOURCES)
