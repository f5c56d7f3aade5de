"""helm and the chart for tests: ways to install it, a control plane that can hold it, where its objects go."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.files import CHART, NAMESPACE, Object, manifest, read_objects
from e2e.api import wait_until
from e2e.cluster import Cluster, User

ACCOUNT = User.service_account(NAMESPACE, "wattpack")
# Ways to install it that differ in what is rendered.
WAYS = {
    "default": (),
    "shadow": ("mode=shadow",),
    "score": ("mode=score", "scheduler.weight=5", "scheduler.managedResources[0].name=nvidia.com/gpu"),
    "built-in roles": ("rbac.builtInRoles=true", "replicas=1"),
    "advise": ("sleep.mode=advise", "sleep.nodes=pool=gpu"),
    "shadow that advises": ("mode=shadow", "sleep.mode=advise", "sleep.nodes=pool=gpu"),
    "sleep by redfish": (
        *("sleep.mode=act", "sleep.nodes=pool=gpu", "sleep.redfish.address=https://{node}.bmc.example"),
        *("sleep.redfish.credentialsSecret=bmc", "sleep.reserve=16", "sleep.authorities=PEM"),
    ),
    "sleep by redfish with secrets": (
        *("sleep.mode=act", "sleep.nodes=pool=gpu", "sleep.redfish.annotation=example.com/bmc"),
        *("sleep.redfish.hosts[0]=10.1.0.0/16", "sleep.redfish.secret=wattpack/bmc-{node}", "sleep.consolidate=true"),
        "sleep.redfish.addresses.gpu-1=https://10.1.0.1",
    ),
    "sleep by metal3": (
        "sleep.mode=act",
        "sleep.nodes=pool=gpu",
        "sleep.power=metal3",
        "sleep.metal3.namespace=wattpack",
    ),
    "sleep by webhook": (
        *("sleep.mode=act", "sleep.nodes=pool=gpu", "sleep.power=webhook", "sleep.webhook.url=https://power.example"),
        "sleep.webhook.tokenSecret=power",
    ),
    "sleep by command": (
        *("sleep.mode=act", "sleep.nodes=pool=gpu", "sleep.power=command", "sleep.command.argv[0]=/opt/power"),
        "sleep.wakeOnUninstall.enabled=false",
    ),
    "claims": ("allocateClaims=true",),
    "everything": (
        *("serviceMonitor.enabled=true", "serviceMonitor.labels.release=prometheus", "dashboard.enabled=true"),
        *("prometheusRule.enabled=true", "prometheusRule.labels.release=prometheus", "metrics.namespaces=20"),
        *("prometheus.url=http://prometheus.monitoring:9090", "priorityClassName=system-cluster-critical"),
        *("scheduler.preemption=true", "scheduler.dynamicResources=true", "config.models.My-GPU=A100"),
        *(
            "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.name=monitoring",
            "imagePullSecrets[0].name=mine",
        ),
        *(
            "tolerations[0].operator=Exists",
            "podAnnotations.a=b",
            "podLabels.c=d",
            "image.registry=registry.example:5000",
        ),
    ),
}


def custom_resource(kind: str, spec: Object) -> Object:
    """A custom resource of the Prometheus operator, as far as the chart uses it; the operator's own has much more."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower()},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


LABELS = {"type": "object", "additionalProperties": {"type": "string"}}
ENDPOINT = {
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in ("port", "path", "interval")},
        "honorLabels": {"type": "boolean"},
        "authorization": {
            "type": "object",
            "properties": {
                "credentials": {
                    "type": "object",
                    "required": ["key"],
                    "properties": {"name": {"type": "string"}, "key": {"type": "string"}},
                }
            },
        },
    },
}
RULE = {
    "type": "object",
    "required": ["expr"],
    "properties": {
        **{name: {"type": "string"} for name in ("alert", "expr", "for")},
        **dict.fromkeys(("labels", "annotations"), LABELS),
    },
}
GROUP = {"type": "object", "properties": {"name": {"type": "string"}, "rules": {"type": "array", "items": RULE}}}
CUSTOM_RESOURCES = (
    custom_resource(
        "ServiceMonitor",
        {
            "selector": {"type": "object", "properties": {"matchLabels": LABELS}},
            "endpoints": {"type": "array", "items": ENDPOINT},
        },
    ),
    custom_resource("PrometheusRule", {"groups": {"type": "array", "items": GROUP}}),
)
# Collections by kind, below /apis/GROUP/VERSION or /api/v1.
PLURAL = {"NetworkPolicy": "networkpolicies"}


def collection(read: Object) -> str:
    version = read["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = read["metadata"].get("namespace")
    plural = PLURAL.get(read["kind"], read["kind"].lower() + "s")
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def create_namespace(cluster: Cluster) -> None:
    cluster.admin.create("/api/v1/namespaces", manifest("namespace.yaml")[0])


@contextmanager
def cluster_for_chart(binaries: Path, folder: Path) -> Iterator[Cluster]:
    """A control plane with the namespace of the manifests and the operator's custom resources."""
    with Cluster(binaries, folder, users=[ACCOUNT]) as cluster:
        create_namespace(cluster)
        for each in CUSTOM_RESOURCES:
            cluster.admin.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", each)
        root = "/apis/monitoring.coreos.com/v1"
        wait_until(
            lambda: all(
                cluster.admin.request("GET", f"{root}/{each['spec']['names']['plural']}")[0] == 200
                for each in CUSTOM_RESOURCES
            ),
            30,
            "the operator's custom resources are served",
        )
        yield cluster


class Helm:
    """helm, with a home of its own, on one cluster or none."""

    def __init__(self, program: Path, folder: Path, kubeconfig: Path | None = None) -> None:
        self.program = program
        self.environment = {**os.environ, "HELM_CACHE_HOME": str(folder), "HELM_CONFIG_HOME": str(folder)}
        self.environment |= {"HELM_DATA_HOME": str(folder), "KUBECONFIG": str(kubeconfig or os.devnull)}

    def __call__(self, *words: str, values: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), *words]
        for value in values:
            command += ["--set", value]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)

    def template(self, *values: str) -> list[Object]:
        done = self("template", "wattpack", str(CHART), "-n", NAMESPACE, "--kube-version", "1.36.4", values=values)
        assert done.returncode == 0, done.stderr
        return read_objects(done.stdout)
