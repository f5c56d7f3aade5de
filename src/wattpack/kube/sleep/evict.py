"""Pods that may be moved, so that nodes become empty (`consolidate = true`).

Only pods with the annotation `wattpack.io/may-move: "true"` are evicted, through the Eviction API, which refuses where
a PodDisruptionBudget would be broken; only where every pod of the node has room on a node that its own constraints
allow; and never a second time within an hour: not the pod, and none of the same controller, whichever process asks.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from wattpack.kube.client import NOT_FOUND, ApiError
from wattpack.kube.constraints import Constraints, constraints_on, why_not
from wattpack.kube.facts import PodFacts
from wattpack.kube.objects import Pod
from wattpack.kube.read_pod import FINISHED
from wattpack.kube.sleep.config import SHUTDOWN_AND_WAKE_S
from wattpack.kube.sleep.move_elsewhere import not_read, watts_elsewhere
from wattpack.kube.sleep.record import HOLD, HOUR_S, MAY_MOVE, Record, asked_of, evicted_lately
from wattpack.kube.sleep.states import GOING, State
from wattpack.model.sleeping import PAYS_BACK_S, emptying_order, emptying_pays

if TYPE_CHECKING:
    from wattpack.kube.sleep.keeper import Keeper

log = logging.getLogger("wattpack")
AGAIN_S = 30.0  # an eviction that was refused is tried again after this long
REFUSED = 429


class Evictions:
    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.movable: dict[str, Pod] = {}  # by uid: pods that may be moved
        self.tried_s: dict[str, float] = {}  # by uid: when an eviction was last asked for
        self.accepted: set[str] = set()  # uids of pods whose eviction was accepted: they may take long to end
        self.noted_s: dict[str, float] = {}  # uids of pods evicted and of their controllers, and when
        self.no_room: set[str] = set()  # nodes whose remaining pods turned out to have no room elsewhere

    def take_over(self, before: Evictions) -> None:
        self.movable, self.tried_s, self.accepted = before.movable, before.tried_s, before.accepted
        self.noted_s, self.no_room = before.noted_s, before.no_room

    def saw(self, event: str, pod: Pod) -> None:
        uid = pod.metadata.uid
        if event != "DELETED" and pod.metadata.annotations.get(MAY_MOVE) == "true":
            self.movable[uid] = pod
        else:
            self.movable.pop(uid, None)
            self.tried_s.pop(uid, None)
        if event == "DELETED":
            self.accepted.discard(uid)

    def saw_all(self, pods: list[Pod]) -> None:
        """Before each pod of the whole list is seen."""
        self.movable.clear()
        self.accepted &= {pod.metadata.uid for pod in pods}

    # ---- pods

    def pods_on(self, name: str) -> list[PodFacts]:
        """Pods of workloads on the node, and those that are to come there, as of this step's look."""
        return self.keeper.sight.pods.get(name, [])

    def uids_on(self, name: str) -> tuple[str, ...]:
        return tuple(sorted(pod.uid for pod in self.pods_on(name)))

    def may_all_move(self, name: str) -> bool:
        """Whether every pod is there, says that it may move, and needs nothing of a node that is not read.

        Pods of other schedulers stay: if one found no place after all, no node would wake for it.
        """
        view, is_ours = self.keeper.service.view, self.keeper.promises.is_ours
        if not self.keeper.config.consolidate or name in view.blocking.values():
            return False
        return all(
            pod.node == name
            and pod.uid in self.movable
            and is_ours(pod.scheduler)
            and not not_read(self.movable[pod.uid])
            for pod in self.pods_on(name)
        )

    def go_on(self, name: str, record: Record) -> bool:
        """Whether the pods on a node that is being emptied may still all be evicted: no others have come."""
        if name in self.no_room or not self.may_all_move(name):
            return False
        return record.state is State.MARKED or set(self.uids_on(name)) <= set(record.evicting)

    def keys_on(self, name: str) -> tuple[str, ...]:
        """By what the pods on the node, and those that their controllers will make in their place, are known."""
        keys: dict[str, None] = {}
        for uid in self.uids_on(name):
            keys[uid] = None
            pod = self.movable.get(uid)
            for owner in pod.metadata.owner_references if pod is not None else ():
                if owner.controller and owner.uid:
                    keys[owner.uid] = None
        return tuple(keys)

    def note(self, name: str) -> tuple[str, ...]:
        """The pods on the node are to be evicted now; what is to be written on the Node first."""
        keys, now_s = self.keys_on(name), self.keeper.now_s()
        self.noted_s = {key: at_s for key, at_s in self.noted_s.items() if now_s - at_s <= HOUR_S}
        self.noted_s |= dict.fromkeys(keys, now_s)
        return keys

    def moved_lately(self) -> set[str]:
        """Keys of pods evicted within the last hour: by this process's own clock, and as the Nodes say."""
        now_s, wall_s = self.keeper.now_s(), self.keeper.wall_s()
        found = {key for key, at_s in self.noted_s.items() if now_s - at_s <= HOUR_S}
        view = self.keeper.service.view
        for name in view.nodes:
            found |= evicted_lately(self.keeper.sight.node(view, name), wall_s).keys()
        return found

    # ---- nodes

    def candidate(self) -> str:
        """A node whose pods may all move and have room elsewhere; "": there is none, or one is at it.

        Which one, and whether it pays, is the rule of simulated consolidation (model/sleeping.py).
        """
        sight, cluster = self.keeper.sight, self.keeper.service.view.cluster
        pool = sight.pool
        if pool is None or sight.in_states(*GOING) or len(sight.usable) <= self.keeper.config.floor:
            return ""
        drawn_mw = cluster.in_step.drawn_mw()[pool.numbers]
        lately = self.moved_lately()
        named = [
            name in sight.usable
            and name in sight.busy
            and self.may_all_move(name)
            and lately.isdisjoint(self.keys_on(name))
            for name in pool.names
        ]
        pods = np.array([len(sight.busy[name]) if may else 0 for name, may in zip(pool.names, named, strict=True)])
        places: dict[Constraints, list[str]] = {}
        for i in emptying_order(drawn_mw - pool.asleep_mw, pods).tolist():
            if self.may_be_emptied(pool.names[i], float(drawn_mw[i] - pool.asleep_mw[i]) / 1000, places):
                return pool.names[i]
        return ""

    def may_be_emptied(self, name: str, saved_w: float, places: dict[Constraints, list[str]]) -> bool:
        """Whether the node is free to go, its pods have room elsewhere, the reserve stays, and it pays."""
        sight, view = self.keeper.sight, self.keeper.service.view
        assert sight.pool is not None
        if asked_of(sight.node(view, name)) == HOLD or self.keeper.carry_out.is_resting(name) or name in sight.claimed:
            return False
        pods = self.pods_on(name)
        left = sight.pool.free_gpus(sight.counted() - {name}) - sum(pod.task.num_gpu for pod in pods)
        if left < sight.pool.reserve_gpus:
            return False
        added_w = self.watts_elsewhere(name, pods, places)
        idle_w = float(sight.pool.idle_mw[sight.pool.names.index(name)]) / 1000
        return added_w is not None and emptying_pays(saved_w - added_w, idle_w, SHUTDOWN_AND_WAKE_S, PAYS_BACK_S)

    def have_room(self, name: str) -> bool:
        """Whether the pods on the node have room elsewhere as the cluster is now."""
        return self.may_all_move(name) and self.watts_elsewhere(name, self.pods_on(name), {}) is not None

    def watts_elsewhere(self, name: str, pods: list[PodFacts], places: dict[Constraints, list[str]]) -> float | None:
        """What the pods would add on nodes in use that their own constraints allow; None: one has no room there.

        `places` keeps these nodes by constraints: many pods have equal ones.
        """
        sight, view = self.keeper.sight, self.keeper.service.view
        words, allowed = view.cluster.closed.words, []
        for pod in pods:
            limits = constraints_on(self.movable[pod.uid], sight.node(view, name), pod.dialect)
            if limits not in places:
                places[limits] = [
                    other
                    for other in sorted(sight.usable & sight.busy.keys())
                    if why_not(limits, sight.node(view, other), words.get(other, frozenset())) == ""
                ]
            allowed.append([other for other in places[limits] if other != name])
        return watts_elsewhere(view.cluster, pods, allowed)

    # ---- evictions

    async def evict(self, name: str, planned: tuple[str, ...]) -> None:
        """Ask for each pod that was planned, once in a while. A refusal is no fault: the drain has its time limit."""
        now_s = self.keeper.now_s()
        left = [pod for pod in self.pods_on(name) if pod.uid not in self.accepted]
        due = [pod for pod in left if now_s - self.tried_s.get(pod.uid, float("-inf")) >= AGAIN_S]
        if not due or any(pod.uid not in planned or pod.uid not in self.movable for pod in left):
            return  # another one has come: the node is opened again
        if self.watts_elsewhere(name, left, {}) is None:
            log.info("sleep: pods of %s are not evicted: they have no room elsewhere any more", name)
            self.no_room.add(name)
            return
        for pod in due:
            self.tried_s[pod.uid] = now_s
            if await self.is_still_to_move(pod, name):
                await self.ask_for(pod, name)

    async def is_still_to_move(self, pod: PodFacts, name: str) -> bool:
        """As the API server has the pod now, which the watch may not have shown yet."""
        try:
            shown = await self.keeper.service.client.get_pod(pod.namespace, pod.name)
        except ApiError as fault:
            if fault.status == NOT_FOUND:
                return False
            raise
        same = shown.metadata.uid == pod.uid and shown.spec.node_name == name and shown.status.phase not in FINISHED
        may = shown.metadata.annotations.get(MAY_MOVE) == "true" and not not_read(shown)
        return same and may and shown.metadata.deletion_timestamp is None

    async def ask_for(self, pod: PodFacts, name: str) -> None:
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
            return
        self.accepted.add(pod.uid)
        log.info("sleep: %s/%s is evicted from %s, which is to sleep", pod.namespace, pod.name, name)
