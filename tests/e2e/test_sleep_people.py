"""What people type: the commands of the guide, on nodes that sleep."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.api import wait_until
from e2e.cluster import Cluster
from e2e.nodes_and_pods import pod_object
from e2e.sleep_scene import WHOLE, SleepScene

pytestmark = pytest.mark.e2e
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "sleep-live.md"
ASK = "wattpack.io/sleep-ask"


def commands_of_the_guide() -> list[list[str]]:
    """`wattpack sleep ...` of its shell blocks, each once, in the order of the page."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("wattpack sleep ")]
    return [list(words) for words in dict.fromkeys(tuple(shlex.split(line, comments=True)) for line in lines)]


def run(scene: SleepScene, words: list[str], node: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *(node if word == "gpu-7" else word for word in words)]
    environment = {**os.environ, "KUBECONFIG": str(scene.cluster.kubeconfig())}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90, check=False)


def test_each_command_of_the_guide_does_what_the_guide_says(cluster: Cluster) -> None:
    with SleepScene(cluster, "people", nodes=3) as scene:
        scene.service.start()
        scene.all_asleep()
        node = scene.nodes[1]
        status, hold, wake, wake_all = commands_of_the_guide()
        assert [words[2] for words in (status, hold, wake)] == ["status", "hold", "wake"]
        done = run(scene, status, node)
        assert done.returncode == 0, done.stderr
        assert all(name in done.stdout for name in scene.nodes)
        assert "asleep" in done.stdout
        done = run(scene, hold, node)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: scene.states()[node] == "awake", 40, f"a node that is held wakes\n{scene.service.log}")
        assert scene.node(node)["metadata"]["annotations"][ASK] == "hold"
        done = run(scene, wake, node)
        assert done.returncode == 0, done.stderr
        done = run(scene, wake_all, node)
        assert done.returncode == 0, done.stdout + done.stderr
        scene.settle()


def test_fit_names_the_node_asleep_that_would_wake(cluster: Cluster, tmp_path: Path) -> None:
    with SleepScene(cluster, "fit", nodes=2) as scene:
        scene.service.start()
        scene.all_asleep()
        file = tmp_path / "pod.json"
        file.write_text(json.dumps(pod_object("wish", WHOLE)))
        done = run(scene, ["wattpack", "fit", "--pod", str(file), "--server", scene.service.url], "")
        assert done.returncode == 0, done.stderr
        assert f"{scene.nodes[0]}, which is asleep, would wake for the pod" in done.stdout
        assert scene.states() == dict.fromkeys(scene.nodes, "asleep")
