"""The control plane of the e2e tests, for benchmarks: its binaries, and the tests' own modules to drive it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[1]


@cache
def binaries(*more: str) -> Path:
    """Also `more`. Built on first use, 12 minutes; see tools/controlplane/build.sh."""
    command: list[str | Path] = [
        ROOT / "tools" / "controlplane" / "build.sh",
        "etcd",
        "kube-apiserver",
        "kube-scheduler",
        *more,
    ]
    return Path(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


@cache
def e2e() -> Any:
    """The modules of tests/e2e that benchmarks use."""
    sys.path.insert(0, str(ROOT / "tests"))
    names = ("cluster", "service", "live_run", "nodes_and_pods", "claim_scene")
    return SimpleNamespace(**{name: importlib.import_module(f"e2e.{name}") for name in names})
