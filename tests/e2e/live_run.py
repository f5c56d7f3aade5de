"""A workload through a real kube-scheduler and `wattpack serve`, and through `wattpack replay`: the same files twice.

The test asks whether both agree; `python -m benchmarks live` asks how fast the first is.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from e2e.audit import Placement, placements
from e2e.cluster import Cluster
from e2e.nodes_and_pods import node_objects, pod_objects, write_nodes, write_tasks
from e2e.pod_watch import PODS, PodWatch
from e2e.service import Service
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import run_workload, seeded
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import Workload

TRACE = "default"
TASKS = 1000
SEED = 42
STALLED_S = 60.0  # without a pod bound for so long nothing more will come


def first_tasks(count: int = TASKS) -> Workload:
    """The first tasks of the Default workload of a seed, with names that sort in order of arrival."""
    trace = alibaba2023.trace(TRACE)
    whole = run_workload(trace, alibaba2023.datacenter().gpu_milli, seeded(SEED).workload)
    return whole.with_sequence(np.ascontiguousarray(whole.sequence[:count]))


def replayed(folder: Path, datacenter: Datacenter, workload: Workload, policy: str) -> dict[str, Placement]:
    """Node and GPUs of every placed task as the command `wattpack replay` says."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes, tasks = write_nodes(folder / "nodes.csv", datacenter), write_tasks(folder / "tasks.csv", workload)
    decisions = folder / "decisions.csv"
    command = [sys.executable, "-m", "wattpack", "replay", "--nodes", nodes, "--tasks", tasks, "--policy", policy]
    command += ["--target", TRACE, "--decisions", decisions]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    with decisions.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {row["task"]: Placement(row["node"], row["gpu_index"]) for row in rows if row["node"]}


@dataclass(frozen=True)
class LiveRun:
    placed: dict[str, Placement]
    seconds: float  # from the first pod bound to the last
    scheduler_cpu_s: float
    apiserver_cpu_s: float
    service_cpu_s: float
    service_mib: float

    @property
    def pods_a_second(self) -> float:
        return (len(self.placed) - 1) / self.seconds


def empty(cluster: Cluster) -> None:
    """Take all pods and nodes away."""
    api = cluster.admin
    for kind in ("/api/v1/namespaces/default/pods", "/api/v1/nodes"):
        api.delete_many([f"{kind}/{item['metadata']['name']}" for item in api.list(kind)])


def run_live(cluster: Cluster, datacenter: Datacenter, workload: Workload, policy: str, name: str = "run") -> LiveRun:
    """The workload as pods on an empty cluster of these nodes; waits until all are bound, or no more are.

    Pods are created one after the other while the scheduler runs: it takes them in the order in which it hears of
    them, and of pods that were there before it, it hears in no order at all. Creating one takes a third of the time
    that scheduling it does, so its queue is never empty and the rate is that of the scheduling.
    """
    cluster.admin.create_many("/api/v1/nodes", node_objects(datacenter))
    service = Service(
        cluster.processes, cluster.kubeconfig(), f"wattpack-{name}", policy=policy, target=TRACE, dialect="alibaba"
    )
    scheduler = f"kube-scheduler-{name}"
    service.start()
    before_s = cluster.processes.cpu_seconds("kube-apiserver")
    service_before_s = cluster.processes.cpu_seconds(service.name)
    with PodWatch(cluster.admin) as watch:
        cluster.start_scheduler(scheduler, extender_url=service.url)
        for pod in pod_objects(workload):
            cluster.admin.create(PODS, pod)
        watch.wait_bound(len(workload), STALLED_S)
        assert watch.moved == []
        times = sorted(watch.bound_at.values())
    assert times, f"no pod was bound:\n{service.log}\n{cluster.processes.log_end(scheduler)}"
    cpu = cluster.processes.cpu_seconds
    run = LiveRun(
        placements(cluster.admin),
        round(max(times[-1] - times[0], 1e-3), 3),
        round(cpu(scheduler), 2),
        round(cpu("kube-apiserver") - before_s, 2),
        round(cpu(service.name) - service_before_s, 2),
        round(cluster.processes.resident_mib(service.name), 1),
    )
    cluster.processes.end(scheduler)
    assert service.end() == 0, service.log
    return run
