"""`wattpack import` of a real apiserver gives what `wattpack import` of kubectl's files gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.cluster import Cluster, User
from kube.cluster import nodes, pods
from wattpack.cli import main

pytestmark = pytest.mark.e2e


def test_a_cluster_and_its_files_give_the_same_import(
    binaries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Cluster(binaries, tmp_path / "cluster", users=[User("nobody")]) as cluster:
        for namespace in sorted({pod["metadata"]["namespace"] for pod in pods()} - {"kube-system"}):
            cluster.admin.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        for node in nodes():
            cluster.admin.create("/api/v1/nodes", node)
        for pod in pods():
            path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
            cluster.admin.create(path, pod | {"metadata": {**pod["metadata"], "uid": ""}})
            if pod["status"]["phase"] != "Pending":
                name = pod["metadata"]["name"]
                cluster.admin.patch(f"{path}/{name}/status", {"status": pod["status"]})
        items = [
            *({"kind": "Node"} | node for node in cluster.admin.list("/api/v1/nodes")),
            *({"kind": "Pod"} | pod for pod in cluster.admin.list("/api/v1/pods")),
        ]
        (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
        main(["import", "--kubeconfig", str(cluster.kubeconfig()), "--out", str(tmp_path / "live")])
        main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "files")])
        with pytest.raises(SystemExit) as ended:
            main(["import", "--kubeconfig", str(cluster.kubeconfig("nobody")), "--out", str(tmp_path / "no")])
        assert ended.value.code == 1
        assert "the cluster cannot be asked: 403" in capsys.readouterr().err
    for name in ("nodes.csv", "tasks.csv", "placements.csv"):
        assert (tmp_path / "live" / name).read_text() == (tmp_path / "files" / name).read_text()
    assert len((tmp_path / "live" / "nodes.csv").read_text().splitlines()) == 1 + 5
    assert len((tmp_path / "live" / "tasks.csv").read_text().splitlines()) == 1 + 7
