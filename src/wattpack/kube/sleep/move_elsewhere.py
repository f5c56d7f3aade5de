"""Whether pods that run could run on other nodes, and what they would draw there: a question that changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from wattpack.engine.live.one_decision import place_one, release_one
from wattpack.kube.cluster import Cluster
from wattpack.kube.constraints import constraints_of
from wattpack.kube.facts import PodFacts
from wattpack.kube.gpus import bits
from wattpack.kube.objects import Pod


def not_read(pod: Pod) -> str:
    """What the pod needs of a node that wattpack does not read (constraints.py); "": nothing.

    Whether such a pod could run elsewhere is not known, so it is not evicted.
    """
    spec, affinity = pod.spec, pod.spec.affinity
    if affinity is not None:
        between = [one for one in (affinity.pod_affinity, affinity.pod_anti_affinity) if one is not None]
        if any(one.required_during_scheduling_ignored_during_execution for one in between):
            return "affinity between pods"
    if any(one.when_unsatisfiable != "ScheduleAnyway" for one in spec.topology_spread_constraints):
        return "topology spread"
    if any(port.host_port for one in (*spec.containers, *spec.init_containers) for port in one.ports):
        return "ports of the node"
    if any(one.persistent_volume_claim is not None or one.ephemeral is not None for one in spec.volumes):
        return "persistent volumes"
    if spec.resource_claims:
        return "resource claims"
    # Of these it is read what a node has, not what is left there: MIG devices, network cards, huge pages.
    return next((name for name, _ in constraints_of(pod).resources), "")


def watts_elsewhere(cluster: Cluster, pods: Sequence[PodFacts], names: Sequence[Sequence[str]]) -> float | None:
    """What these pods, which are placed, would add on the nodes named for each, one after the other.

    None: one has no room. They are placed there and released again; where they are now they stay.
    """
    classes = [cluster.in_step.class_of(pod.task) for pod in pods]  # first: a new class may rebuild the engine
    engine = cluster.engine()
    if engine is None:
        return None
    placed: list[tuple[int, int, int]] = []
    memory, before = cluster.memory(), cluster.placed_power_w()
    for i in sorted(range(len(pods)), key=lambda i: -pods[i].task.num_gpu * pods[i].task.gpu_milli):  # largest first
        decision = cluster.would_decide(pods[i], names[i])
        if decision is None or not decision.node:
            break
        placed.append((classes[i], cluster.index[decision.node], bits(decision.gpus)))
        place_one(engine.state, engine.plan, *placed[-1])
    added_w = cluster.placed_power_w() - before if len(placed) == len(pods) else None
    for k, n, gpus in placed:
        release_one(engine.state, engine.plan, k, n, gpus)
    cluster.restore(memory)
    return added_w
