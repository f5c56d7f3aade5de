"""What kernels are made of, and its digest. Imports nothing of ours, so that tools can load it without numba."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

# What kernels are made of. An edit anywhere else keeps the compiled kernels (tests/test_layers.py checks the list).
KERNEL_SOURCES = ("jit", "model", "policies", "engine", "optimise", "kube/extender_json.py")


def source_digest(folder: Path, parts: Sequence[str] = ("",)) -> str:
    """Digest of the Python sources under `folder`, or only of these parts of it.

    numba checks only the file of the function itself for changes; a callee edited in another file would give the old
    result (measured). A cache folder named after this digest cannot go stale.
    """
    digest = hashlib.sha256()
    files = {
        file
        for part in parts
        for file in ((folder / part).rglob("*.py") if (folder / part).is_dir() else [folder / part])
    }
    for path in sorted(files):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


DIGEST = source_digest(Path(__file__).parents[1], KERNEL_SOURCES)
