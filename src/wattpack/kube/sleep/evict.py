"""Pods that may be moved, so that nodes become empty (`consolidate = true`).

Only pods with the annotation `wattpack.io/may-move: "true"` are evicted, through the Eviction API, which refuses where
a PodDisruptionBudget would be broken.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from wattpack.kube.client import NOT_FOUND, ApiError
from wattpack.kube.facts import PodFacts
from wattpack.kube.objects import Pod
from wattpack.kube.sleep.config import SHUTDOWN_AND_WAKE_S
from wattpack.kube.sleep.move_elsewhere import watts_elsewhere
from wattpack.kube.sleep.record import HOLD, MAY_MOVE, asked_of
from wattpack.kube.sleep.states import GOING
from wattpack.model.sleeping import PAYS_BACK_S, emptying_order, emptying_pays

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
        """A node whose pods may all move and have room elsewhere; "": there is none, or one is at it.

        Which one, and whether it pays, is the rule of simulated consolidation (model/sleeping.py).
        """
        sight, cluster = self.keeper.sight, self.keeper.service.view.cluster
        pool = sight.pool
        if pool is None or sight.in_states(*GOING) or len(sight.usable) <= self.keeper.config.floor:
            return ""
        drawn_mw = cluster.in_step.drawn_mw()[pool.numbers]
        named = [name in sight.usable and name in sight.busy and self.may_all_move(name) for name in pool.names]
        pods = np.array([len(sight.busy[name]) if may else 0 for name, may in zip(pool.names, named, strict=True)])
        for i in emptying_order(drawn_mw - pool.asleep_mw, pods).tolist():
            if self.may_be_emptied(pool.names[i], float(drawn_mw[i] - pool.asleep_mw[i]) / 1000):
                return pool.names[i]
        return ""

    def may_be_emptied(self, name: str, saved_w: float) -> bool:
        """Whether the node is free to go, its pods have room elsewhere, the reserve stays, and it pays."""
        sight, view = self.keeper.sight, self.keeper.service.view
        assert sight.pool is not None
        if asked_of(sight.node(view, name)) == HOLD or self.keeper.carry_out.is_resting(name) or name in sight.claimed:
            return False
        pods = self.pods_on(name)
        left = sight.pool.free_gpus(sight.counted() - {name}) - sum(pod.task.num_gpu for pod in pods)
        if left < sight.pool.reserve_gpus:
            return False
        added_w = watts_elsewhere(view.cluster, pods, sorted((sight.usable & sight.busy.keys()) - {name}))
        idle_w = float(sight.pool.idle_mw[sight.pool.names.index(name)]) / 1000
        return added_w is not None and emptying_pays(saved_w - added_w, idle_w, SHUTDOWN_AND_WAKE_S, PAYS_BACK_S)

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
