"""Shadow mode beside the scheduler that a cluster has: it sees every pod, binds nothing, says what it would save."""

from __future__ import annotations

import re

import pytest

from e2e.api import wait_until
from e2e.cluster import Cluster
from e2e.nodes_and_pods import node_object, pod_object
from e2e.service import Service
from wattpack.model.tasks import TaskClass

pytestmark = pytest.mark.e2e

PODS = 60


def test_shadow_mode_binds_nothing_and_tells_how_it_differs_from_the_scheduler_in_place(cluster: Cluster) -> None:
    """kube-scheduler as it comes spreads pods over all nodes; the policy would fill few of them."""
    for number in range(20):
        cluster.admin.create("/api/v1/nodes", node_object(f"n{number:02d}", 32_000, 131_072, 4, "T4"))
    service = Service(
        cluster.processes, cluster.kubeconfig(), policy="pwr", target="default", mode="shadow", lease={"enabled": False}
    ).start()
    cluster.start_scheduler("plain", extender_url=None, scheduler_name="default-scheduler", own_scores=True)
    task = TaskClass(1_000, 2_048, 1, 200)
    pods = [pod_object(f"p{number:03d}", task, "default-scheduler") for number in range(PODS)]
    cluster.admin.create_many("/api/v1/namespaces/default/pods", pods)
    wait_until(lambda: service.get("/shadow")["pods_placed_since_start"] == PODS, 60, "the shadow has seen all pods")
    table = service.get("/shadow")
    assert table["same_node"] + table["other_node"] + table["policy_has_no_room"] == PODS
    assert table["other_node"] > PODS / 2
    # 60 pods of 200 milli are 12 full T4 on 3 nodes; spread, they wake more GPUs and every node's socket.
    assert table["estimated_saving_w"] > 500
    assert table["cluster_under_policy_w"] == table["cluster_w"] - table["estimated_saving_w"]
    by_policy = sum(count for name, count in service.metrics().items() if "wattpack_binds_total" in name)
    assert by_policy == 0
    assert service.end() == 0
    assert re.search(rf"pods placed since start +│ {PODS}\b", service.log)
    nodes = {pod["spec"]["nodeName"] for pod in cluster.admin.list("/api/v1/namespaces/default/pods")}
    assert len(nodes) > 10
