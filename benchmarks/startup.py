"""What a person waits for: help, the first compile, `compare` at defaults the first time and again, and its memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

HELP_REPEATS = 15


def wattpack(arguments: list[str], cache: str | None = None) -> tuple[float, float]:
    """Wall seconds and peak MiB of one command in a process of its own."""
    environment = dict(os.environ)
    if cache is not None:
        environment["WATTPACK_CACHE"] = cache
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # imports would take three times as long
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "wattpack", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        raise RuntimeError(f"wattpack {' '.join(arguments)} ended with {status}")
    kib = usage.ru_maxrss if sys.platform != "darwin" else usage.ru_maxrss / 1024
    return seconds, kib / 1024


def measure() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        cache = f"{folder}/cache"
        helps = [wattpack(["--help"], cache)[0] for _ in range(HELP_REPEATS)]
        cold, _ = wattpack(["compare", "--seeds", "1", "--out", f"{folder}/cold"], cache)
        one_seed, _ = wattpack(["compare", "--seeds", "1", "--out", f"{folder}/warm"], cache)
        full, memory = wattpack(["compare", "--out", f"{folder}/full"], cache)
        again, _ = wattpack(["compare", "--out", f"{folder}/full"], cache)
    return {
        "help_ms_median": round(statistics.median(helps) * 1e3, 1),
        "help_ms_best": round(min(helps) * 1e3, 1),
        "first_compile_s": round(cold - one_seed, 2),
        "compare_10_seeds_s": round(full, 2),
        "compare_again_s": round(again, 2),
        "compare_peak_mib": round(memory),
    }
