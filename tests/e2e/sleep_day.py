"""A day of pods in fast motion, live and in `wattpack simulate --sleep`: the same tasks, the same knobs.

Rates are scaled, not clocks: a day has DAY_S seconds, pods come and go and machines boot that much faster, and every
process runs by the real clock. Both days begin in the same state: every node sleeps that the reserve lets sleep.
"""

from __future__ import annotations

import csv
import math
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from e2e.nodes_and_pods import pod_object
from e2e.pod_watch import PODS
from e2e.sleep_scene import GPUS, SleepScene, delete_pod
from wattpack.model.tasks import TaskClass

DAY_S = 180.0
NODES = 200
PODS_A_SECOND = 2.4  # in the mean; 1.8 times that at noon, a fifth at night
CLASSES = (
    TaskClass(8000, 16384, GPUS, 1000),
    TaskClass(4000, 8192, 2, 1000),
    TaskClass(4000, 8192, 1, 1000),
    TaskClass(2000, 4096, 1, 500),
)
SHARES = (0.25, 0.25, 0.3, 0.2)
MEAN_LENGTH_S, LENGTH_S = 34.0, (10.0, 80.0)
IDLE_S, RESERVE_GPUS = 8, 16
ASLEEP_AT_FIRST = NODES - RESERVE_GPUS // GPUS
STEP_S = 1.0  # the service looks this often
SAMPLE_S = 0.5
GOING, COMING = ("marked", "draining", "turning off"), ("turning on", "waking")
# A simulated run begins at its first arrival with all nodes awake. This task takes no GPU and ends at once; the day
# begins WARM_S later, when the nodes sleep.
FIRST, WARM_S = TaskClass(1, 1, 0, 0), 100.0


@dataclass(frozen=True)
class DayTask:
    name: str
    task: TaskClass
    created_s: float  # after the beginning of the day
    length_s: float


def tasks_of_a_day(seed: int) -> list[DayTask]:
    """Arrivals of a Poisson process whose rate follows the sun, by thinning."""
    random, most, time_s, made = np.random.default_rng(seed), 1.8 * PODS_A_SECOND, 0.0, []
    while (time_s := time_s + random.exponential(1 / most)) < DAY_S:
        rate = PODS_A_SECOND * (1 - 0.8 * math.cos(2 * math.pi * time_s / DAY_S))
        if random.random() * most < rate:
            task = CLASSES[random.choice(len(CLASSES), p=SHARES)]
            length_s = float(np.clip(random.exponential(MEAN_LENGTH_S), *LENGTH_S))
            made.append(DayTask(f"day-{len(made):04d}", task, round(time_s, 3), round(length_s, 3)))
    return made


@dataclass
class Sums:
    """What was drawn and how many nodes slept, over the day."""

    kwh: float = 0.0
    asleep_node_s: float = 0.0

    @property
    def mean_asleep(self) -> float:
        return self.asleep_node_s / DAY_S


