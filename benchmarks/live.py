"""Pods bound a second: 1,000 pods on 1,213 nodes through a real kube-scheduler, apiserver and etcd on the same cores.

The same run as tests/e2e/test_live_equals_replay.py, which asserts where the pods are; here it is timed, from the first
pod bound to the last.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.control_plane import binaries, e2e
from wattpack.datasets import alibaba2023

POLICIES = ("fgd", "pwr:0.1+fgd:0.9", "ocs")
REPEATS = 3


def measure() -> dict[str, Any]:
    parts = e2e()
    datacenter, workload = alibaba2023.datacenter(), parts.live_run.first_tasks()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, parts.cluster.Cluster(binaries(), Path(folder)) as cluster:
        for policy in POLICIES:
            runs = []
            for repeat in range(REPEATS):
                name = f"{POLICIES.index(policy)}-{repeat}"
                runs.append(parts.live_run.run_live(cluster, datacenter, workload, policy, name))
                parts.live_run.empty(cluster)
            rates = sorted(run.pods_a_second for run in runs)
            rows.append(
                {
                    "policy": policy,
                    "pods": len(runs[0].placed),
                    "pods_a_second_median": round(rates[len(rates) // 2], 1),
                    "pods_a_second": [round(rate, 1) for rate in rates],
                    "service_cpu_s": min(run.service_cpu_s for run in runs),
                    "scheduler_cpu_s": min(run.scheduler_cpu_s for run in runs),
                    "apiserver_cpu_s": min(run.apiserver_cpu_s for run in runs),
                    "service_mib": max(run.service_mib for run in runs),
                }
            )
    return {"what": "pods are created one by one while they are scheduled, events included", "rows": rows}
