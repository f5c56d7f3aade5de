"""Bounds solved ahead, in a process of their own, while runs are compiled and run: they need no run's result.

The first `compare` on a machine compiles on one core for most of its time; the bound takes the other.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from wattpack.experiments.bound.curves import solve_bound
from wattpack.experiments.executors import usable_cores
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.tasks import Workload


@contextmanager
def bounds_ahead(
    datacenter: Datacenter, traces: Mapping[str, Workload], folder: Path, profile: PowerProfile = PAPER
) -> Iterator[None]:
    """Solve the bounds of `traces` beside what is done inside, and keep them in `folder`, where `with_bound` looks.

    With one core nothing is started. If the process fails, `with_bound` solves what is missing.
    """
    if usable_cores() < 2 or not traces:
        yield
        return
    code = f"from {__name__} import solve_in_child; solve_in_child()"
    silent = subprocess.DEVNULL
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=silent, stderr=silent)
    assert child.stdin is not None
    try:
        with suppress(BrokenPipeError):  # it could not start
            child.stdin.write(pickle.dumps((datacenter, dict(traces), folder.absolute(), profile)))
            child.stdin.flush()
        yield
        child.wait()
    finally:
        child.kill()
        with suppress(BrokenPipeError):
            child.stdin.close()
        child.wait()


def solve_in_child() -> None:
    """What the process does: standard input holds the arguments of `bounds_ahead`, and ends when the parent does."""
    datacenter, traces, folder, profile = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while not (folder / "experiment.json").exists():  # written when all inputs have been found good
        time.sleep(0.05)
    for name, trace in traces.items():
        solve_bound(name, datacenter, trace, folder, profile)


def _end_with_parent() -> None:
    """However the parent ends, its end of the pipe closes."""
    sys.stdin.buffer.read()
    os._exit(1)