@dataclass
class LiveDay:
    """The tasks as pods; each is deleted when it has run for its length."""

    scene: SleepScene
    tasks: list[DayTask]
    sums: Sums = field(default_factory=Sums)
    off_node_s: float = 0.0  # machines that are off, as the emulator says
    state_s: Counter[str] = field(default_factory=Counter)  # node-seconds by state of the record
    changes: Counter[str] = field(default_factory=Counter)  # how often a node came to a state
    created_at: dict[str, float] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)

    def run(self) -> None:
        start = time.monotonic()
        threads = [threading.Thread(target=work, args=(start,), daemon=True) for work in (self._create, self._end)]
        for thread in threads:
            thread.start()
        self._sample(start)
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()

    def waits_s(self) -> dict[str, float]:
        bound = self.scene.watch.bound_at
        return {name: bound[name] - at for name, at in self.created_at.items() if name in bound}

    @property
    def shutdown_s(self) -> float:
        """From the moment when the rule lets a node sleep until it is asleep, in the mean.

        Little's law: node-seconds in these states by the nodes that passed them; and half a step until it is seen.
        """
        return sum(self.state_s[state] for state in GOING) / self.changes["marked"] + STEP_S / 2

    @property
    def wake_s(self) -> float:
        """From the pod's arrival until its node is awake, in the mean."""
        return sum(self.state_s[state] for state in COMING) / self.changes["turning on"] + STEP_S / 2

    def _create(self, start: float) -> None:
        for task in self.tasks:
            time.sleep(max(0.0, start + task.created_s - time.monotonic()))
            self.created_at[task.name] = time.monotonic()
            self.scene.api.create(PODS, pod_object(task.name, task.task))

    def _end(self, start: float) -> None:
        """Until the day is over."""
        bound = self.scene.watch.bound_at
        while (now := time.monotonic()) < start + DAY_S:
            for task in self.tasks:
                if task.name in bound and task.name not in self.ended and bound[task.name] + task.length_s <= now:
                    delete_pod(self.scene.api, task.name)
                    self.ended.add(task.name)
            time.sleep(0.1)

    def _sample(self, start: float) -> None:
        first, before = self.scene.service.metrics(), start
        while before < start + DAY_S:
            time.sleep(SAMPLE_S)
            seen, off = self.scene.service.metrics(), len(self.scene.kubelets.off)
            now = min(time.monotonic(), start + DAY_S)
            watts = sum(value for name, value in seen.items() if name.startswith("wattpack_power_watts"))
            self.sums.kwh += watts * (now - before) / 3.6e6
            for state in ("asleep", *GOING, *COMING):
                self.state_s[state] += seen[f'wattpack_sleep_nodes{{state="{state}"}}'] * (now - before)
            self.off_node_s += off * (now - before)
            before = now
        self.sums.asleep_node_s = self.state_s["asleep"]
        for state in ("marked", "asleep", "turning on"):
            name = f'wattpack_sleep_changes_total{{to="{state}"}}'
            self.changes[state] = int(seen.get(name, 0) - first.get(name, 0))


def simulated(
    folder: Path, tasks: list[DayTask], nodes: list[str], policy: str, shutdown_s: float, wake_s: float
) -> Sums:
    """The same by `wattpack simulate --sleep`: a run to the end of the day, less one to its beginning."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{node},64000,262144,{GPUS},T4" for node in nodes]
    (folder / "nodes.csv").write_text("\n".join(["sn,cpu_milli,memory_mib,gpu,model", *rows, ""]))
    given = [DayTask("first", FIRST, -WARM_S, 0.001), *tasks]
    rows = [
        f"{each.name},{each.task.cpu_milli},{each.task.memory_mib},{each.task.num_gpu},{each.task.gpu_milli},,"
        f"{each.created_s + WARM_S:.3f},{each.length_s}"
        for each in given
    ]
    header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,duration"
    (folder / "tasks.csv").write_text("\n".join([header, *rows, ""]))
    knobs = f"idle={IDLE_S}s,shutdown={shutdown_s:.2f}s,wake={wake_s:.2f}s,reserve={RESERVE_GPUS},watts=10"
    (night, both) = (_simulate(folder, policy, knobs, horizon_s) for horizon_s in (WARM_S, WARM_S + DAY_S))
    return Sums(both.kwh - night.kwh, both.asleep_node_s - night.asleep_node_s)


def _simulate(folder: Path, policy: str, knobs: str, horizon_s: float) -> Sums:
    command = [sys.executable, "-m", "wattpack", "simulate", "--datacenter", "nodes.csv", "--trace", "tasks.csv"]
    command += ["--policy", policy, "--sleep", knobs, "--durations", "unused", "--target", "default", "--no-bound"]
    command += ["--horizon", f"{horizon_s:g}s", "--sample", "1s", "--out", f"out-{horizon_s:g}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with (folder / f"out-{horizon_s:g}" / "time.csv").open(newline="", encoding="utf-8") as file:
        (row,) = [row for row in csv.DictReader(file) if row["policy"] == policy]
    return Sums(float(row["kwh"]), float(row["asleep_node_hours"]) * 3600)
