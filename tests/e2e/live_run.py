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
from e2e.claim_audit import claimed_placements
from e2e.claim_objects import claiming_pods, create_claimable
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
    bound_s: tuple[float, ...]  # when each pod was bound, after the first
    scheduler_cpu_s: float
    apiserver_cpu_s: float
    service_cpu_s: float
    service_mib: float

    @property
    def pods_a_second(self) -> float:
        return self.rate_of(len(self.bound_s))

    def rate_of(self, first: int) -> float:
        """Pods bound a second until so many were; the last ones of a full cluster wait and say nothing of the rate."""
        bound_s = self.bound_s[:first]
        return (len(bound_s) - 1) / max(bound_s[-1], 1e-3)


def empty(cluster: Cluster) -> None:
    """Take all pods and nodes away."""
    api = cluster.admin
    for kind in ("/api/v1/namespaces/default/pods", "/api/v1/nodes"):
        api.delete_many([f"{kind}/{item['metadata']['name']}" for item in api.list(kind)])


def run_live(
    cluster: Cluster,
    datacenter: Datacenter,
    workload: Workload,
    policy: str,
    name: str = "run",
    by_claims: bool = False,
    stalled_s: float = STALLED_S,
) -> LiveRun:
    """The workload as pods on an empty cluster of these nodes; waits until all are bound, or no more are.

    `by_claims`: nodes offer GPUs in slices and pods ask for them by claims, which are there before their pods. Without
    a policy kube-scheduler decides alone, as it comes.

    Pods are created one after the other while the scheduler runs: it takes them in the order in which it hears of
    them, and of pods that were there before it, it hears in no order at all. Creating one takes a third of the time
    that scheduling it does, so its queue is never empty and the rate is that of the scheduling.
    """
    if by_claims:
        create_claimable(cluster.admin, datacenter, workload)
        config, pods = {"dialect": "all", "allocate_claims": True}, claiming_pods(workload)
    else:
        cluster.admin.create_many("/api/v1/nodes", node_objects(datacenter))
        config, pods = {"dialect": "alibaba"}, pod_objects(workload)
    service = Service(
        cluster.processes, cluster.kubeconfig(), f"wattpack-{name}", policy=policy, target=TRACE, **config
    )
    scheduler, cpu = f"kube-scheduler-{name}", cluster.processes.cpu_seconds
    if policy:
        service.start()
    before_s, service_before_s = cpu("kube-apiserver"), cpu(service.name) if policy else 0.0
    with PodWatch(cluster.admin) as watch:
        if policy:
            cluster.start_scheduler(scheduler, extender_url=service.url, own_devices=not by_claims)
        else:
            cluster.start_scheduler(scheduler, extender_url=None, own_scores=True)
        for pod in pods:
            cluster.admin.create(PODS, pod)
        watch.wait_bound(len(workload), stalled_s)
        assert watch.moved == []
        times = sorted(watch.bound_at.values())
    assert times, f"no pod was bound:\n{service.log}\n{cluster.processes.log_end(scheduler)}"
    run = LiveRun(
        (claimed_placements if by_claims else placements)(cluster.admin),
        tuple(time - times[0] for time in times),
        round(cpu(scheduler), 2),
        round(cpu("kube-apiserver") - before_s, 2),
        round(cpu(service.name) - service_before_s, 2) if policy else 0.0,
        round(cluster.processes.resident_mib(service.name), 1) if policy else 0.0,
    )
    cluster.processes.end(scheduler)
    if policy:
        assert service.end() == 0, service.log
    return run
