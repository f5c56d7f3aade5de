"""A day of pods in fast motion, live and in `wattpack simulate --sleep`: the same tasks, the same knobs.

Rates are scaled, not clocks: a day has DAY_S seconds, pods come and go and machines boot that much faster, and every
process runs by the real clock. The knobs of the simulation are what the parts of the live run take: the service looks
once a second, waits 5 s between mark and drain, and reads the power of a machine in transition every 2 s.
"""

from __future__ import annotations

import csv
import math
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from e2e.nodes_and_pods import pod_object
from e2e.pod_watch import PODS
from e2e.sleep_scene import GPUS, SleepScene, delete_pod
from wattpack.model.tasks import TaskClass

DAY_S = 110.0
NODES = 200
PODS_A_SECOND = 3.5  # in the mean; 1.8 times that at noon, a fifth at night
CLASSES = (
    TaskClass(8000, 16384, GPUS, 1000),
    TaskClass(4000, 8192, 2, 1000),
    TaskClass(4000, 8192, 1, 1000),
    TaskClass(2000, 4096, 1, 500),
)
SHARES = (0.25, 0.25, 0.3, 0.2)
LENGTH_S = (6.0, 45.0)
IDLE_S, RESERVE_GPUS = 4, 16
# What a shutdown and a wake take in the live run, from the decision to the end: see the text above.
SHUTDOWN_S, WAKE_S = 9, 4
SAMPLE_S = 0.5


@dataclass(frozen=True)
class DayTask:
    name: str
    task: TaskClass
    created_s: float
    length_s: float


def tasks_of_a_day(seed: int) -> list[DayTask]:
    """Arrivals of a Poisson process whose rate follows the sun, by thinning."""
    random, most, time_s, made = np.random.default_rng(seed), 1.8 * PODS_A_SECOND, 0.0, []
    while (time_s := time_s + random.exponential(1 / most)) < DAY_S:
        rate = PODS_A_SECOND * (1 - 0.8 * math.cos(2 * math.pi * time_s / DAY_S))
        if random.random() * most < rate:
            task = CLASSES[random.choice(len(CLASSES), p=SHARES)]
            length_s = float(np.clip(random.exponential(20.0), *LENGTH_S))
            made.append(DayTask(f"day-{len(made):04d}", task, round(time_s, 3), round(length_s, 3)))
    return made


@dataclass
class Sums:
    """What was drawn and who slept, sampled."""

    kwh: float = 0.0
    asleep_node_s: float = 0.0
    seconds: float = 0.0

    @property
    def mean_asleep(self) -> float:
        return self.asleep_node_s / self.seconds


@dataclass
class LiveDay:
    """The tasks as pods; each is deleted when it has run for its length."""

    scene: SleepScene
    tasks: list[DayTask]
    sums: Sums = field(default_factory=Sums)
    created_at: dict[str, float] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)

    def run(self) -> None:
        start = time.monotonic()
        threads = [threading.Thread(target=work, args=(start,), daemon=True) for work in (self._create, self._end)]
        for thread in threads:
            thread.start()
        self._sample(start)
        for thread in threads:
            thread.join(90)
            assert not thread.is_alive()

    def waits_s(self) -> dict[str, float]:
        bound = self.scene.watch.bound_at
        return {name: bound[name] - at for name, at in self.created_at.items() if name in bound}

    def _create(self, start: float) -> None:
        for task in self.tasks:
            time.sleep(max(0.0, start + task.created_s - time.monotonic()))
            self.created_at[task.name] = time.monotonic()
            self.scene.api.create(PODS, pod_object(task.name, task.task))

    def _end(self, start: float) -> None:
        """Until all have ended, or 60 s after the day."""
        bound = self.scene.watch.bound_at
        while len(self.ended) < len(self.tasks) and time.monotonic() < start + DAY_S + 60:
            now = time.monotonic()
            for task in self.tasks:
                if task.name in bound and task.name not in self.ended and bound[task.name] + task.length_s <= now:
                    delete_pod(self.scene.api, task.name)
                    self.ended.add(task.name)
            time.sleep(0.1)

    def _sample(self, start: float) -> None:
        before = start
        while before < start + DAY_S:
            time.sleep(SAMPLE_S)
            seen = self.scene.service.metrics()
            now = min(time.monotonic(), start + DAY_S)
            watts = sum(value for name, value in seen.items() if name.startswith("wattpack_power_watts"))
            self.sums.kwh += watts * (now - before) / 3.6e6
            self.sums.asleep_node_s += seen['wattpack_sleep_nodes{state="asleep"}'] * (now - before)
            self.sums.seconds += now - before
            before = now


def simulated(folder: Path, tasks: list[DayTask], nodes: list[str], policy: str) -> Sums:
    """The same by `wattpack simulate --sleep`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "nodes.csv").open("w", encoding="utf-8") as file:
        print(
            "sn,cpu_milli,memory_mib,gpu,model",
            *(f"{node},64000,262144,{GPUS},T4" for node in nodes),
            sep="\n",
            file=file,
        )
    with (folder / "tasks.csv").open("w", encoding="utf-8") as file:
        print("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,duration", file=file)
        for each in tasks:
            task = each.task
            print(
                each.name,
                task.cpu_milli,
                task.memory_mib,
                task.num_gpu,
                task.gpu_milli,
                "",
                each.created_s,
                each.length_s,
                sep=",",
                file=file,
            )
    knobs = f"idle={IDLE_S}s,shutdown={SHUTDOWN_S}s,wake={WAKE_S}s,reserve={RESERVE_GPUS},watts=10"
    command = [sys.executable, "-m", "wattpack", "simulate", "--datacenter", "nodes.csv", "--trace", "tasks.csv"]
    command += ["--policy", policy, "--sleep", knobs, "--durations", "unused", "--target", "default", "--no-bound"]
    command += ["--horizon", f"{DAY_S:g}s", "--sample", "1s", "--out", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with (folder / "out" / "time.csv").open(newline="", encoding="utf-8") as file:
        (row,) = [row for row in csv.DictReader(file) if row["policy"] == policy]
    return Sums(float(row["kwh"]), float(row["mean_asleep_nodes"]) * DAY_S, DAY_S)
