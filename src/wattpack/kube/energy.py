"""Modelled energy of the cluster as counters: in all, and by namespace.

A namespace has what its pods add to their nodes: what each GPU draws above idle, by the pods' shares of it, and the
sockets likewise by vCPU. What the nodes would draw without pods is nobody's. All of them add up to the cluster.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import numpy as np

from wattpack.kube.cluster import Cluster
from wattpack.kube.cluster_engine import rows_of
from wattpack.kube.gpus import gpu_numbers
from wattpack.model.power import GPU_MILLI, draw_table_mw, nodes_power_mw

if TYPE_CHECKING:
    from wattpack.kube.service import Service

EVERY_S = 5.0
LONGEST_S = 60.0  # a longer gap is a process that was stopped: nobody knows what was drawn meanwhile
AT_ONCE = 500  # pods that are counted before others get their turn: about 0.5 ms
IDLE, OTHER = "_idle", "_other"  # no names of namespaces: those have no underscore


class Energy:
    """Joules since the start. `most`: namespaces that have series of their own, so that their number is bounded."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.watts, self.joules = 0.0, 0.0
        self.namespace_w: dict[str, float] = {}
        self.namespace_joules: dict[str, float] = {}
        self.until_s: float | None = None  # counted up to here; None: nothing is counted now
        self.own: set[str] = set()

    def advance(self, now_s: float) -> None:
        """Count what was drawn last up to now."""
        if self.until_s is None:
            return
        elapsed_s = max(0.0, min(now_s - self.until_s, LONGEST_S))
        self.until_s = now_s
        self.joules += self.watts * elapsed_s
        for name, watts in self.namespace_w.items():
            self.namespace_joules[name] = self.namespace_joules.get(name, 0.0) + watts * elapsed_s

    def see(self, watts: float, by_namespace: dict[str, float], now_s: float) -> None:
        """What is drawn from now on, in all and above idle by namespace."""
        self.advance(now_s)
        self.until_s, self.watts = now_s, watts
        seen: dict[str, float] = {}
        for name in sorted(by_namespace, key=lambda name: (-by_namespace[name], name)):
            shown = name if self.has_own(name, by_namespace) else OTHER
            seen[shown] = seen.get(shown, 0.0) + by_namespace[name]
        seen[IDLE] = max(0.0, watts - sum(by_namespace.values()))
        self.namespace_w = seen

    def has_own(self, name: str, now: dict[str, float]) -> bool:
        """Whether the namespace has series of its own. Those without pods give theirs up when others need them."""
        if name not in self.own and len(self.own) >= self.most:
            gone = next((own for own in sorted(self.own) if own not in now), None)
            if gone is None:
                return False
            self.own.remove(gone)
            self.namespace_joules.pop(gone, None)
        self.own.add(name)
        return True

    def stop(self, now_s: float) -> None:
        """Count nothing until there is news: what the cluster draws is not known."""
        self.advance(now_s)
        self.until_s = None
        self.namespace_w = {}


async def run_energy(service: Service) -> None:
    while True:
        await count_energy(service)
        await asyncio.sleep(EVERY_S)


async def count_energy(service: Service) -> None:
    """Look at the cluster and count what it draws from now on."""
    if not service.ready:
        service.energy.stop(time.monotonic())
        return
    cluster = service.view.cluster
    by_namespace = await watts_by_namespace(cluster)
    service.energy.see(cluster.power_w(), by_namespace, time.monotonic())


async def watts_by_namespace(cluster: Cluster) -> dict[str, float]:
    """What the pods of each namespace add to their nodes."""
    engine = cluster.engine()
    if engine is None:
        return {}
    index, own = dict(cluster.index), cluster.in_step
    nodes = engine.state.nodes
    held = [(one.pod.namespace, one.node, *row) for one in cluster.reservations for row in rows_of(one)]
    used = GPU_MILLI - nodes.gpu_left.astype(np.int64)
    table = draw_table_mw(engine.datacenter.models, engine.profile)
    there = np.arange(used.shape[1]) < nodes.gpus[:, None]
    above = np.where(there, table[nodes.model[:, None], used] - table[nodes.model, 0][:, None], 0)
    settled = np.asarray(nodes_power_mw(nodes), dtype=np.int64)
    cpu_above = np.maximum(0, settled - own.idle_mw - above.sum(axis=1))
    awake = own.drawn_mw() == settled  # pods that wait for their node draw nothing yet
    cpu_used = np.asarray(engine.datacenter.cpu_milli, dtype=np.int64) - nodes.cpu_left
    by_gpu = (np.where(awake[:, None] & (used > 0), above / np.maximum(used, 1), 0.0) / 1000).tolist()
    by_cpu = (np.where(awake & (cpu_used > 0), cpu_above / np.maximum(cpu_used, 1), 0.0) / 1000).tolist()
    found: dict[str, float] = {}
    for place, (namespace, node, task, gpus) in enumerate(held, 1):
        if place % AT_ONCE == 0:
            await asyncio.sleep(0)
        n = index.get(node)
        if n is None:
            continue
        watts = by_cpu[n] * task.cpu_milli
        if task.num_gpu:
            watts += sum(by_gpu[n][g] for g in gpu_numbers(gpus)) * task.gpu_milli
        if watts:
            found[namespace] = found.get(namespace, 0.0) + watts
    return found
