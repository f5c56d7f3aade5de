"""Pods that may be moved, so that nodes become empty (`consolidate = true`).

Only pods with the annotation `wattpack.io/may-move: "true"` are evicted, through the Eviction API, which refuses where
a PodDisruptionBudget would be broken.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from wattpack.kube.client import NOT_FOUND, ApiError
from wattpack.kube.facts import PodFacts
from wattpack.kube.objects import Pod
from wattpack.kube.sleep.record import HOLD, MAY_MOVE, asked_of
from wattpack.kube.sleep.states import GOING

if TYPE_CHECKING:
    from wattpack.kube.sleep.keeper import Keeper

log = logging.getLogger("wattpack")
AGAIN_S = 30.0  # an eviction that was refused is tried again after this long
REFUSED = 429


class Evictions:
    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.movable: set[str] = set()  # uids of pods that may be moved
        self.tried_s: dict[str, float] = {}  # by uid

    def saw(self, event: str, pod: Pod) -> None:
        uid = pod.metadata.uid
        if event != "DELETED" and pod.metadata.annotations.get(MAY_MOVE) == "true":
            self.movable.add(uid)
        else:
            self.movable.discard(uid)
            self.tried_s.pop(uid, None)

    def pods_on(self, name: str) -> list[PodFacts]:
        """Pods of workloads on the node, and those that are to come there."""
        reservations = self.keeper.service.view.cluster.reservations
        return [held.pod for held in reservations if held.node == name and not held.pod.of_node]

    def may_all_move(self, name: str) -> bool:
        return self.keeper.config.consolidate and all(pod.uid in self.movable for pod in self.pods_on(name))

    def candidate(self) -> str:
        """A node that would be empty if its pods moved, all may, and each fits elsewhere; "": none, or one is at it.

        The one with the fewest pods; of those with equal numbers, the first in the order of sleep.
        """
        sight, cluster = self.keeper.sight, self.keeper.service.view.cluster
        if sight.pool is None or sight.in_states(*GOING) or len(sight.usable) <= self.keeper.config.floor:
            return ""
        order = [sight.pool.names[i] for i in sight.pool.order.tolist()]
        named = [name for name in order if name in sight.usable & sight.busy.keys() and self.may_all_move(name)]
        for name in sorted(named, key=lambda name: len(sight.busy[name])):
            pods, others = self.pods_on(name), sorted(sight.usable - {name})
            node = sight.node(self.keeper.service.view, name)
            left = sight.pool.free_gpus(sight.counted() - {name}) - sum(pod.task.num_gpu for pod in pods)
            if asked_of(node) == HOLD or self.keeper.carry_out.is_resting(name) or left < sight.pool.reserve_gpus:
                continue
            found = [cluster.would_decide(pod, others) for pod in pods]
            if all(decision is not None and decision.node for decision in found):
                return name
        return ""

    async def evict(self, name: str) -> None:
        """Ask for each pod once in a while. A refusal is no fault: the drain has its time limit."""
        now_s = self.keeper.now_s()
        for pod in self.pods_on(name):
            if pod.uid not in self.movable or not pod.node:
                continue
            if now_s - self.tried_s.get(pod.uid, float("-inf")) < AGAIN_S:
                continue
            self.tried_s[pod.uid] = now_s
            body = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": pod.name, "namespace": pod.namespace},
                "deleteOptions": {"preconditions": {"uid": pod.uid}},
            }
            path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
            try:
                await self.keeper.service.client.call("POST", path, body)
            except ApiError as fault:
                if fault.status not in (REFUSED, NOT_FOUND):
                    raise
                log.info("sleep: %s/%s is not evicted from %s: %s", pod.namespace, pod.name, name, fault)
