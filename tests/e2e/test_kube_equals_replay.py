"""The proof that `kube` is kube-scheduler: a stock one, as it comes, puts every pod where `wattpack replay` puts it.

kube-scheduler runs with `parallelism: 1`, which makes it deterministic, and nothing of wattpack is in the cluster.
Nodes are created one by one while it runs: their order is then the order of creation (after a list it is random).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from e2e.api import Json
from e2e.audit import placements
from e2e.cluster import Cluster
from e2e.live_run import empty, replayed
from e2e.pod_watch import PODS, PodWatch
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import seeded
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import Workload

pytestmark = pytest.mark.e2e

NODES, PODS_A_TRACE = 500, 1000
CANDIDATES = 1300  # tasks that fit nowhere are left out: they change nothing for the others
GPU = "nvidia.com/gpu"
KNOWN_AFTER_S = 3.0  # the scheduler hears of nodes and pods on two watches


def some_nodes() -> Datacenter:
    """500 of the built-in datacenter's 1,213 nodes in a random order; kube-scheduler looks at 230 that fit."""
    whole = alibaba2023.datacenter()
    return whole.ordered(np.random.default_rng(42).permutation(len(whole))[:NODES])


def whole_tasks(trace: str) -> Workload:
    """Random tasks of a trace that ask for whole GPUs or none, of any model."""
    tasks = alibaba2023.trace(trace)
    fits = [k for k, c in enumerate(tasks.classes) if c.gpu_milli in (0, 1000) and c.gpu_spec == ""]
    sequence = seeded(42).workload.permutation(tasks.sequence)
    return tasks.with_sequence(sequence[np.isin(sequence, fits)][:CANDIDATES].astype(np.int32))


def node_objects(datacenter: Datacenter) -> Iterator[Json]:
    for name, cpu, memory, gpus in zip(
        datacenter.names, datacenter.cpu_milli, datacenter.memory_mib, datacenter.gpus, strict=True
    ):
        amounts = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": "1100"} | ({GPU: str(gpus)} if gpus else {})
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def pod_objects(workload: Workload) -> Iterator[Json]:
    for i, k in enumerate(workload.sequence.tolist()):
        task = workload.classes[k]
        asked = {"cpu": f"{task.cpu_milli}m", "memory": f"{task.memory_mib}Mi", GPU: str(task.num_gpu)}
        amounts = {name: amount for name, amount in asked.items() if amount not in ("0m", "0Mi", "0")}
        resources = {"requests": amounts, "limits": {GPU: amounts[GPU]} if GPU in amounts else {}}
        container = {"name": "main", "image": "none", "resources": resources}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": workload.task_name(i), "namespace": "default"},
            "spec": {"schedulerName": "stock", "terminationGracePeriodSeconds": 0, "containers": [container]},
        }


@pytest.mark.parametrize("trace", ["default", "multigpu50"])
@pytest.mark.parametrize(("policy", "percentage_of_nodes"), [("kube", 0), ("kubeall", 100)])
def test_a_stock_kube_scheduler_puts_every_pod_where_replay_does(
    cluster: Cluster, tmp_path: Path, policy: str, percentage_of_nodes: int, trace: str
) -> None:
    datacenter, workload = some_nodes(), whole_tasks(trace)
    replay = replayed(tmp_path / "replay", datacenter, workload, policy)
    expected = {task: there.node for task, there in list(replay.items())[:PODS_A_TRACE]}
    assert len(expected) == PODS_A_TRACE
    cluster.start_scheduler(
        extender_url=None,
        scheduler_name="stock",
        own_scores=True,
        percentage_of_nodes=percentage_of_nodes,
        parallelism=1,
    )
    for node in node_objects(datacenter):
        cluster.admin.create("/api/v1/nodes", node)
    time.sleep(KNOWN_AFTER_S)
    with PodWatch(cluster.admin) as watch:
        for pod in pod_objects(workload):
            if pod["metadata"]["name"] in expected:
                cluster.admin.create(PODS, pod)
        watch.wait_bound(PODS_A_TRACE, 60.0)
    placed = {task: there.node for task, there in placements(cluster.admin).items()}
    differing = {task: (placed.get(task), node) for task, node in expected.items() if placed.get(task) != node}
    assert not differing, f"{policy}: {len(differing)} differ, first {sorted(differing.items())[:3]}"
    empty(cluster)
