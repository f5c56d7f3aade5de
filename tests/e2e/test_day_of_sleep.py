"""A day on 200 nodes that sleep: a real control plane, a real Redfish emulator, and the simulator on the same tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.api import wait_until
from e2e.audit import faults, pending
from e2e.cluster import Cluster
from e2e.sleep_day import ASLEEP_AT_FIRST, DAY_S, IDLE_S, NODES, RESERVE_GPUS, LiveDay, simulated, tasks_of_a_day
from e2e.sleep_scene import SleepScene, unexplained

pytestmark = pytest.mark.e2e
POLICY = "fgd"
WITHIN = 0.05
MARGIN_S = 10.0  # a machine that shuts down goes off first (8 s), and kube-scheduler asks again after 2 s at most


def test_a_day_of_200_nodes_that_sleep_goes_as_simulated_and_no_pod_waits_longer_than_a_wake(
    cluster: Cluster, tmp_path: Path
) -> None:
    tasks = tasks_of_a_day(seed=7)
    knobs = {"idle": f"{IDLE_S}s", "reserve": RESERVE_GPUS, "wake_for_reserve": False}
    with SleepScene(cluster, "day", NODES, POLICY, **knobs) as scene:
        scene.service.start()
        scene.start_scheduler()
        scene.wait_states({"asleep": ASLEEP_AT_FIRST}, 150)
        day = LiveDay(scene, tasks)
        day.run()
        wait_until(lambda: pending(scene.api) == [], 60, "no pod waits")
        waits_s = day.waits_s()
        expected = simulated(tmp_path, tasks, scene.nodes, POLICY, day.shutdown_s, day.wake_s)
        told = (
            f"{len(tasks)} pods, longest wait {max(waits_s.values()):.1f} s; asleep {day.sums.mean_asleep:.1f} nodes, "
            f"simulated {expected.mean_asleep:.1f}; {day.sums.kwh:.4f} kWh, simulated {expected.kwh:.4f}; "
            f"{day.changes['turning on']} wakes of {day.wake_s:.2f} s, {day.changes['marked']} shutdowns of "
            f"{day.shutdown_s:.2f} s"
        )
        print(told)
        assert waits_s.keys() == {task.name for task in tasks}, told  # no pod is lost
        assert max(waits_s.values()) <= day.wake_s + MARGIN_S, told
        assert scene.watch.moved == []
        assert scene.watch.over == []  # no GPU held more than 1000 milli at any time
        assert faults(scene.api) == []
        assert unexplained(scene.api, scene.emulator) == []
        assert day.sums.mean_asleep == pytest.approx(expected.mean_asleep, rel=WITHIN), told
        assert day.off_node_s / DAY_S == pytest.approx(expected.mean_asleep, rel=WITHIN), told
        assert day.sums.kwh == pytest.approx(expected.kwh, rel=WITHIN), told
