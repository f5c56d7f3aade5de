"""Small clusters and pods for tests of the cluster under a policy."""

from __future__ import annotations

from wattpack.kube.cluster import Cluster
from wattpack.kube.facts import NodeFacts, PodFacts
from wattpack.model.power import PAPER
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.policies.expression import parse

HALF = TaskClass(2_000, 4_096, 1, 500)
WHOLE = TaskClass(4_000, 8_192, 1, 1000)
TWO = TaskClass(8_000, 16_384, 2, 1000)
PLAIN = TaskClass(1_000, 1_024, 0, 0)
ONLY_T4 = TaskClass(1_000, 1_024, 1, 300, "T4")
TASKS = (HALF, WHOLE, TWO, PLAIN, ONLY_T4)
TARGET = Target.of(Workload.from_counts([(HALF, 5), (WHOLE, 3), (TWO, 1), (PLAIN, 2)]))

OF_THE_NODE = ("cpu_left", "memory_left", "gpu_left", "gpu_total", "gpu_free", "gpu_most", "tasks", "kinds")


def make_node(name: str, gpus: int = 2, model: str = "V100M16") -> NodeFacts:
    return NodeFacts(name, 32_000, 65_536, gpus, model if gpus else "", "")


def make_pod(uid: str, task: TaskClass = HALF, node: str = "", gpus: tuple[int, ...] | None = None) -> PodFacts:
    return PodFacts(uid, "default", f"pod-{uid}", task, node, gpus, False, "wattpack", "2026-01-01T00:00:00Z")


def make_cluster(policy: str = "fgd", nodes: int = 3, target: Target | None = TARGET) -> Cluster:
    cluster = Cluster(parse(policy), PAPER, target)
    for number in range(nodes):
        cluster.update_node(make_node(f"n{number}", model="T4" if number == 1 else "V100M16"))
    return cluster


def left(cluster: Cluster) -> dict[str, list[object]]:
    """Everything that is left on every node, by name."""
    engine = cluster.engine()
    assert engine is not None
    return {name: [engine.state.nodes[n][field].tolist() for field in OF_THE_NODE] for name, n in cluster.index.items()}


def rebuilt(cluster: Cluster) -> Cluster:
    """The same tables with an engine made from nothing."""
    fresh = cluster.empty_copy()
    fresh.nodes.update(cluster.nodes)
    for reservation in cluster.reservations:
        fresh.reservations.adopt(reservation)
    return fresh
