"""GPUs by resource claims: the same 200 nodes and pods through kube-scheduler's own allocator and through wattpack.

Everything runs on the same cores: etcd, kube-apiserver, kube-scheduler, kube-controller-manager, the service and the
process that creates the pods. GPUs served, watts and fragmentation are those of the claims in the end, as our model
counts them; pods a second are those of the first 1,000 pods bound, before the cluster is full.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.control_plane import binaries, e2e
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import run_workload, seeded
from wattpack.kube.cluster import Cluster
from wattpack.kube.facts import NodeFacts, PodFacts
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.policies.expression import parse

NODES, LOAD, SEED = 200, 1.0, 42
TRACE = "default"
OWN = ""  # kube-scheduler's own allocator
POLICIES = (OWN, "fgd", "pwr:0.1+fgd:0.9", "ocs")
TIMED = 1000  # pods that the rate is measured with
STALLED_S = 20.0


def nodes() -> Datacenter:
    """Every sixth node of the trace's datacenter."""
    whole = alibaba2023.datacenter()
    return whole.ordered(np.arange(0, len(whole), 6, dtype=np.int64)[:NODES])


def measure() -> dict[str, Any]:
    parts = e2e()
    datacenter = nodes()
    workload = run_workload(alibaba2023.trace(TRACE), datacenter.gpu_milli, seeded(SEED).workload, LOAD)
    rows: list[dict[str, Any]] = []
    found = binaries("kube-controller-manager")
    for number, policy in enumerate(POLICIES):
        # A control plane of its own for each: the claims of the one before are not in the way.
        with tempfile.TemporaryDirectory() as folder, parts.cluster.Cluster(found, Path(folder)) as cluster:
            cluster.start_controller_manager()
            run = parts.live_run.run_live(
                cluster, datacenter, workload, policy, str(number), by_claims=True, stalled_s=STALLED_S
            )
        rows.append(
            {
                "allocator": f"wattpack {policy}" if policy else "kube-scheduler",
                "pods_bound": len(run.placed),
                **in_the_end(datacenter, workload, run.placed),
                "pods_a_second": round(run.rate_of(TIMED), 1),
                "scheduler_cpu_s": run.scheduler_cpu_s,
                "apiserver_cpu_s": run.apiserver_cpu_s,
                "service_cpu_s": run.service_cpu_s,
            }
        )
    return {
        "what": "pods with claims, created one by one while they are scheduled, up to what the GPUs hold",
        "nodes": len(datacenter),
        "gpus": datacenter.gpu_milli / 1000,
        "pods": len(workload),
        "gpus_asked": float(workload.gpu_request_milli().sum()) / 1000,
        "rows": rows,
    }


def in_the_end(datacenter: Datacenter, workload: Workload, placed: dict[str, Any]) -> dict[str, float]:
    """GPUs served, watts and fragmented GPUs with every pod where its claims are."""
    cluster = Cluster(parse("fgd"), PAPER, Target.of(alibaba2023.trace(TRACE)))
    for i, name in enumerate(datacenter.names):
        amounts = int(datacenter.cpu_milli[i]), int(datacenter.memory_mib[i]), int(datacenter.gpus[i])
        models = datacenter.models[datacenter.model[i]], datacenter.cpu_models[datacenter.cpu_model[i]]
        cluster.update_node(NodeFacts(name, *amounts, *models))
    served_milli = 0
    for i, k in enumerate(workload.sequence.tolist()):
        name, task = workload.task_name(i), workload.classes[k]
        there = placed.get(name)
        if there is not None:
            gpus = tuple(int(part) for part in there.gpu_index.split("-") if part)
            served_milli += task.num_gpu * task.gpu_milli
            cluster.update_pod(PodFacts(name, "default", name, task, there.node, gpus, False, "", ""))
    cluster.engine()
    assert cluster.conflicts == {}, cluster.conflicts
    return {
        "gpus_served": served_milli / 1000,
        "watts": round(cluster.power_w()),
        "watts_a_gpu_served": round(cluster.power_w() / (served_milli / 1000), 1),
        "fragmented_gpus": round(cluster.fragmentation_gpus(), 1),
    }
