"""The rights of the chart's service account on a real API server: enough, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from deploy.files import CHART, NAMESPACE, rights
from e2e.api import Api, wait_until
from e2e.chart import ACCOUNT, Helm, cluster_for_chart
from e2e.claim_objects import CLAIMS, CLASSES, DRIVER, SLICES, TEMPLATES, add_class, claim_object
from e2e.cluster import Cluster
from wattpack.model.tasks import TaskClass

pytestmark = pytest.mark.e2e

SCHEDULER_LEASE = "wattpack-kube-scheduler"
LEASES = {"group": "coordination.k8s.io", "resource": "leases"}
NEEDED = [
    *({"verb": verb, "resource": "nodes"} for verb in ("list", "watch")),
    *({"verb": verb, "resource": "pods"} for verb in ("get", "list", "watch")),
    {"verb": "create", "resource": "pods/binding", "namespace": "default"},
    {"verb": "create", "resource": "events", "namespace": "default"},
    {"verb": "create", "resource": "events", "namespace": "default", "group": "events.k8s.io"},
    {"verb": "patch", "resource": "pods/status", "namespace": "default"},
    {"verb": "update", "resource": "persistentvolumeclaims", "namespace": "default"},
    {"verb": "create", "namespace": NAMESPACE, **LEASES},
    *(
        {"verb": verb, "namespace": NAMESPACE, "name": name, **LEASES}
        for verb in ("get", "update")
        for name in ("wattpack", SCHEDULER_LEASE)
    ),
]
REFUSED = [
    *({"verb": verb, "resource": "pods", "namespace": "default"} for verb in ("create", "update", "patch", "delete")),
    *({"verb": verb, "resource": "pods/exec", "namespace": "default"} for verb in ("create", "get")),
    {"verb": "create", "resource": "pods/eviction", "namespace": "default"},
    *({"verb": verb, "resource": "nodes"} for verb in ("create", "update", "patch", "delete")),
    {"verb": "patch", "resource": "nodes/status"},
    *({"verb": verb, "resource": "secrets", "namespace": NAMESPACE} for verb in ("get", "list", "create")),
    *({"verb": verb, "resource": "configmaps", "namespace": NAMESPACE} for verb in ("get", "list", "update")),
    {"verb": "create", "resource": "serviceaccounts/token", "namespace": NAMESPACE},
    {"verb": "impersonate", "resource": "users"},
    {"verb": "create", "resource": "clusterrolebindings", "group": "rbac.authorization.k8s.io"},
    {"verb": "escalate", "resource": "clusterroles", "group": "rbac.authorization.k8s.io"},
    {"verb": "create", "resource": "tokenreviews", "group": "authentication.k8s.io"},
    {"verb": "update", "resource": "resourceclaims/status", "namespace": "default", "group": "resource.k8s.io"},
    # Other leases: the default scheduler's, another one beside ours, ours by another verb or in another namespace.
    {"verb": "update", "namespace": "kube-system", "name": "kube-scheduler", **LEASES},
    {"verb": "create", "namespace": "kube-system", **LEASES},
    {"verb": "update", "namespace": NAMESPACE, "name": "another", **LEASES},
    {"verb": "delete", "namespace": NAMESPACE, "name": "wattpack", **LEASES},
    {"verb": "list", "namespace": NAMESPACE, **LEASES},
    {"verb": "update", "namespace": "default", "name": "wattpack", **LEASES},
]


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


def test_allocating_claims_brings_the_rights_for_it_and_no_others(offline: Helm) -> None:
    """In shadow mode only those to read. The plugin that would allocate is off, and never both at once."""
    group = "resource.k8s.io"
    read = {(group, kind, verb, "") for kind in ("deviceclasses", "resourceslices") for verb in ("list", "watch")}
    read |= {(group, "resourceclaims", verb, "") for verb in ("get", "list", "watch")}
    template = {(group, "resourceclaimtemplates", "get", "")}  # for `wattpack fit`
    read |= template
    kinds = ("resourceclaims", "resourceclaims/status", "resourceclaims/binding")
    write = {(group, kind, "patch", "") for kind in kinds}

    def of_wattpack(*values: str) -> set[tuple[str, str, str, str]]:
        objects = offline.template(*values)
        return rights([one for one in objects if one["metadata"]["name"] == "wattpack"])

    assert of_wattpack("allocateClaims=true") - of_wattpack() == read | write
    assert of_wattpack() - of_wattpack("allocateClaims=true") == set()
    assert of_wattpack("allocateClaims=true", "mode=shadow") - of_wattpack("mode=shadow") == read
    whole = offline.template("allocateClaims=true")
    assert rights(whole) - rights(offline.template()) == write | template  # kube-scheduler's own role reads them anyway
    for values, disabled in ((("allocateClaims=true",), ["DynamicResources"]), ((), [])):
        config = next(one for one in offline.template(*values) if "scheduler.yaml" in one.get("data", {}))
        plugins = yaml.safe_load(config["data"]["scheduler.yaml"])["profiles"][0]["plugins"]
        assert [one["name"] for one in plugins.get("multiPoint", {}).get("disabled", [])] == disabled
    values = ("allocateClaims=true", "scheduler.dynamicResources=true")
    both = offline("template", str(CHART), "--kube-version", "1.36.4", values=values)
    assert both.returncode != 0
    assert "expected one of them" in both.stderr


def test_the_rights_suffice_to_allocate_a_claim_and_to_free_it(online: Helm, installed_on: Cluster) -> None:
    """By real calls: the API server asks for the right to resourceclaims/binding only when an allocation changes."""
    admin = installed_on.admin
    add_class(admin)
    claim = admin.create(CLAIMS, claim_object("rights", TaskClass(0, 0, 1, 1000)))
    path, where = f"{CLAIMS}/rights", {"key": "metadata.name", "operator": "In", "values": ["n"]}
    result = {"request": "gpu", "driver": DRIVER, "pool": "n", "device": "gpu-0"}
    selector = {"nodeSelectorTerms": [{"matchFields": [where]}]}
    allocated = {
        "allocation": {"devices": {"results": [result]}, "nodeSelector": selector},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
    }
    done = online("install", "wattpack", str(CHART), "-n", NAMESPACE, values=("allocateClaims=true",))
    assert done.returncode == 0, done.stderr
    account = installed_on.client(ACCOUNT.name)
    try:
        patch = {"resource": "resourceclaims/binding", "group": "resource.k8s.io"}
        wait_until(lambda: account.allowed("patch", **patch), 10, "the roles are known")
        for listed in (SLICES, CLASSES, "/apis/resource.k8s.io/v1/resourceclaims"):
            assert account.request("GET", listed)[0] == 200
        assert account.request("GET", f"{TEMPLATES}/none")[0] == 404
        assert account.request("GET", TEMPLATES)[0] == 403
        account.patch(path, {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}})
        account.patch(f"{path}/status", {"status": allocated})
        account.patch(f"{path}/status", {"status": {"allocation": None, "reservedFor": None}})
        account.patch(path, {"metadata": {"finalizers": []}})
        for method, body in (("DELETE", None), ("PUT", claim)):
            assert account.request(method, path, body)[0] == 403
        assert account.request("POST", CLAIMS, claim_object("other", TaskClass(0, 0, 1, 1000)))[0] == 403
    finally:
        account.close()
        assert online("uninstall", "wattpack", "-n", NAMESPACE).returncode == 0


@pytest.fixture
def release(online: Helm, installed_on: Cluster) -> Iterator[Api]:
    """The chart, installed with default values; the client of its service account."""
    done = online("install", "wattpack", str(CHART), "-n", NAMESPACE)
    assert done.returncode == 0, done.stderr
    account = installed_on.client(ACCOUNT.name)
    # The authoriser's own cache of roles is a moment behind.
    wait_until(
        lambda: account.allowed("list", "nodes") and account.allowed("list", "csinodes", group="storage.k8s.io"),
        10,
        "the roles are known",
    )
    yield account
    account.close()
    assert online("uninstall", "wattpack", "-n", NAMESPACE).returncode == 0


def test_the_service_account_can_do_what_it_needs(release: Api) -> None:
    assert [asked for asked in NEEDED if not release.allowed(**asked)] == []


def test_the_service_account_is_refused_the_rest(release: Api) -> None:
    assert [asked for asked in REFUSED if release.allowed(**asked)] == []


def test_real_calls_of_the_service_account_are_refused(release: Api, installed_on: Cluster) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bystander", "namespace": "default"}}
    pod["spec"] = {"containers": [{"name": "main", "image": "none"}]}
    installed_on.admin.create("/api/v1/namespaces/default/pods", pod)
    assert release.get("/api/v1/namespaces/default/pods/bystander")["metadata"]["name"] == "bystander"
    for method, path, body in [
        ("DELETE", "/api/v1/namespaces/default/pods/bystander", None),
        ("POST", "/api/v1/namespaces/default/pods", pod),
        ("GET", "/api/v1/namespaces/kube-system/secrets", None),
        ("GET", f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases", None),
    ]:
        status, answer = release.request(method, path, body)
        assert (status, answer["reason"]) == (403, "Forbidden"), path
    installed_on.admin.delete("/api/v1/namespaces/default/pods/bystander")


def test_shadow_mode_may_only_read_nodes_and_pods(online: Helm, installed_on: Cluster) -> None:
    where = ("wattpack", str(CHART), "-n", NAMESPACE)
    assert online("install", *where, values=("mode=shadow",)).returncode == 0
    account = installed_on.client(ACCOUNT.name)
    try:
        wait_until(lambda: account.allowed("list", "nodes"), 10, "the roles are known")
        reads = [asked for asked in NEEDED if account.allowed(**asked)]
        assert {(asked["resource"], asked["verb"]) for asked in reads} == {
            *(("nodes", verb) for verb in ("list", "watch")),
            *(("pods", verb) for verb in ("get", "list", "watch")),
        }
        assert [asked for asked in REFUSED if account.allowed(**asked)] == []
    finally:
        account.close()
        online("uninstall", "wattpack", "-n", NAMESPACE)


def built_in(installed_on: Cluster) -> set[tuple[str, str, str, str]]:
    """What a kube-scheduler may do by the roles of the cluster itself."""
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:{}-scheduler"
    roles = [installed_on.admin.get(path.format(name)) for name in ("kube", "volume")]
    return rights([{**role, "kind": "ClusterRole"} for role in roles])


def test_the_role_of_the_scheduler_is_the_cluster_s_own_less_what_is_named_here(
    offline: Helm, installed_on: Cluster
) -> None:
    """Another Kubernetes whose scheduler needs more, or less, shows here."""
    own = rights(offline.template())
    missing = {(group, resource) for group, resource, verb, name in built_in(installed_on) - own}
    assert missing == {
        ("", "bindings"),  # the old way to bind
        ("", "events"),  # patch and update: kube-scheduler writes to events.k8s.io
        ("", "pods"),  # delete: preemption
        ("", "pods/finalizers"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
        ("coordination.k8s.io", "leasecandidates"),
        ("coordination.k8s.io", "leases"),  # of the default scheduler
        ("extensions", "replicasets"),  # gone since 1.16
        ("resource.k8s.io", "resourceclaims"),  # to write
        ("resource.k8s.io", "resourceclaims/binding"),
        ("resource.k8s.io", "resourceclaims/status"),
    }
    more = {right for right in own - built_in(installed_on) if right[1] != "leases"}
    # Only read, and only by schedulers of clusters that have switched these features on.
    assert {resource for _, resource, _, _ in more} == {"devicetaintrules", "podgroups"}
    assert {verb for _, _, verb, _ in more} == {"get", "list", "watch"}


# ---- nodes that sleep

EVICT = {"verb": "create", "resource": "pods/eviction", "namespace": "default"}
PATCH_NODES = {"verb": "patch", "resource": "nodes"}
HOSTS = {"group": "metal3.io", "resource": "baremetalhosts", "namespace": "metal3"}
SECRET = {"verb": "get", "resource": "secrets", "namespace": "bmc", "name": "gpu-7"}
SLEEP_RIGHTS = [
    PATCH_NODES,
    EVICT,
    SECRET,
    {"verb": "patch", "namespace": NAMESPACE, "name": "wattpack", **LEASES},
    {"verb": "patch", "resource": "namespaces", "namespace": NAMESPACE, "name": NAMESPACE},
    {"verb": "patch", "resource": "namespaces", "namespace": "default", "name": "default"},  # never
    *({"verb": verb, **HOSTS} for verb in ("get", "list", "patch")),
]
ACT = ("sleep.mode=act", "sleep.nodes=pool=gpu")
ALWAYS = ["patch leases", "patch namespaces", "patch nodes"]
BY_SECRETS = (*ACT, "sleep.redfish.secret=bmc/{node}", "sleep.redfish.address=https://{node}.bmc.example")


@pytest.mark.parametrize(
    ("values", "granted"),
    [
        (("sleep.mode=advise", "sleep.nodes=pool=gpu"), []),
        ((*ACT, "sleep.redfish.credentialsSecret=bmc"), ALWAYS),
        ((*ACT, "sleep.redfish.credentialsSecret=bmc", "sleep.consolidate=true"), ["create pods/eviction", *ALWAYS]),
        (BY_SECRETS, ["get secrets", *ALWAYS]),
        ((*BY_SECRETS[:2], "sleep.redfish.secret=bmc/another", BY_SECRETS[3]), ALWAYS),
        (
            (*ACT, "sleep.power=metal3"),
            ["get baremetalhosts", "list baremetalhosts", "patch baremetalhosts", *ALWAYS],
        ),
    ],
)
def test_sleep_has_the_rights_that_its_values_need_and_no_other(
    online: Helm, installed_on: Cluster, values: tuple[str, ...], granted: list[str]
) -> None:
    for name in ("bmc", "metal3"):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        installed_on.admin.request("POST", "/api/v1/namespaces", body)  # 409 from the second on
    done = online("install", "wattpack", str(CHART), "-n", NAMESPACE, values=values)
    assert done.returncode == 0, done.stderr
    account = installed_on.client(ACCOUNT.name)

    def may() -> list[str]:
        return sorted(f"{asked['verb']} {asked['resource']}" for asked in SLEEP_RIGHTS if account.allowed(**asked))

    try:
        wait_until(lambda: account.allowed("list", "nodes") and may() == sorted(granted), 10, f"{granted}: {may()}")
        others = [asked for asked in REFUSED if account.allowed(**asked)]
        assert [asked for asked in others if asked not in (EVICT, PATCH_NODES)] == []
    finally:
        account.close()
        assert online("uninstall", "wattpack", "-n", NAMESPACE, "--no-hooks").returncode == 0
