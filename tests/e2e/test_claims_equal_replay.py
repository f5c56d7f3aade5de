"""The proof that the service allocates claims as the simulator decides: 1,213 nodes, 1,000 pods, every device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.audit import bindings
from e2e.claim_audit import claim_faults, claimed_gpus
from e2e.claim_scene import empty_claims
from e2e.cluster import Cluster
from e2e.live_run import TASKS, first_tasks, replayed, run_live
from wattpack.datasets import alibaba2023

pytestmark = pytest.mark.e2e

POLICIES = ("fgd", "pwr:0.1+fgd:0.9", "ocs")


@pytest.fixture
def cluster(binaries_with_controllers: Path, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(binaries_with_controllers, tmp_path / "cluster") as started:
        started.start_controller_manager()
        yield started


def test_every_pod_with_a_claim_is_on_the_node_and_the_devices_that_replay_gives(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shares, whole GPUs and several GPUs; in the end every claim is freed when its pod is deleted."""
    datacenter, workload = alibaba2023.datacenter(), first_tasks()
    asked = {workload.classes[k] for k in workload.sequence.tolist()}
    assert {0 < task.gpu_milli < 1000 for task in asked if task.num_gpu} == {True, False}
    assert max(task.num_gpu for task in asked) > 1
    for number, policy in enumerate(POLICIES):
        expected = replayed(tmp_path / f"replay-{number}", datacenter, workload, policy)
        assert len(expected) == TASKS
        run = run_live(cluster, datacenter, workload, policy, name=str(number), by_claims=True)
        differing = {
            task: (run.placed.get(task), there) for task, there in expected.items() if run.placed.get(task) != there
        }
        assert not differing, f"{policy}: {len(differing)} differ, first {sorted(differing.items())[:3]}"
        assert claim_faults(cluster.admin) == []
        held = sum(workload.classes[k].num_gpu * workload.classes[k].gpu_milli for k in workload.sequence.tolist())
        assert claimed_gpus(cluster.admin) == held / 1000
        with capsys.disabled():  # a number for whoever reads the log of CI; `benchmarks/claims.py` measures
            print(f"\n{policy}: {run.pods_a_second:.0f} pods/s bound by claims, service {run.service_cpu_s} s of CPU")
        empty_claims(cluster)
    assert set(bindings(cluster).values()) == {len(POLICIES)}
