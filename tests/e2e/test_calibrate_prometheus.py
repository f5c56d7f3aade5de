"""`wattpack calibrate prometheus` with a real Prometheus; the exporters are made up, so the true curves are known."""

from __future__ import annotations

import json
import shutil
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from e2e.api import wait_until
from e2e.exporter import exporting
from e2e.processes import Processes, free_port
from wattpack.cli import main

pytestmark = pytest.mark.e2e

# model as DCGM names it -> idle, context and full watts
TRUE = {
    "NVIDIA H100 80GB HBM3": (70.0, 119.0, 640.0),
    "Tesla T4": (10.0, 28.0, 66.0),
    "Odd GPU 3000": (33.0, 60.0, 210.0),
}
NAMES = {"NVIDIA H100 80GB HBM3": "H100-80GB-HBM3", "Tesla T4": "T4", "Odd GPU 3000": "Odd-GPU-3000"}
NODES, GPUS_A_NODE = 6, 8  # of every model
SCRAPES = 25
WITHIN = 0.03


class Exporter:
    """Of all nodes: free GPUs, idle contexts, GPUs at random shares; noise of 2 %, 3 % of the samples are wrong."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.gpus = [
            (model, f"n{number}-{model[:4].strip()}", f"GPU-{model[:4].strip()}-{number}-{gpu}", gpu)
            for model in TRUE
            for number in range(NODES)
            for gpu in range(GPUS_A_NODE)
        ]

    def text(self) -> str:
        lines = []
        for model, node, uuid, gpu in self.gpus:
            idle_w, context_w, full_w = TRUE[model]
            share = 0.0 if gpu < 3 else float(self.rng.integers(1, 101)) / 100
            watts = idle_w if gpu < 2 else context_w + (full_w - context_w) * share
            watts *= 1 + 0.02 * self.rng.standard_normal()
            if self.rng.random() < 0.03:
                watts = self.rng.uniform(idle_w, full_w)
            labels = f'gpu="{gpu}",UUID="{uuid}",modelName="{model}",Hostname="{node}"'
            # A GPU that two pods share is told once for each of them.
            for pod in ("", ',pod="p"', ',pod="q"') if gpu == 5 else ("",):
                lines.append(f"DCGM_FI_DEV_POWER_USAGE{{{labels}{pod}}} {watts:.3f}")
                lines.append(f"DCGM_FI_DEV_GPU_UTIL{{{labels}{pod}}} {100 * share:.0f}")
                lines.append(f"DCGM_FI_DEV_FB_USED{{{labels}{pod}}} {4 if gpu < 2 else 900}")
        return "\n".join(lines) + "\n"


class WholeGpus(Exporter):
    """GPUs are free or in full use; kube-state-metrics tells how many are requested on a node."""

    def text(self) -> str:
        lines = []
        for node in dict.fromkeys(node for _, node, _, _ in self.gpus):
            taken = int(self.rng.integers(0, GPUS_A_NODE + 1))
            pod = f'namespace="a",pod="{node}"'
            requested = f'kube_pod_container_resource_requests{{{pod},node="{node}",resource="nvidia_com_gpu"}} {taken}'
            lines += [requested, f'kube_pod_status_phase{{{pod},phase="Running"}} 1']
            for model, _, uuid, gpu in (found for found in self.gpus if found[1] == node):
                watts = TRUE[model][2 if gpu < taken else 0] * (1 + 0.02 * self.rng.standard_normal())
                labels = f'UUID="{uuid}",modelName="{model}",Hostname="{node}.example.internal"'
                lines.append(f"DCGM_FI_DEV_POWER_USAGE{{{labels}}} {watts:.3f}")
        return "\n".join(lines) + "\n"


@contextmanager
def prometheus(exporter: Exporter, folder: Path, least: int = SCRAPES) -> Iterator[str]:
    """The address of a real Prometheus that has scraped the exporter `least` times."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no prometheus on this machine (Debian package prometheus)")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    processes = Processes(folder)
    with exporting(exporter.text) as exporter_port:
        config = folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s}\n"
            f"scrape_configs: [{{job_name: gpus, static_configs: [{{targets: ['127.0.0.1:{exporter_port}']}}]}}]\n"
        )
        words = [program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}"]
        processes.start("prometheus", [*words, f"--web.listen-address=127.0.0.1:{port}"])
        try:
            wait_until(lambda: scrapes(address) >= least, 90, "Prometheus has scraped the exporter")
            yield address
        finally:
            processes.kill_all()


def scrapes(address: str) -> int:
    query = f"{address}/api/v1/query?query=count_over_time(up%5B1h%5D)"
    try:
        with urllib.request.urlopen(query, timeout=5) as answer:
            result = json.load(answer)["data"]["result"]
    except OSError:
        return 0
    return int(result[0]["value"][1]) if result else 0


def test_the_true_curves_of_three_models_are_found_within_three_percent(tmp_path: Path) -> None:
    file = tmp_path / "power.toml"
    with prometheus(Exporter(), tmp_path) as address:
        main(["calibrate", "prometheus", address, "--last", f"{SCRAPES}s", "--step", "1s", "--out", str(file)])
    found = tomllib.loads(file.read_text())["gpu"]
    assert set(found) == set(NAMES.values())
    for model, (idle_w, context_w, full_w) in TRUE.items():
        entry = found[NAMES[model]]
        assert entry["idle_w"] == pytest.approx(idle_w, rel=WITHIN)
        assert entry["context_w"] == pytest.approx(context_w, rel=WITHIN)
        assert entry["max_w"] == pytest.approx(full_w, rel=WITHIN)
        assert entry["samples"] > 0.6 * SCRAPES * NODES * GPUS_A_NODE
        assert 0 < entry["fit_error_w"] < 0.04 * full_w


def test_requests_of_pods_tell_idle_and_full_within_three_percent(tmp_path: Path) -> None:
    file = tmp_path / "power.toml"
    with prometheus(WholeGpus(), tmp_path) as address:
        words = ["calibrate", "prometheus", address, "--last", f"{SCRAPES}s", "--step", "1s"]
        main([*words, "--share", "requests", "--out", str(file)])
    found = tomllib.loads(file.read_text())["gpu"]
    for model, (idle_w, _, full_w) in TRUE.items():
        entry = found[NAMES[model]]
        assert entry["idle_w"] == pytest.approx(idle_w, rel=WITHIN)
        assert entry["max_w"] == pytest.approx(full_w, rel=WITHIN)
        assert "context_w" not in entry


def test_an_expression_that_prometheus_refuses_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with prometheus(Exporter(), tmp_path, 2) as address, pytest.raises(SystemExit) as ended:
        main(["calibrate", "prometheus", address, "--last", "5s", "--step", "1s", "--share", "sum(("])
    assert ended.value.code == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "parse error" in said
    assert said.startswith(f"wattpack: {address}: answered 400")
