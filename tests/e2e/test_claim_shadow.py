"""Shadow mode beside kube-scheduler's own allocator: it sees the devices of every pod, allocates nothing, and a restart
begins where the cluster is. The same service answers whether a pod would fit whose claim is a template so far.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.api import wait_until
from e2e.claim_audit import claimed_gpus
from e2e.claim_objects import (
    CLAIMS,
    SLICES,
    TEMPLATES,
    add_class,
    bare_node,
    claim_object,
    claiming_pod,
    slice_object,
    template_name,
    template_object,
)
from e2e.cluster import Cluster
from e2e.pod_watch import PODS
from e2e.service import Service
from wattpack.model.tasks import TaskClass

pytestmark = pytest.mark.e2e

COUNT = 40
TASK = TaskClass(1_000, 2_048, 1, 250)


def test_shadow_mode_sees_what_claims_hold_and_begins_there_after_a_restart(cluster: Cluster, tmp_path: Path) -> None:
    """kube-scheduler as it comes spreads pods over all nodes; 40 quarters of a T4 would fill 10 GPUs on 3 nodes."""
    admin, names = cluster.admin, [f"n{i:02d}" for i in range(10)]
    add_class(admin)
    admin.create_many("/api/v1/nodes", [bare_node(name, 32_000, 131_072) for name in names])
    admin.create_many(SLICES, [slice_object(name, 4, "T4") for name in names])
    service = Service(
        cluster.processes,
        cluster.kubeconfig(),
        policy="pwr",
        target="default",
        mode="shadow",
        allocate_claims=True,
        lease={"enabled": False},
    ).start()
    cluster.start_scheduler("plain", extender_url=None, scheduler_name="default-scheduler", own_scores=True)
    pods = [f"p{i:02d}" for i in range(COUNT)]
    admin.create_many(CLAIMS, [claim_object(name, TASK) for name in pods])
    admin.create_many(PODS, [claiming_pod(name, TASK, claim=name, scheduler="default-scheduler") for name in pods])
    wait_until(
        lambda: service.get("/shadow")["pods_placed_since_start"] == COUNT,
        60,
        lambda: f"the shadow has seen all pods: {service.get('/shadow')}\n{service.log}",
    )
    table = service.get("/shadow")
    assert claimed_gpus(admin) == COUNT * TASK.gpu_milli / 1000
    assert service.metrics()['wattpack_gpus{state="allocated"}'] == claimed_gpus(admin)
    assert table["other_node"] > COUNT / 2
    assert table["estimated_saving_w"] > 500  # 7 sockets of 105 W less, and GPUs that stay idle
    managers = {one["manager"] for claim in admin.list(CLAIMS) for one in claim["metadata"]["managedFields"]}
    assert "wattpack" not in managers

    assert service.end() == 0
    service.start()
    again = service.get("/shadow")
    assert (again["pods_placed_since_start"], again["estimated_saving_w"]) == (0, 0)
    assert again["cluster_w"] == again["cluster_under_policy_w"] == table["cluster_w"]

    admin.create(TEMPLATES, template_object(TASK))
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(claiming_pod("new", TASK, template=template_name(TASK))))
    command = [sys.executable, "-m", "wattpack", "fit", "-f", str(file), "--server", service.url]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert "devices: n" in told.stdout
