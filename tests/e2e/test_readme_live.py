"""The README's commands for a Kubernetes cluster, word for word, on a real apiserver."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from e2e.cluster import Cluster
from e2e.nodes_and_pods import node_object, pod_object
from wattpack.model.tasks import TaskClass

pytestmark = pytest.mark.e2e

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SECTION = re.findall(r"## In a Kubernetes cluster.*?(?=\n## )", README, flags=re.DOTALL)[0]
BLOCKS = "\n".join(re.findall(r"^```sh\n(.*?)^```", SECTION, flags=re.DOTALL | re.MULTILINE))
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^wattpack [^\n#]+", BLOCKS, flags=re.MULTILINE)]
READY_S = 60


def test_each_command_of_the_section_runs_in_the_order_of_the_readme(cluster: Cluster, tmp_path: Path) -> None:
    for number in range(3):
        cluster.admin.create("/api/v1/nodes", node_object(f"n{number}", 32_000, 131_072, 4, "T4"))
    task = TaskClass(2_000, 4_096, 1, 500)
    for number in range(4):
        pod = pod_object(f"p{number}", task)
        pod["spec"]["nodeName"] = f"n{number % 3}"
        cluster.admin.create("/api/v1/namespaces/default/pods", pod)
    (tmp_path / "pod.yaml").write_text(json.dumps(pod_object("wish", task)))
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig()), "HOME": str(tmp_path)}
    environment.setdefault("WATTPACK_CACHE", str(Path.home() / ".cache"))
    said = {}
    for words in COMMANDS:
        command = [sys.executable, "-m", "wattpack", *words]
        if words[0] == "serve":
            serve_until_ready(command, environment, tmp_path)
            continue
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        said[words[0]] = done.stdout
    assert (tmp_path / "cluster" / "placements.csv").read_text().count("\n") == 1 + 4
    assert "W" in said["replay"]
    assert "chosen among 3 nodes that fit" in said["fit"]


def serve_until_ready(command: list[str], environment: dict[str, str], folder: Path) -> None:
    """Started as the README says, asked once it is ready, ended by SIGTERM with 0."""
    service = subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        ends = time.monotonic() + READY_S
        while True:
            assert service.poll() is None, service.stderr.read() if service.stderr else ""
            try:
                with urllib.request.urlopen("http://127.0.0.1:8888/readyz", timeout=5):
                    break
            except OSError:
                assert time.monotonic() < ends, "not ready"
                time.sleep(0.1)
        with urllib.request.urlopen("http://127.0.0.1:8888/shadow", timeout=5) as answer:
            table = json.load(answer)
        assert table["cluster_w"] == table["cluster_under_policy_w"] > 0
        service.send_signal(signal.SIGTERM)
        assert service.wait(20) == 0
    finally:
        service.kill()
        service.communicate()
