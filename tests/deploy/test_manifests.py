"""The manifests in the repository are what they claim to be, as far as can be told without a cluster.

That they are the chart with its default values, and that a real API server takes them, is in tests/e2e/test_chart.py.
"""

from __future__ import annotations

import re

import pytest
import yaml

from deploy.files import CHART, MANIFESTS, NAMESPACE, RENDERED, Object, manifest, of_kind, rights
from wattpack import __version__
from wattpack.kube.config import parse_config
from wattpack.kube.dialects import ALL, DIALECTS
from wattpack.model.power import PROFILES

CLUSTER_WIDE = {"ClusterRole", "ClusterRoleBinding", "Namespace"}
WITH_PODS = ("wattpack.yaml", "shadow.yaml")


def pod_spec(name: str) -> Object:
    (deployment,) = of_kind(manifest(name), "Deployment")
    spec: Object = deployment["spec"]["template"]["spec"]
    return spec


def containers(name: str) -> list[Object]:
    spec = pod_spec(name)
    return [*spec["initContainers"], *spec["containers"]]


def config_of(name: str) -> str:
    maps = {read["metadata"]["name"]: read["data"] for read in of_kind(manifest(name), "ConfigMap")}
    text: str = maps["wattpack"]["wattpack.toml"]
    return text


@pytest.mark.parametrize("name", ["namespace.yaml", *RENDERED])
def test_each_object_has_kind_version_name_and_namespace(name: str) -> None:
    objects = manifest(name)
    assert objects
    for read in objects:
        assert read["apiVersion"]
        assert read["kind"]
        assert read["metadata"]["name"]
        assert read["metadata"].get("namespace") == (None if read["kind"] in CLUSTER_WIDE else NAMESPACE)


@pytest.mark.parametrize("name", RENDERED)
def test_no_object_is_there_twice(name: str) -> None:
    named = [(read["kind"], read["metadata"]["name"]) for read in manifest(name)]
    assert len(named) == len(set(named))


def test_kustomization_names_files_that_exist() -> None:
    read = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text(encoding="utf-8"))
    assert {"namespace.yaml", "wattpack.yaml"} == set(read["resources"])
    assert read["namespace"] == NAMESPACE


def test_chart_application_and_package_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == __version__
    assert pod_spec("wattpack.yaml")["containers"][0]["image"] == f"wattpack:{__version__}"


@pytest.mark.parametrize("name", WITH_PODS)
def test_every_container_is_without_privileges_and_has_its_resources(name: str) -> None:
    for container in containers(name):
        security = container["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] > 0
        assert security["readOnlyRootFilesystem"] is True
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("name", WITH_PODS)
def test_every_lasting_container_is_probed(name: str) -> None:
    for container in pod_spec(name)["containers"]:
        assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)


@pytest.mark.parametrize("name", WITH_PODS)
def test_every_mounted_volume_is_there_and_every_volume_is_mounted(name: str) -> None:
    mounted = {mount["name"] for container in containers(name) for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod_spec(name)["volumes"]}


@pytest.mark.parametrize("name", WITH_PODS)
def test_the_service_reads_its_configuration_and_keeps_the_verbs_on_loopback(name: str) -> None:
    config = parse_config(config_of(name).encode(), name)
    assert config.server.host == "127.0.0.1"
    assert config.server.metrics_host == "0.0.0.0"
    (port,) = [port for port in pod_spec(name)["containers"][0]["ports"] if port["name"] == "metrics"]
    assert config.server.metrics_port == port["containerPort"]
    assert config.lease.namespace == NAMESPACE


def test_scheduler_and_extender_agree() -> None:
    objects = manifest("wattpack.yaml")
    maps = {read["metadata"]["name"]: read["data"] for read in of_kind(objects, "ConfigMap")}
    scheduler = yaml.safe_load(maps["wattpack-kube-scheduler"]["scheduler.yaml"])
    config = parse_config(config_of("wattpack.yaml").encode(), "wattpack.toml")
    (profile,), (extender,) = scheduler["profiles"], scheduler["extenders"]
    assert profile["schedulerName"] == "wattpack"
    assert extender["urlPrefix"] == f"http://{config.server.host}:{config.server.port}"
    assert extender["nodeCacheCapable"] is True
    assert extender["ignorable"] is False
    assert float(extender["httpTimeout"].removesuffix("s")) >= config.server.timeout_s
    assert (config.mode, "prioritizeVerb" in extender) == ("choose", False)
    names = {name for group, resource, _, name in rights(objects) if resource == "leases" and name}
    assert names == {config.lease.name, scheduler["leaderElection"]["resourceName"]}


