"""The chart: helm takes it, and a real API server takes what helm makes of it.

Without a kubelet no pod of the Deployment runs: `test_chart_running.py` starts its two processes itself, with the
configuration and the service account of the chart.
"""

from __future__ import annotations

import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.files import CHART, DEPLOY, MANIFESTS, NAMESPACE, RENDERED, of_kind, read_objects
from e2e.api import ApiError
from e2e.chart import WAYS, Helm, cluster_for_chart, collection
from e2e.cluster import Cluster
from wattpack.kube.config import parse_config

pytestmark = pytest.mark.e2e
ACT = ("sleep.mode=act", "sleep.nodes=pool=gpu", "sleep.power=command", "sleep.command.argv[0]=/opt/power")


@pytest.fixture(scope="module")
def offline(helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(helm, tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="module")
def installed_on(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One control plane for this file."""
    with cluster_for_chart(binaries, tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def online(helm: Path, installed_on: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(helm, tmp_path_factory.mktemp("helm-online"), installed_on.kubeconfig())


# ---- without a cluster


@pytest.mark.parametrize("way", WAYS)
def test_helm_finds_no_fault_in_the_chart(offline: Helm, way: str) -> None:
    done = offline("lint", "--strict", "--kube-version", "1.36.4", str(CHART), values=WAYS[way])
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_manifests_are_the_chart_with_its_default_values(helm: Path, offline: Helm, tmp_path: Path) -> None:
    environment = {**offline.environment, "HELM": str(helm)}
    subprocess.run([DEPLOY / "render.sh", tmp_path], env=environment, check=True)
    for name in RENDERED:
        made, kept = (tmp_path / name).read_text(), (MANIFESTS / name).read_text()
        assert made == kept, f"deploy/manifests/{name} is not what the chart gives: run deploy/render.sh"


@pytest.mark.parametrize(
    "value",
    [
        *("polcy=fgd", "config.polcy=fgd", "mode=choos", "replicas=0", "config.events=some", "metrics.port=80"),
        *("scheduler.weight=0", "image.digest=sha256:1", "prometheus.url=prometheus:9090", "schedulerName=My_Name"),
        *("sleep.mode=on", "sleep.redfish.password=x", "sleep.at_most=0", "sleep.redfish.secret=no-namespace"),
        *("scheduler.managedResources[0].name=gpu", "config.server.host=0.0.0.0", "config.lease.duration_s=0"),
    ],
)
def test_a_bad_value_is_refused(offline: Helm, value: str) -> None:
    done = offline("template", "wattpack", str(CHART), "--kube-version", "1.36.4", values=(value,))
    assert done.returncode != 0
    assert value.split("=")[0].split(".")[0].split("[")[0] in done.stderr


def test_shadow_mode_cannot_switch_nodes(offline: Helm) -> None:
    values = ("mode=shadow", "sleep.mode=act")
    done = offline("template", "wattpack", str(CHART), "--kube-version", "1.36.4", values=values)
    assert done.returncode != 0
    assert "sleep.mode: act, expected advise where mode is shadow" in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_the_service_takes_the_configuration_of_the_chart(offline: Helm, way: str) -> None:
    maps = {read["metadata"]["name"]: read["data"] for read in of_kind(offline.template(*WAYS[way]), "ConfigMap")}
    config = parse_config(maps["wattpack"]["wattpack.toml"].encode(), "wattpack.toml")
    assert (config.sleep is not None) == ("advise" in way or "sleep" in way)
    assert config.sleep is None or config.sleep.schedulers == ("wattpack",)


def test_waiting_pods_of_our_scheduler_and_of_those_named_wake_nodes_and_of_no_other(offline: Helm) -> None:
    values = (*ACT, "schedulerName=batch", "sleep.schedulers[0]=other", "sleep.schedulers[1]=batch")
    (read,) = (one for one in of_kind(offline.template(*values), "ConfigMap") if "wattpack.toml" in one["data"])
    config = parse_config(read["data"]["wattpack.toml"].encode(), "wattpack.toml")
    assert config.sleep is not None
    assert config.sleep.schedulers == ("batch", "other")


def test_the_role_of_sleep_may_list_the_claims_that_a_live_look_reads(offline: Helm) -> None:
    (role,) = (
        one for one in of_kind(offline.template(*ACT), "ClusterRole") if one["metadata"]["name"].endswith("-sleep")
    )
    claims = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["list"]}
    assert claims in role["rules"]


@pytest.mark.parametrize(
    ("version", "tag"), [("1.36.4", "v1.36.4"), ("v1.35.2-gke.1001", "v1.35.2"), ("v1.34.1+k3s1", "v1.34.1")]
)
def test_the_scheduler_has_the_version_of_the_cluster(offline: Helm, version: str, tag: str) -> None:
    words = ("template", "wattpack", str(CHART), "--show-only", "templates/deployment.yaml", "--kube-version", version)
    (deployment,) = read_objects(offline(*words).stdout)
    images = {each["name"]: each["image"] for each in deployment["spec"]["template"]["spec"]["containers"]}
    assert images["kube-scheduler"] == f"kube-scheduler:{tag}"


def test_only_what_a_running_process_cannot_take_over_restarts_the_pods(offline: Helm) -> None:
    def template_of(*values: str) -> Any:
        (deployment,) = of_kind(offline.template(*values), "Deployment")
        return deployment["spec"]["template"]

    usual = template_of()
    assert template_of("config.policy=fgd", "config.dialect=hami", "config.events=none") == usual
    for value in ("mode=score", "config.lease.duration_s=20", "metrics.port=9091", "scheduler.clientQps=10"):
        assert template_of(value) != usual, value


# ---- on the API server


@pytest.mark.parametrize("way", WAYS)
def test_the_api_server_takes_every_object_strictly(offline: Helm, installed_on: Cluster, way: str) -> None:
    for read in offline.template(*WAYS[way]):
        installed_on.admin.create(f"{collection(read)}?dryRun=All&fieldValidation=Strict", read)


def test_a_misspelt_field_would_have_been_refused(offline: Helm, installed_on: Cluster) -> None:
    (deployment,) = of_kind(offline.template(), "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
    with pytest.raises(ApiError, match="unknown field"):
        installed_on.admin.create(f"{collection(deployment)}?dryRun=All&fieldValidation=Strict", deployment)


@pytest.mark.parametrize("way", WAYS)
def test_the_pods_meet_the_restricted_standard(offline: Helm, installed_on: Cluster, way: str) -> None:
    (deployment,) = of_kind(offline.template(*WAYS[way]), "Deployment")
    pod = {"apiVersion": "v1", "kind": "Pod", **deployment["spec"]["template"]}
    pod["metadata"] |= {"name": "one", "namespace": NAMESPACE}
    installed_on.admin.create(f"{collection(pod)}?dryRun=All&fieldValidation=Strict", pod)
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(ApiError, match="violates PodSecurity"):
        installed_on.admin.create(f"{collection(pod)}?dryRun=All", pod)


def test_the_job_that_wakes_all_nodes_meets_the_restricted_standard(offline: Helm, installed_on: Cluster) -> None:
    (job,) = of_kind(offline.template(*WAYS["sleep by redfish"]), "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete"
    pod = {"apiVersion": "v1", "kind": "Pod", **job["spec"]["template"]}
    pod["metadata"] |= {"name": "one", "namespace": NAMESPACE}
    installed_on.admin.create(f"{collection(pod)}?dryRun=All&fieldValidation=Strict", pod)


def token_of(cluster: Cluster) -> str:
    secret = cluster.admin.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/wattpack-metrics")
    token: str = secret["data"]["token"]
    return token


def test_an_upgrade_keeps_the_values_that_were_set_and_the_token_of_prometheus(
    online: Helm, installed_on: Cluster
) -> None:
    where = ("wattpack", str(CHART), "-n", NAMESPACE)
    values = ("serviceMonitor.enabled=true", "prometheusRule.enabled=true", "config.policy=fgd")
    done = online("install", *where, values=values)
    try:
        assert done.returncode == 0, done.stderr
        assert "holder=$(kubectl -n wattpack get lease wattpack -o jsonpath='{.spec.holderIdentity}')" in done.stdout
        assert "not tried" not in done.stdout
        token = token_of(installed_on)
        assert len(b64decode(token)) == 40
        done = online("upgrade", *where, "--reset-then-reuse-values", values=("mode=score",))
        assert done.returncode == 0, done.stderr
        assert token_of(installed_on) == token
        config = installed_on.admin.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/wattpack")["data"]["wattpack.toml"]
        assert 'policy = "fgd"' in config
        assert 'mode = "score"' in config
        monitors = installed_on.admin.list(f"/apis/monitoring.coreos.com/v1/namespaces/{NAMESPACE}/servicemonitors")
        (credentials,) = [endpoint["authorization"]["credentials"] for endpoint in monitors[0]["spec"]["endpoints"]]
        assert credentials == {"name": "wattpack-metrics", "key": "token"}
    finally:
        assert online("uninstall", "wattpack", "-n", NAMESPACE).returncode == 0


def test_the_notes_say_that_a_kubernetes_was_not_tried(online: Helm, tmp_path: Path) -> None:
    own = tmp_path / "wattpack"
    shutil.copytree(CHART, own)
    chart = (own / "Chart.yaml").read_text()
    (own / "Chart.yaml").write_text(chart.replace('tested-kubernetes: "1.36"', 'tested-kubernetes: "1.31, 1.35"'))
    done = online("install", "wattpack", str(own), "-n", NAMESPACE, "--dry-run=server")
    assert done.returncode == 0, done.stderr
    assert "This cluster has Kubernetes 1.36. The chart was tested with 1.31, 1.35: expected to work" in done.stdout


def test_install_upgrade_to_shadow_and_uninstall_leave_nothing_behind(online: Helm, installed_on: Cluster) -> None:
    def ours() -> dict[str, list[str]]:
        found = {}
        for read in online.template():
            path = collection(read)
            items = installed_on.admin.list(f"{path}?labelSelector=app.kubernetes.io/instance=wattpack")
            found[read["kind"]] = sorted(item["metadata"]["name"] for item in items)
        return found

    where = ("wattpack", str(CHART), "-n", NAMESPACE)
    done = online("install", *where)
    assert done.returncode == 0, done.stderr
    assert "schedulerName: wattpack" in done.stdout  # the notes
    assert all(ours().values())
    done = online("upgrade", *where, values=("mode=shadow",))
    assert done.returncode == 0, done.stderr
    assert "binds nothing" in done.stdout
    assert ours()["Role"] == ours()["PodDisruptionBudget"] == []
    assert ours()["ClusterRole"] == ["wattpack"]
    assert online("uninstall", "wattpack", "-n", NAMESPACE).returncode == 0
    assert not any(ours().values())
