"""Which nodes go to sleep and which wake for the reserve: model/sleeping.py on the live engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.kube.cluster import Cluster
from wattpack.kube.sleep.config import SHUTDOWN_AND_WAKE_S, SleepConfig
from wattpack.model.sleeping import idle_times_s, sleep_order, who_sleeps, who_wakes

Rule = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int, int, NDArray[np.int64]], int]


@dataclass(frozen=True)
class Pool:
    """The nodes that may sleep, as columns in the order of the engine."""

    engine: Engine
    names: tuple[str, ...]
    numbers: NDArray[np.int64]  # in the engine
    gpus: NDArray[np.int64]
    idle_mw: NDArray[np.int64]
    asleep_mw: NDArray[np.int64]
    idle_s: NDArray[np.float64]  # how long each must be empty
    order: NDArray[np.int64]
    reserve_gpus: int

    def free_gpus(self, counted: Collection[str]) -> int:
        """GPUs with nothing on them, and nothing promised on them, on the nodes counted."""
        free = np.asarray(self.engine.state.nodes.gpu_free)[self.numbers].tolist()
        return sum(free[i] for i, name in enumerate(self.names) if name in counted)

    def saved_w(self, names: Collection[str]) -> float:
        """What these nodes draw less asleep than awake and empty."""
        saved = self.idle_mw - self.asleep_mw
        return float(sum(int(saved[i]) for i, name in enumerate(self.names) if name in names)) / 1000

    def to_sleep(self, sleepy: Collection[str], counted: Collection[str]) -> list[str]:
        """Of the nodes that were empty for long enough, those that go to sleep; `counted`: awake or waking nodes."""
        return self._ask(who_sleeps, sleepy, counted)

    def to_wake(self, asleep: Collection[str], counted: Collection[str]) -> list[str]:
        """Of the nodes asleep, those that wake because the reserve is short."""
        return self._ask(who_wakes, asleep, counted)

    def _ask(self, rule: Rule, candidates: Collection[str], counted: Collection[str]) -> list[str]:
        chosen = np.array([name in candidates for name in self.names], dtype=np.int64)
        found = np.zeros(len(self.names), dtype=np.int64)
        count = rule(self.order, chosen, self.gpus, self.free_gpus(counted), self.reserve_gpus, found)
        return [self.names[i] for i in found[:count].tolist()]


def pool_of(cluster: Cluster, names: Iterable[str], config: SleepConfig) -> Pool | None:
    """The columns of the nodes with these names that the engine has; None while there are none."""
    engine = cluster.engine()
    index = cluster.index
    known = tuple(sorted((name for name in names if name in index), key=lambda name: index[name]))
    if engine is None or not known:
        return None
    numbers = np.array([index[name] for name in known], dtype=np.int64)
    gpus = np.asarray(engine.state.nodes.gpus, dtype=np.int64)[numbers]
    idle_mw = cluster.in_step.idle_mw[numbers]
    asleep_mw = np.minimum(idle_mw, round(config.sleep_w * 1000))
    return Pool(
        engine=engine,
        names=known,
        numbers=numbers,
        gpus=gpus,
        idle_mw=idle_mw,
        asleep_mw=asleep_mw,
        idle_s=idle_times_s(idle_mw, asleep_mw, config.idle_s, SHUTDOWN_AND_WAKE_S),
        order=sleep_order(idle_mw, gpus),
        reserve_gpus=config.reserve_gpus(int(gpus.sum())),
    )