def test_nothing_may_be_read_or_done_that_a_scheduler_does_not_need() -> None:
    granted = rights(manifest("wattpack.yaml"))
    assert not [right for right in granted if "*" in right]
    resources = {resource for _, resource, _, _ in granted}
    assert not resources & {"secrets", "configmaps", "serviceaccounts", "pods/exec", "tokenreviews", "clusterroles"}
    assert not [
        right for right in granted if right[2] in {"delete", "deletecollection", "impersonate", "bind", "escalate"}
    ]
    assert {verb for _, resource, verb, _ in granted if resource == "nodes"} == {"get", "list", "watch"}
    assert {verb for _, resource, verb, _ in granted if resource == "pods"} == {"get", "list", "watch"}


def test_shadow_mode_has_no_scheduler_no_lease_and_only_reads() -> None:
    objects = manifest("shadow.yaml")
    assert [container["name"] for container in pod_spec("shadow.yaml")["containers"]] == ["wattpack"]
    assert {verb for _, _, verb, _ in rights(objects)} == {"get", "list", "watch"}
    assert not of_kind(objects, "Role")
    config = parse_config(config_of("shadow.yaml").encode(), "wattpack.toml")
    assert (config.mode, config.lease.enabled, config.events) == ("shadow", False, "none")
    (deployment,) = of_kind(objects, "Deployment")
    assert deployment["spec"]["replicas"] == 1
    assert not of_kind(objects, "PodDisruptionBudget")  # with one replica it would block every drain


def test_two_replicas_survive_a_drain_and_prefer_two_nodes() -> None:
    objects = manifest("wattpack.yaml")
    (deployment,), (budget,) = of_kind(objects, "Deployment"), of_kind(objects, "PodDisruptionBudget")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["replicas"] == 2
    assert budget["spec"]["minAvailable"] == 1
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert "podAntiAffinity" in pod_spec("wattpack.yaml")["affinity"]
    assert pod_spec("wattpack.yaml")["topologySpreadConstraints"]


@pytest.mark.parametrize("name", WITH_PODS)
def test_only_the_metrics_port_is_open_and_only_api_server_and_dns_are_reached(name: str) -> None:
    (policy,) = of_kind(manifest(name), "NetworkPolicy")
    (service,) = of_kind(manifest(name), "Service")
    (deployment,) = of_kind(manifest(name), "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert service["spec"]["selector"].items() <= labels.items()
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]} == {"metrics"}
    assert {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]} == {443, 6443, 53}
    assert {port["targetPort"] for port in service["spec"]["ports"]} == {"metrics"}


def test_each_value_is_in_the_schema_and_the_other_way_round() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = yaml.safe_load((CHART / "values.schema.json").read_text(encoding="utf-8"))

    def compare(value: Object, wanted: Object, place: str) -> None:
        if (
            wanted.get("type") != "object"
            or wanted.get("additionalProperties") is not False
            or "required" not in wanted
        ):
            return
        assert set(value) == set(wanted["properties"]) - {"global"}, place
        for key, inner in value.items():
            compare(inner, wanted["properties"][key], f"{place}.{key}")

    compare(values, schema, "values")


def test_the_schema_knows_the_choices_that_the_service_knows() -> None:
    schema = yaml.safe_load((CHART / "values.schema.json").read_text(encoding="utf-8"))
    config = schema["properties"]["config"]["properties"]
    one, several = config["dialect"]["anyOf"]
    assert one["enum"] == [ALL, *DIALECTS]
    assert several["items"]["enum"] == list(DIALECTS)
    assert config["power_profile"]["enum"] == list(PROFILES)


def test_each_value_is_used_by_a_template() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in (CHART / "templates").iterdir())
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert [key for key in values if not re.search(rf"\.Values\.{key}\b", text)] == []
    assert [key for key in values["config"] if not re.search(rf"onfig\.{key}\b", text)] == []
