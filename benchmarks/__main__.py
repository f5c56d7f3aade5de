"""`python -m benchmarks [NAME ...] [--out FOLDER]`; all by default. NAME: see NAMES.

`python -m benchmarks fleets [OPTIONS]` tries policies on random fleets, `python -m benchmarks month [OPTIONS]` runs
them in time, `python -m benchmarks sleep [OPTIONS]` with nodes that sleep, `python -m benchmarks schedulers [OPTIONS]`
compares the schedulers that people run; they have options of their own and are none of all.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import shutil
import sys
import time
from pathlib import Path

from benchmarks.machine import machine
from wattpack.files import make_folder, write_text

NAMES = (
    "run",
    "startup",
    "scaling",
    "time",
    "sleep_speed",
    "learning",
    "paper",
    "sweep",
    "extender",
    "live",
    "claims",
    "map",
)


def can_have_control_plane() -> bool:
    serves = all(importlib.util.find_spec(package) is not None for package in ("aiohttp", "yaml"))
    return serves and ("KUBEBUILDER_ASSETS" in os.environ or shutil.which("go") is not None)


def can_have_browser() -> bool:
    return os.path.exists("/usr/bin/chromium") and importlib.util.find_spec("playwright") is not None


def main() -> None:
    if sys.argv[1:2] in (["fleets"], ["month"], ["sleep"], ["schedulers"]):
        importlib.import_module(f"benchmarks.{sys.argv[1]}").main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones: {', '.join(NAMES)}; default: all")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for NAME.json")
    chosen = parser.parse_args()
    for name in chosen.names or NAMES:
        if name not in NAMES:
            parser.error(f"unknown benchmark {name!r}, expected one of {', '.join(NAMES)}")
        if name == "sweep" and importlib.util.find_spec("distributed") is None:
            print("sweep left out: Dask is not installed (pip install 'wattpack[dask]')")
            continue
        if name in ("extender", "live", "claims") and not can_have_control_plane():
            print(f"{name} left out: no control plane (Go is not installed, and KUBEBUILDER_ASSETS is not set)")
            continue
        if name == "map" and not can_have_browser():
            print("map left out: no /usr/bin/chromium, or Playwright is not installed")
            continue
        print(f"{name} ...", flush=True)
        on, start = machine(), time.perf_counter()
        result = importlib.import_module(f"benchmarks.{name}").measure()
        result = {"benchmark": name, "machine": on, "took_s": round(time.perf_counter() - start, 1), **result}
        write_text(make_folder(chosen.out) / f"{name}.json", json.dumps(result, indent=1) + "\n")
        for row in result.get("rows", [result]):
            print("  " + ", ".join(f"{key} {value}" for key, value in row.items() if key != "machine"))


if __name__ == "__main__":
    main()
