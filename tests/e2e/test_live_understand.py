"""What an operator asks of a running service, on a real control plane: events, explain, fit, reload, whole GPUs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.api import Json, wait_until
from e2e.cluster import Cluster
from e2e.nodes_and_pods import node_object, pod_object
from e2e.service import Service
from wattpack.cli import main
from wattpack.model.tasks import TaskClass

pytestmark = pytest.mark.e2e

PODS = "/api/v1/namespaces/default/pods"
HALF, FOUR = TaskClass(1_000, 2_048, 1, 500), TaskClass(1_000, 2_048, 4, 1000)


def bound(cluster: Cluster, name: str) -> Json:
    """The pod, once it is on a node."""
    return wait_until(
        lambda: next(
            (p for p in cluster.admin.list(PODS) if p["metadata"]["name"] == name and p["spec"].get("nodeName")), None
        ),
        60,
        f"{name} is bound",
    )


def messages(cluster: Cluster, name: str, reason: str) -> list[str]:
    events = cluster.admin.list("/api/v1/namespaces/default/events")
    return [e["message"] for e in events if e["involvedObject"]["name"] == name and e["reason"] == reason]


def test_events_explain_and_fit_say_why_and_a_changed_configuration_is_taken_without_a_restart(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        cluster.admin.create("/api/v1/nodes", node_object(f"n{number}", 32_000, 131_072, 2, "T4"))
    config = {"policy": "fgd", "target": "default", "lease": {"enabled": False}}
    service = Service(cluster.processes, cluster.kubeconfig(), **config).start()
    cluster.start_scheduler(extender_url=service.url)
    cluster.admin.create(PODS, pod_object("half", HALF))
    cluster.admin.create(PODS, pod_object("four", FOUR))

    pod = bound(cluster, "half")
    assert pod["metadata"]["annotations"]["alibabacloud.com/gpu-index"] == "0"
    (placed,) = wait_until(lambda: messages(cluster, "half", "WattpackPlaced"), 30, "the event is there")
    assert placed.startswith("fgd: n0 GPU 0 chosen among 3 nodes that fit of 3: +165.0 W")
    (refused,) = wait_until(lambda: messages(cluster, "four", "WattpackCannotPlace"), 30, "the event is there")
    assert "fits none of 3 nodes (3 not enough free GPU); nearest: n" in refused
    assert "whole free GPUs" in refused

    main(["explain", "--live", "default/half", "--server", service.url])
    assert "decision: fgd: n0 GPU 0 chosen among 3 nodes" in capsys.readouterr().out
    (tmp_path / "pod.yaml").write_text(json.dumps(pod_object("wish", HALF)))
    main(["fit", "-f", str(tmp_path / "pod.yaml"), "--server", service.url])
    assert "decision: fgd: n0 GPU 0 chosen" in capsys.readouterr().out

    service.write_config(**{**config, "policy": "nonesuch"})
    refused_reload = 'wattpack_config_reloads_total{outcome="refused"}'
    wait_until(lambda: service.metrics().get(refused_reload) == 1, 30, "the bad configuration is refused")
    assert service.get("/state")["policy"] == "fgd"
    service.write_config(**{**config, "policy": "pwr:0.1+fgd:0.9"})
    wait_until(lambda: service.get("/state")["policy"] == "pwr:0.1+fgd:0.9", 30, "the good one is taken")
    cluster.admin.create(PODS, pod_object("after", HALF))
    bound(cluster, "after")
    main(["explain", "--live", "default/after", "--server", service.url])
    assert "decision: pwr:0.1+fgd:0.9: n0 GPU 0" in capsys.readouterr().out


def test_whole_gpus_go_through_the_plain_resource_and_get_an_index(cluster: Cluster) -> None:
    for number in range(2):
        node = node_object(f"n{number}", 32_000, 131_072, 0, "")
        node["metadata"]["labels"]["nvidia.com/gpu.product"] = "NVIDIA-A100-SXM4-80GB"
        for amounts in (node["status"]["capacity"], node["status"]["allocatable"]):
            amounts["nvidia.com/gpu"] = "4"
        cluster.admin.create("/api/v1/nodes", node)
    service = Service(
        cluster.processes, cluster.kubeconfig(), policy="fgd", dialect="nvidia", lease={"enabled": False}
    ).start()
    cluster.start_scheduler(extender_url=service.url)
    for number, gpus in enumerate((1, 2, 1, 4)):
        pod = pod_object(f"p{number}", TaskClass(1_000, 2_048, 0, 0))
        pod["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": str(gpus)}
        cluster.admin.create(PODS, pod)
        bound(cluster, f"p{number}")
    index = {
        pod["metadata"]["name"]: (pod["spec"]["nodeName"], pod["metadata"]["annotations"]["wattpack.dev/gpu-index"])
        for pod in cluster.admin.list(PODS)
    }
    assert index == {"p0": ("n0", "0"), "p1": ("n0", "1-2"), "p2": ("n0", "3"), "p3": ("n1", "0-1-2-3")}
