"""Whether pods that run could run on other nodes, and what they would draw there: a question that changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from wattpack.engine.live.one_decision import place_one, release_one
from wattpack.kube.cluster import Cluster
from wattpack.kube.facts import PodFacts
from wattpack.kube.gpus import bits


def watts_elsewhere(cluster: Cluster, pods: Sequence[PodFacts], names: Sequence[str]) -> float | None:
    """What these pods, which are placed, would add on the nodes named, one after the other; None: one has no room.

    They are placed there and released again; where they are now they stay.
    """
    classes = [cluster.in_step.class_of(pod.task) for pod in pods]  # first: a new class may rebuild the engine
    engine = cluster.engine()
    if engine is None:
        return None
    placed: list[tuple[int, int, int]] = []
    memory, before = cluster.memory(), cluster.placed_power_w()
    largest_first = sorted(range(len(pods)), key=lambda i: -pods[i].task.num_gpu * pods[i].task.gpu_milli)
    for pod, k in ((pods[i], classes[i]) for i in largest_first):
        decision = cluster.would_decide(pod, names)
        if decision is None or not decision.node:
            break
        placed.append((k, cluster.index[decision.node], bits(decision.gpus)))
        place_one(engine.state, engine.plan, *placed[-1])
    added_w = cluster.placed_power_w() - before if len(placed) == len(pods) else None
    for k, n, gpus in placed:
        release_one(engine.state, engine.plan, k, n, gpus)
    cluster.restore(memory)
    return added_w
