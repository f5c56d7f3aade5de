"""Call every kernel of the live service once, so that no pod waits for the compiler."""

from __future__ import annotations

from msgspec import Raw

from wattpack.errors import RunError
from wattpack.kube.cluster import Cluster
from wattpack.kube.facts import NodeFacts, PodFacts
from wattpack.kube.objects import Pod
from wattpack.kube.ranking import Ranking
from wattpack.kube.wire import ExtenderArgs
from wattpack.model.tasks import TaskClass

TASKS = {
    "share": TaskClass(cpu_milli=4000, memory_mib=8192, num_gpu=1, gpu_milli=500),
    "whole": TaskClass(cpu_milli=8000, memory_mib=8192, num_gpu=2, gpu_milli=1000),
    "plain": TaskClass(cpu_milli=2000, memory_mib=4096, num_gpu=0, gpu_milli=0),
}


def compile_kernels(cluster: Cluster) -> None:
    """Lead pods through a cluster without nodes and pods, to which two nodes are added: assumed, seen, removed.

    The engine is built once with pods on its nodes.
    """
    if cluster.in_step.auto is not None:
        cluster.in_step.auto.compile_portfolio()
    model = next(iter(cluster.in_step.profile.gpus))
    for name in ("node-a", "node-b"):
        cluster.update_node(NodeFacts(name, cpu_milli=96000, memory_mib=393216, gpus=4, model=model, cpu_model=""))
    for name, task in TASKS.items():
        pod = PodFacts(name, "default", name, task, "", None, False, "wattpack", "")
        decision = cluster.decide(pod, ["node-a", "node-b"])
        if decision is None or not decision.node:
            raise RunError(f"{cluster.in_step.mix.expression}: {name} was not placed on an empty cluster")
        ranking = Ranking(("node-a", "node-b"))
        ranking.answer(cluster.choice, *ranking.asked(ExtenderArgs(Pod(), Raw(b'["node-a","node-b"]'))))
        cluster.cost(pod, "node-a", decision.gpus)
        cluster.assume(pod, "node-a", decision.gpus, now_s=0.0)
        cluster.update_pod(pod._replace(node="node-b"))
        cluster.in_step.build()
        cluster.remove_pod(name)
    cluster.power_w()
    cluster.fragmentation_gpus()
