"""The control plane of the e2e tests itself: its build script says what is missing, and its parts can be killed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from e2e.api import ApiError, wait_until
from e2e.audit import bindings, pending
from e2e.cluster import Cluster, User
from e2e.nodes_and_pods import node_object, pod_object
from wattpack.model.tasks import TaskClass

BUILD = Path(__file__).parents[2] / "tools" / "controlplane" / "build.sh"
NAMES = ("etcd", "kube-apiserver", "kube-scheduler")
TASK = TaskClass(1000, 1024, 0, 0)


def build(*names: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if key != "KUBEBUILDER_ASSETS"}
    return subprocess.run([BUILD, *names], env={**kept, **environment}, capture_output=True, text=True, check=False)


def executables(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch(mode=0o755)
    return folder


def test_binaries_somebody_already_has_are_used_as_they_are(tmp_path: Path) -> None:
    assets = executables(tmp_path / "assets", *NAMES)
    done = build(KUBEBUILDER_ASSETS=str(assets), WATTPACK_CACHE=str(tmp_path / "cache"))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{assets}\n", "")
    assert not (tmp_path / "cache").exists()


def test_a_folder_of_binaries_that_lacks_one_is_refused(tmp_path: Path) -> None:
    assets = executables(tmp_path / "assets", "etcd", "kube-apiserver")
    done = build(KUBEBUILDER_ASSETS=str(assets))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "build.sh: KUBEBUILDER_ASSETS has no kube-scheduler\n"


def test_without_go_one_line_says_so_and_nothing_is_left(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "env", "dirname", "cat", "sha256sum", "cut"):
        (tools / name).symlink_to(
            next(Path(place) / name for place in ("/bin", "/usr/bin") if (Path(place) / name).exists())
        )
    done = build(PATH=str(tools), WATTPACK_CACHE=str(tmp_path / "cache"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("build.sh: Go is not installed")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "cache").exists()


@pytest.mark.e2e
def test_a_pod_is_bound_by_a_scheduler_of_its_own_name_and_by_no_other(cluster: Cluster) -> None:
    api = cluster.admin
    api.create("/api/v1/nodes", node_object("node", 8000, 8192, 0, ""))
    api.create("/api/v1/namespaces/default/pods", pod_object("ours", TASK))
    api.create("/api/v1/namespaces/default/pods", pod_object("another", TASK, scheduler_name="another"))
    cluster.start_scheduler(extender_url=None, scheduler_name="wattpack")
    wait_until(lambda: pending(api) == ["another"], 30, "the pod is bound")
    assert bindings(cluster) == {"ours": 1}


@pytest.mark.e2e
def test_what_was_written_is_there_after_the_apiserver_is_killed(cluster: Cluster) -> None:
    api = cluster.admin
    api.create("/api/v1/nodes", node_object("node", 8000, 8192, 0, ""))
    cluster.restart_apiserver()
    assert [node["metadata"]["name"] for node in api.list("/api/v1/nodes")] == ["node"]


@pytest.mark.e2e
def test_a_user_may_do_what_a_role_says_and_no_more(binaries: Path, tmp_path: Path) -> None:
    account = User.service_account("kube-system", "reader")
    with Cluster(binaries, tmp_path / "cluster", users=[account]) as cluster:
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"}}
        rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]
        cluster.admin.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {**role, "rules": rules})
        bound = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "kube-system", "name": "reader"}],
        }
        cluster.admin.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", bound)
        reader = cluster.client(account.name)
        wait_until(lambda: reader.allowed("list", "nodes"), 10, "the role counts")
        assert reader.list("/api/v1/nodes") == []
        assert not reader.allowed("watch", "nodes")
        with pytest.raises(ApiError) as refused:
            reader.list("/api/v1/pods")
        assert refused.value.status == 403
        reader.close()
