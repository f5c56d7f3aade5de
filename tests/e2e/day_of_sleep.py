"""A day on 200 nodes that sleep: a real control plane, a real Redfish emulator, and the simulator on the same tasks.

Not part of `make e2e` yet: on a busy machine of two cores the live run is not within 5 % of the simulation (118 nodes
asleep against 138, 0.544 against 0.484 kWh; the emulator needs 10 ms of a core for a call, so nodes are switched
late). Run it by hand: pytest -m e2e -s tests/e2e/day_of_sleep.py
"""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.api import wait_until
from e2e.audit import faults, pending
from e2e.cluster import Cluster
from e2e.sleep_day import IDLE_S, NODES, RESERVE_GPUS, LiveDay, simulated, tasks_of_a_day
from e2e.sleep_scene import SleepScene, unexplained

pytestmark = pytest.mark.e2e
POLICY = "fgd"


def test_no_pod_of_a_day_is_lost_while_200_nodes_sleep_and_wake(cluster: Cluster, tmp_path: Path) -> None:
    tasks = tasks_of_a_day(seed=7)
    with SleepScene(cluster, "day", NODES, POLICY, idle=f"{IDLE_S}s", reserve=RESERVE_GPUS) as scene:
        expected = simulated(tmp_path, tasks, scene.nodes, POLICY)
        scene.service.start()
        scene.start_scheduler()
        day = LiveDay(scene, tasks)
        day.run()
        wait_until(lambda: pending(scene.api) == [], 90, "no pod waits")
        waits_s = day.waits_s()
        told = (
            f"{len(tasks)} pods, longest wait {max(waits_s.values()):.1f} s; asleep {day.sums.mean_asleep:.1f} nodes, "
            f"simulated {expected.mean_asleep:.1f}; {day.sums.kwh:.4f} kWh, simulated {expected.kwh:.4f}"
        )
        print(told)
        assert waits_s.keys() == {task.name for task in tasks}, told  # no pod is lost
        assert scene.watch.moved == []
        assert faults(scene.api) == []  # as the day has left it
        assert unexplained(scene.api, scene.emulator) == []
        assert day.sums.mean_asleep > 0
