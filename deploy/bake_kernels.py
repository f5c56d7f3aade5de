"""Compile what `wattpack serve` needs into $WATTPACK_CACHE, for every policy; run once, while the image is built."""

from __future__ import annotations

import time
from pathlib import Path

from wattpack.jit.cache import FOLDER
from wattpack.kube.auto import Auto
from wattpack.kube.cluster import Cluster
from wattpack.kube.compile_ahead import compile_kernels
from wattpack.model.power import PROFILES
from wattpack.policies import REGISTRY
from wattpack.policies.expression import parse


def main() -> None:
    for policy in (*REGISTRY, "pwr:0.1+fgd:0.9"):
        started_s = time.perf_counter()
        compile_kernels(Cluster(parse(policy), PROFILES["paper"], target=None))
        print(f"{policy}: {time.perf_counter() - started_s:.1f} s", flush=True)
    Auto("auto", PROFILES["paper"], None).compile_portfolio()  # what `auto` runs besides: steady states
    kernels = [file for file in Path(FOLDER).rglob("*") if file.is_file()]
    print(f"{len(kernels)} files, {sum(file.stat().st_size for file in kernels) / 2**20:.1f} MiB in {FOLDER}")


if __name__ == "__main__":
    main()
