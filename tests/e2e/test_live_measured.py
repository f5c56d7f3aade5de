"""Modelled watts against measured ones through a real Prometheus; the exporter is made up: there are no GPUs here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from e2e.api import wait_until
from e2e.cluster import Cluster
from e2e.exporter import exporting
from e2e.nodes_and_pods import node_object, pod_object
from e2e.processes import free_port
from e2e.service import Service
from wattpack.model.tasks import TaskClass

pytestmark = pytest.mark.e2e

# Two T4 of n0, as a DCGM exporter tells them; the first is shared by two pods and told for each of them.
DCGM = """# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).
# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",modelName="Tesla T4",Hostname="n0",pod="p"} 61.5
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",modelName="Tesla T4",Hostname="n0",pod="q"} 61.5
DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-b",modelName="Tesla T4",Hostname="n0"} 10.5
"""
KEPLER = """# TYPE kepler_node_gpu_watts gauge
kepler_node_gpu_watts{gpu="0",node_name="n0",zone="gpu"} 50
kepler_node_gpu_watts{gpu="1",node_name="n0",zone="gpu"} 14
"""


@pytest.mark.parametrize(("told", "measured_w"), [(DCGM, 72.0), (KEPLER, 64.0)], ids=["dcgm", "kepler"])
def test_the_error_of_the_model_is_told_by_gpu_model(
    told: str, measured_w: float, cluster: Cluster, tmp_path: Path
) -> None:
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no prometheus on this machine (Debian package prometheus)")
    cluster.admin.create("/api/v1/nodes", node_object("n0", 32_000, 131_072, 2, "T4"))
    pod = pod_object("p", TaskClass(1_000, 1_024, 1, 500))
    pod["spec"]["nodeName"] = "n0"
    cluster.admin.create("/api/v1/namespaces/default/pods", pod)
    port = free_port()
    with exporting(lambda: told) as exporter_port:
        config = tmp_path / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s}\n"
            f"scrape_configs: [{{job_name: gpus, static_configs: [{{targets: ['127.0.0.1:{exporter_port}']}}]}}]\n"
        )
        words = [program, f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'tsdb'}"]
        cluster.processes.start("prometheus", [*words, f"--web.listen-address=127.0.0.1:{port}"])
        service = Service(
            cluster.processes,
            cluster.kubeconfig(),
            policy="fgd",
            target="default",
            prometheus=f"http://127.0.0.1:{port}",
            lease={"enabled": False},
        ).start()
        wait_until(lambda: service.get("/power")["models"], 90, "Prometheus has been asked with success")
        (row,) = service.get("/power")["models"]
        # One T4 with half a GPU in use draws 70 W by the paper's profile, the idle one 10 W.
        assert (row["model"], row["gpus"], row["modelled_w"], row["measured_w"]) == ("T4", 2, 80.0, measured_w)
        assert row["error_w_per_gpu"] == (80.0 - measured_w) / 2
        assert service.metrics()['wattpack_measured_power_watts{model="T4"}'] == measured_w
        cluster.processes.kill("prometheus")
