"""Compile what `wattpack serve` needs into $WATTPACK_CACHE, for every policy; run once, while the image is built.

It leads a cluster of two nodes through everything that can happen to a pod: numba compiles what is called.
"""

from __future__ import annotations

import time
from pathlib import Path

from msgspec import Raw

from wattpack.jit.cache import FOLDER
from wattpack.kube.live import Live
from wattpack.kube.objects import Pod
from wattpack.kube.ranking import Ranking
from wattpack.kube.translate import NodeFacts, PodFacts
from wattpack.kube.wire import ExtenderArgs
from wattpack.model.power import PROFILES
from wattpack.model.tasks import TaskClass
from wattpack.policies import REGISTRY
from wattpack.policies.expression import parse

TASKS = {
    "share": TaskClass(cpu_milli=4000, memory_mib=8192, num_gpu=1, gpu_milli=500),
    "whole": TaskClass(cpu_milli=8000, memory_mib=8192, num_gpu=2, gpu_milli=1000),
    "plain": TaskClass(cpu_milli=2000, memory_mib=4096, num_gpu=0, gpu_milli=0),
}


def lead_through(policy: str) -> None:
    """Pods come, are placed, seen, and leave; the engine is built once with pods on its nodes."""
    live = Live(parse(policy), PROFILES["paper"], target=None)
    for name in ("node-a", "node-b"):
        live.set_node(NodeFacts(name, cpu_milli=96000, memory_mib=393216, gpus=4, model="T4", cpu_model=""))
    for name, task in TASKS.items():
        pod = PodFacts(name, "default", name, task, "", None, False, "wattpack", "")
        decision = live.ask(pod, ["node-a", "node-b"])
        if decision is None or decision.node < 0:
            raise SystemExit(f"{policy}: {name} was not placed on an empty cluster")
        ranking = Ranking(decision.datacenter.names)
        ranking.answer(decision.choice, *ranking.asked(ExtenderArgs(Pod(), Raw(b'["node-a","node-b"]'))))
        live.cost(pod, "node-a", decision.gpus)
        live.promise(pod, "node-a", decision.gpus, now_s=0.0)
        live.set_pod(pod._replace(node="node-b"))
        live.build()
        live.drop_pod(name)
    live.power_w()
    live.fragmentation_gpus()


def main() -> None:
    for policy in (*REGISTRY, "pwr:0.1+fgd:0.9"):
        started_s = time.perf_counter()
        lead_through(policy)
        print(f"{policy}: {time.perf_counter() - started_s:.1f} s", flush=True)
    kernels = [file for file in Path(FOLDER).rglob("*") if file.is_file()]
    print(f"{len(kernels)} files, {sum(file.stat().st_size for file in kernels) / 2**20:.1f} MiB in {FOLDER}")


if __name__ == "__main__":
    main()
