"""Kernels that came with the package: machine code for a common processor, so that an installed wattpack need not
compile.

`tools/ship_kernels.py` makes the folder: all kernels for a wheel, those of `compare` when a checkout is set up. It is
used only if it was made from these sources, by this Python and numba, for a processor whose instructions this one has.
Otherwise kernels are compiled, as they are with `WATTPACK_KERNELS=compile`. Loading it runs what it holds, so it is
trusted as the sources beside it are.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numba
from llvmlite import binding as llvm

FOLDER = Path(__file__).parents[1] / "kernels"
ABOUT = "about.json"

# Machine -> the processor that kernels are made for, and what a processor must have to run them. x86-64-v3 is what
# servers have had since 2013 (Intel) and 2015 (AMD).
COMMON = {"x86_64": ("x86-64-v3", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"))}


class Target(NamedTuple):
    """What numba calls the magic tuple of a code generator: part of the key of everything it keeps."""

    triple: str
    processor: str
    features: str

    def magic_tuple(self) -> tuple[str, str, str]:
        return (self.triple, self.processor, self.features)


def made_by(source_digest: str) -> dict[str, str]:
    """What must be equal where kernels are made and where they are used."""
    python = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    return {"sources": source_digest, "python": python, "numba": numba.__version__, "machine": platform.machine()}


@cache
def shipped_target(source_digest: str) -> Target | None:
    """The target of the kernels in `FOLDER`, or None where there are none that can be used here."""
    if os.environ.get("WATTPACK_KERNELS") == "compile":
        return None
    try:
        about = json.loads((FOLDER / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(about, dict) or about.get("made_by") != made_by(source_digest):
        return None
    has = llvm.get_host_cpu_features()
    if not all(has.get(name) for name in COMMON[platform.machine()][1]):
        return None
    return Target(*about["target"])
