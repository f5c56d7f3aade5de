"""A day on 200 nodes that sleep: a real control plane, a real Redfish emulator, and the simulator on the same tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.api import wait_until
from e2e.audit import faults, pending
from e2e.cluster import Cluster
from e2e.sleep_day import IDLE_S, NODES, RESERVE_GPUS, WAKE_S, LiveDay, simulated, tasks_of_a_day
from e2e.sleep_scene import SleepScene, unexplained

pytestmark = pytest.mark.e2e
POLICY = "fgd"
# A look of the service, another one, the scheduler's own back-off, and a shutdown that had begun.
MARGIN_S = 12.0


def test_pods_of_a_day_are_bound_in_time_and_nodes_asleep_and_energy_are_those_of_the_simulation(
    cluster: Cluster, tmp_path: Path
) -> None:
    tasks = tasks_of_a_day(seed=7)
    with SleepScene(cluster, "day", NODES, POLICY, idle=f"{IDLE_S}s", reserve=RESERVE_GPUS) as scene:
        expected = simulated(tmp_path, tasks, scene.nodes, POLICY)
        scene.service.start()
        scene.start_scheduler()
        day = LiveDay(scene, tasks)
        day.run()
        wait_until(lambda: pending(scene.api) == [], 30, "no pod waits")
        waits_s = day.waits_s()
        told = (
            f"{len(tasks)} pods, longest wait {max(waits_s.values()):.1f} s; asleep {day.sums.mean_asleep:.1f} nodes, "
            f"simulated {expected.mean_asleep:.1f}; {day.sums.kwh:.4f} kWh, simulated {expected.kwh:.4f}"
        )
        print(told)
        assert waits_s.keys() == {task.name for task in tasks}, told  # no pod is lost
        assert max(waits_s.values()) <= WAKE_S + MARGIN_S, told
        assert scene.watch.moved == []
        assert faults(scene.api) == []  # no GPU over 1000 milli
        assert unexplained(scene.api, scene.emulator) == []
        assert day.sums.mean_asleep == pytest.approx(expected.mean_asleep, rel=0.05), told
        assert day.sums.kwh == pytest.approx(expected.kwh, rel=0.05), told
