"""`helm uninstall` while nodes sleep: everything is woken and uncordoned first, with the rights of the chart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.files import CHART, NAMESPACE
from e2e.chart import ACCOUNT, Helm, create_namespace
from e2e.cluster import Cluster
from e2e.job_runner import JobRunner
from e2e.sleep_scene import SleepScene

pytestmark = pytest.mark.e2e
JOB = "wattpack-wake-all"
VALUES = (
    *("sleep.mode=act", "sleep.nodes=pool=gpu", "sleep.redfish.credentialsSecret=bmc"),
    *("sleep.redfish.address=https://{node}.bmc.example", "sleep.wakeOnUninstall.deadline_s=40"),
)


@pytest.fixture(scope="module")
def cluster(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(binaries, tmp_path_factory.mktemp("uninstall"), users=[ACCOUNT]) as started:
        create_namespace(started)
        yield started


@pytest.fixture
def installed(helm: Path, cluster: Cluster, tmp_path: Path) -> Helm:
    online = Helm(helm, tmp_path, cluster.kubeconfig())
    label = {"metadata": {"labels": {"wattpack.io/sleep": None}}}  # of the test before
    cluster.admin.patch(f"/api/v1/namespaces/{NAMESPACE}", label)
    done = online("install", "wattpack", str(CHART), "-n", NAMESPACE, values=VALUES)
    assert done.returncode == 0, done.stderr
    return online


def test_uninstalling_wakes_and_uncordons_every_node_first(installed: Helm, cluster: Cluster) -> None:
    with SleepScene(cluster, "uninstall", nodes=2, namespace=NAMESPACE) as scene:
        scene.service.start()
        scene.all_asleep()
        with JobRunner(cluster, NAMESPACE, JOB, cluster.kubeconfig(ACCOUNT.name)) as runner:
            done = installed("uninstall", "wattpack", "-n", NAMESPACE, "--timeout", "2m")
        assert done.returncode == 0, done.stderr + runner.output
        assert scene.states() == dict.fromkeys(scene.nodes, "awake")
        assert [scene.emulator.power(node) for node in scene.nodes] == ["On", "On"]
        assert not any(scene.node(node)["spec"].get("unschedulable") for node in scene.nodes)
        scene.settle()


def test_uninstalling_says_which_node_it_could_not_wake_and_removes_nothing(installed: Helm, cluster: Cluster) -> None:
    with SleepScene(cluster, "stuck", nodes=2, namespace=NAMESPACE, wake_timeout="6s") as scene:
        scene.service.start()
        scene.all_asleep()
        scene.kubelets.broken.add(scene.nodes[0])
        with JobRunner(cluster, NAMESPACE, JOB, cluster.kubeconfig(ACCOUNT.name)) as runner:
            done = installed("uninstall", "wattpack", "-n", NAMESPACE, "--timeout", "2m")
        assert done.returncode != 0
        assert scene.nodes[0] in runner.output
        assert scene.nodes[1] not in [
            word for line in runner.output.splitlines() if "given up" in line for word in line.split()
        ]
        assert installed("status", "wattpack", "-n", NAMESPACE).returncode == 0
        assert scene.states() == {scene.nodes[0]: "given up", scene.nodes[1]: "awake"}
        scene.settle()
    assert installed("uninstall", "wattpack", "-n", NAMESPACE, "--no-hooks").returncode == 0
