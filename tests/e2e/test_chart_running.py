"""What the chart's pod holds, running: kube-scheduler and wattpack with the chart's configuration and rights.

There is no kubelet to run the pod: the test starts its two processes, with the files that the pod would see. Only the
ports and the way to the API server are exchanged.
"""

from __future__ import annotations

import http.client
import os
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.files import NAMESPACE, Object, manifest, of_kind
from e2e.api import wait_until
from e2e.chart import ACCOUNT, collection, create_namespace
from e2e.cluster import Cluster
from e2e.nodes_and_pods import GPU_INDEX, node_object, pod_object
from e2e.processes import free_port
from kube.switches.certificate import self_signed
from wattpack.model.tasks import TaskClass

pytestmark = pytest.mark.e2e

READY_S = 120.0


class Pod:
    """The two processes of the chart's pod, from a manifest."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.objects = manifest(name)
        self.extender_port, self.metrics_port, self.scheduler_port = free_port(), free_port(), free_port()
        maps = {each["metadata"]["name"]: each["data"] for each in of_kind(self.objects, "ConfigMap")}
        self.toml = maps["wattpack"]["wattpack.toml"]
        self.toml = self.toml.replace("\nport = 8888", f"\nport = {self.extender_port}")
        self.toml = self.toml.replace("metrics_port = 9090", f"metrics_port = {self.metrics_port}")
        self.extender: Object = {}  # what the extender's configuration says otherwise than the chart's
        self.tls = False  # whether the service has a certificate
        self.metrics_token = self.cluster.folder / "metrics-token"
        assert 'metrics_token_file = "/etc/wattpack-metrics/token"' in self.toml
        self.toml = self.toml.replace("/etc/wattpack-metrics/token", str(self.metrics_token))
        self.scheduler_config = maps.get("wattpack-kube-scheduler", {}).get("scheduler.yaml", "")

    def create_objects(self) -> None:
        """The Deployment stays an object, as nobody runs it."""
        create_namespace(self.cluster)
        for read in self.objects:
            self.cluster.admin.create(f"{collection(read)}?fieldValidation=Strict", read)

    def start_scheduler(self) -> None:
        config = yaml.safe_load(self.scheduler_config)
        config["clientConnection"]["kubeconfig"] = str(self.cluster.kubeconfig(ACCOUNT.name))
        assert config["extenders"][0]["urlPrefix"] == "http://127.0.0.1:8888"
        config["extenders"][0]["urlPrefix"] = f"http{'s' * self.tls}://127.0.0.1:{self.extender_port}"
        config["extenders"][0] |= self.extender
        file = self.cluster.folder / "scheduler.yaml"
        file.write_text(yaml.safe_dump(config))
        (deployment,) = of_kind(self.objects, "Deployment")
        containers = {each["name"]: each for each in deployment["spec"]["template"]["spec"]["containers"]}
        flags = [flag for flag in containers["kube-scheduler"]["command"][1:] if not flag.startswith("--config")]
        command = [self.cluster.binaries / "kube-scheduler", "--config", file, *flags]
        self.cluster.processes.start(
            "scheduler-of-chart", [*command, "--bind-address=127.0.0.1", f"--secure-port={self.scheduler_port}"]
        )

    def start_wattpack(self, folder: Path) -> None:
        file = folder / "wattpack.toml"
        file.write_text(self.toml)
        # A home and a folder for temporary files of its own: what else it writes to would be read-only in the pod.
        environment = {"KUBECONFIG": str(self.cluster.kubeconfig(ACCOUNT.name)), "HOME": str(folder)}
        environment["WATTPACK_CACHE"] = os.environ.get("WATTPACK_CACHE") or str(Path.home() / ".cache")
        command = [sys.executable, "-m", "wattpack", "serve", f"--config={file}"]
        self.cluster.processes.start("wattpack-of-chart", command, environment)

    def scrape(self) -> int:
        """Status of a scrape, as Prometheus asks with the token of the Secret."""
        return self.probe("/metrics", headers={"Authorization": f"Bearer {self.metrics_token.read_text()}"})

    def probe(
        self, path: str, scheduler: bool = False, method: str = "GET", headers: dict[str, str] | None = None
    ) -> int:
        """Status of a probe, as the kubelet asks it: it does not check the certificate. 0: nobody answers."""
        if scheduler or self.tls:
            tls = ssl._create_unverified_context()
            port = self.scheduler_port if scheduler else self.metrics_port
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                "127.0.0.1", port, timeout=5, context=tls
            )
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=5)
        try:
            connection.request(method, path, headers=headers or {})
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def wait_ready(self, scheduler: bool) -> None:
        name = "scheduler-of-chart" if scheduler else "wattpack-of-chart"

        def ready() -> bool:
            assert self.cluster.processes.alive(name), self.cluster.processes.log_end(name)
            return self.probe("/readyz", scheduler) == 200

        wait_until(ready, READY_S, f"{name} is ready:\n{self.cluster.processes.log_end(name)}")

    def refused(self) -> list[tuple[str, str]]:
        """What the service account asked for and was not allowed."""
        return [
            (request["verb"], request["requestURI"])
            for request in self.cluster.requests()
            if request["user"]["username"] == ACCOUNT.name and request.get("responseStatus", {}).get("code") == 403
        ]

    def asked(self) -> set[tuple[str, str]]:
        """(verb, resource) of everything that the service account asked for."""
        found = set()
        for request in self.cluster.requests():
            about = request.get("objectRef", {})
            if request["user"]["username"] == ACCOUNT.name and "resource" in about:
                found.add((request["verb"], "/".join(filter(None, (about["resource"], about.get("subresource"))))))
        return found


@pytest.fixture
def control_plane(binaries: Path, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(binaries, tmp_path / "cluster", users=[ACCOUNT]) as cluster:
        yield cluster


def pods_of(cluster: Cluster) -> dict[str, Any]:
    return {pod["metadata"]["name"]: pod for pod in cluster.admin.list("/api/v1/namespaces/default/pods")}


def add_nodes(cluster: Cluster) -> None:
    for name in ("gpu-a", "gpu-b"):
        cluster.admin.create("/api/v1/nodes", node_object(name, 96000, 393216, 4, "T4"))


def test_scheduler_and_extender_of_the_chart_bind_pods_with_the_rights_of_the_chart(
    control_plane: Cluster, tmp_path: Path
) -> None:
    pod = Pod(control_plane, "wattpack.yaml")
    pod.create_objects()
    add_nodes(control_plane)
    pod.start_wattpack(tmp_path)
    pod.start_scheduler()
    pod.wait_ready(scheduler=False)
    pod.wait_ready(scheduler=True)
    assert pod.probe("/livez", scheduler=True) == pod.probe("/healthz") == 200

    share = TaskClass(cpu_milli=4000, memory_mib=8192, num_gpu=1, gpu_milli=500)
    tasks = {"share-1": share, "share-2": share, "too-big": share._replace(num_gpu=8, gpu_milli=1000)}
    for name, task in tasks.items():
        control_plane.admin.create("/api/v1/namespaces/default/pods", pod_object(name, task))
    wait_until(
        lambda: all(pods_of(control_plane)[name]["spec"].get("nodeName") for name in ("share-1", "share-2")),
        60,
        f"both shares are bound:\n{control_plane.processes.log_end('scheduler-of-chart')}",
    )
    seen = pods_of(control_plane)
    assert [seen[name]["metadata"]["annotations"][GPU_INDEX] for name in ("share-1", "share-2")] == ["0", "0"]
    assert "nodeName" not in seen["too-big"]["spec"]

    def said() -> set[str]:
        return {event["reason"] for event in control_plane.admin.list("/api/v1/namespaces/default/events")}

    wait_until(
        lambda: {"WattpackPlaced", "WattpackCannotPlace", "Scheduled", "FailedScheduling"} <= said(), 30, "events"
    )
    leases = control_plane.admin.list(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases")
    assert {lease["metadata"]["name"] for lease in leases} == {"wattpack", "wattpack-kube-scheduler"}
    assert pod.refused() == []
    assert {("create", "pods/binding"), ("patch", "pods/status"), ("update", "leases")} <= pod.asked()


def test_kube_scheduler_shows_a_certificate_to_an_extender_that_others_can_reach(
    control_plane: Cluster, tmp_path: Path
) -> None:
    pod = Pod(control_plane, "wattpack.yaml")
    for name in ("server", "client"):
        (tmp_path / name).mkdir()
    (certificate, key), (client, client_key) = self_signed(tmp_path / "server"), self_signed(tmp_path / "client")
    files = {"certificate": certificate, "key": key, "client_ca": client}
    said = "".join(f'\n{name} = "{file}"' for name, file in files.items())
    assert 'host = "127.0.0.1"\n' in pod.toml
    pod.toml = pod.toml.replace('\nhost = "127.0.0.1"', f'\nhost = "0.0.0.0"{said}')
    pod.tls = True
    shown = {"certFile": str(client), "keyFile": str(client_key), "caFile": str(certificate)}
    pod.extender = {"enableHTTPS": True, "tlsConfig": shown}
    pod.create_objects()
    add_nodes(control_plane)
    pod.start_wattpack(tmp_path)
    pod.start_scheduler()
    pod.wait_ready(scheduler=False)
    pod.wait_ready(scheduler=True)
    task = TaskClass(cpu_milli=4000, memory_mib=8192, num_gpu=1, gpu_milli=500)
    control_plane.admin.create("/api/v1/namespaces/default/pods", pod_object("share", task))
    wait_until(
        lambda: bool(pods_of(control_plane)["share"]["spec"].get("nodeName")),
        60,
        f"the pod is bound:\n{control_plane.processes.log_end('scheduler-of-chart')}",
    )
    assert pods_of(control_plane)["share"]["metadata"]["annotations"][GPU_INDEX] == "0"
    stranger = http.client.HTTPSConnection(
        "127.0.0.1", pod.extender_port, timeout=5, context=ssl.create_default_context(cafile=str(certificate))
    )
    stranger.request("POST", "/bind", b"{}")
    assert stranger.getresponse().status == 401
    stranger.close()


def test_the_port_that_can_be_reached_from_outside_takes_no_verbs(control_plane: Cluster, tmp_path: Path) -> None:
    pod = Pod(control_plane, "wattpack.yaml")
    pod.create_objects()
    pod.start_wattpack(tmp_path)
    pod.wait_ready(scheduler=False)
    for path in ("/filter", "/prioritize", "/bind", "/fit"):
        assert pod.probe(path, method="POST") == 404
    for path in ("/state", "/explain/default/one", "/shadow", "/power", "/openapi.json"):
        assert pod.probe(path) == 404
    assert pod.probe("/metrics") == 401
    pod.metrics_token.write_text("the-token-of-the-secret")  # as the kubelet does, when the Secret appears
    assert pod.scrape() == 200
    assert pod.probe("/metrics") == 401


def test_shadow_mode_of_the_chart_is_ready_with_the_right_to_read_only(control_plane: Cluster, tmp_path: Path) -> None:
    pod = Pod(control_plane, "shadow.yaml")
    pod.metrics_token.write_text("the-token-of-the-secret")
    pod.create_objects()
    add_nodes(control_plane)
    pod.start_wattpack(tmp_path)
    pod.wait_ready(scheduler=False)
    share: Object = pod_object("share", TaskClass(4000, 8192, 1, 500), scheduler_name="another")
    control_plane.admin.create("/api/v1/namespaces/default/pods", share)
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "share"},
        "target": {"kind": "Node", "name": "gpu-b"},
    }
    control_plane.admin.create("/api/v1/namespaces/default/pods/share/binding", binding)

    def told() -> str:
        connection = http.client.HTTPConnection("127.0.0.1", pod.metrics_port, timeout=5)
        try:
            connection.request("GET", "/metrics", headers={"Authorization": "Bearer the-token-of-the-secret"})
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    wait_until(lambda: "wattpack_shadow_pods_total{" in told(), 30, "the pod is compared")
    assert pod.refused() == []
    assert {verb for verb, _ in pod.asked()} <= {"get", "list", "watch"}
