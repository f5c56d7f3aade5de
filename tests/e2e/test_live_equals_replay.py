"""The proof that the service decides as the simulator does: a real kube-scheduler, 1,213 nodes, 1,000 pods."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.audit import bindings, faults
from e2e.cluster import Cluster
from e2e.live_run import TASKS, empty, first_tasks, replayed, run_live
from wattpack.datasets import alibaba2023

pytestmark = pytest.mark.e2e

POLICIES = ("fgd", "pwr:0.1+fgd:0.9", "ocs")


def test_every_pod_is_on_the_node_and_the_gpus_that_replay_gives(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One control plane for all policies: emptied and filled again between them."""
    datacenter, workload = alibaba2023.datacenter(), first_tasks()
    # Ties go to the first node by name in the service, to the first of the file in a replay.
    assert list(datacenter.names) == sorted(datacenter.names)
    for number, policy in enumerate(POLICIES):
        expected = replayed(tmp_path / f"replay-{number}", datacenter, workload, policy)
        assert len(expected) == TASKS
        run = run_live(cluster, datacenter, workload, policy, name=str(number))
        differing = {
            task: (run.placed.get(task), there) for task, there in expected.items() if run.placed.get(task) != there
        }
        assert not differing, f"{policy}: {len(differing)} differ, first {sorted(differing.items())[:3]}"
        assert faults(cluster.admin) == []
        with capsys.disabled():  # a number for whoever reads the log of CI; `benchmarks/live.py` measures
            print(
                f"\n{policy}: {run.pods_a_second:.0f} pods/s bound, service {run.service_cpu_s} s of CPU, "
                f"scheduler {run.scheduler_cpu_s} s, apiserver {run.apiserver_cpu_s} s"
            )
        empty(cluster)
    # The names are the same in each round: every pod was bound once a round.
    assert set(bindings(cluster).values()) == {len(POLICIES)}
