"""Pods that no node awake has room for: which node is to wake for them, and what is kept for them there.

The tiers are those of a simulated run (model/sleeping.py): awake, else waking, else asleep or shutting down. Nodes that
are not awake are tainted, so kube-scheduler does not offer them: where a pod may go is read as `fit` reads it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from wattpack.errors import RunError
from wattpack.kube.constraints import allows, constraints_of
from wattpack.kube.decision import Decision
from wattpack.kube.dialects.mig import mig_devices
from wattpack.kube.facts import PodFacts
from wattpack.kube.gpus import gpu_numbers
from wattpack.kube.objects import Node, NodeSpec, NodeStatus, Pod, Unreadable
from wattpack.kube.read_pod import FINISHED, belongs_to_node
from wattpack.kube.reservations import Reservation
from wattpack.kube.reservations import State as Held
from wattpack.kube.sleep.record import LIFECYCLE, TAINT, PromisedPod, record_of
from wattpack.kube.sleep.states import TIER_STATE, State
from wattpack.kube.wire import ExtenderArgs, FilterAnswer, answer_for, offered_names
from wattpack.model.sleeping import TIERS

if TYPE_CHECKING:
    from wattpack.kube.sleep.keeper import Keeper

log = logging.getLogger("wattpack")
COME_S = 60.0  # a pod that has not come to its node this long after the node was awake does not get it
BROKEN_S = 600.0  # it is promised no other node for this long
WAITING = 100  # pods looked at in a step
KEPT = 200  # promises in the record of one Node


class Promises:
    """`waiting` are pods without a node, as the watch shows them."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.waiting: dict[str, Pod] = {}  # by uid
        self.awake_since_s: dict[str, float] = {}  # nodes that have promises and are awake
        self.broken_until_s: dict[str, float] = {}  # by uid

    def saw(self, event: str, pod: Pod) -> None:
        uid = pod.metadata.uid
        if event == "DELETED" or pod.spec.node_name or pod.status.phase in FINISHED or belongs_to_node(pod):
            self.waiting.pop(uid, None)
            self.broken_until_s.pop(uid, None)
        else:
            self.waiting[uid] = pod

    def is_ours(self, scheduler: str) -> bool:
        """Whether waiting pods of this scheduler may wake nodes: it asks us, or is named. Others decide without us."""
        return scheduler in self.keeper.config.schedulers or scheduler in self.keeper.service.asked_by

    # ---- asked by the scheduler

    def answer(self, pod: PodFacts, args: ExtenderArgs) -> FilterAnswer | None:
        """The answer for a pod that was promised a node; None: it was not."""
        cluster = self.keeper.service.view.cluster
        reservation = cluster.reservations.get(pod.uid)
        if reservation is None or reservation.state is not Held.PROMISED:
            return None
        if reservation.node in offered_names(args):
            cluster.reservations.redeem(reservation, self.keeper.now_s())
            self.keeper.service.metrics.count("wattpack_sleep_promises_total", outcome="kept")
            decision = self.keeper.service.decisions.get((pod.namespace, pod.name))
            if decision is not None and decision.uid == pod.uid:
                decision.promised = ""  # from here on it is placed
            return answer_for(args, [reservation.node])
        state = self.keeper.sight.states.get(reservation.node, State.AWAKE)
        return waits(args, reservation.node, state.value)

    def make(self, pod: Pod, facts: PodFacts) -> Decision | None:
        """Promise the pod a node that is not awake; None: none has room. Only for pods that no node awake has."""
        keeper = self.keeper
        if not keeper.acting or keeper.now_s() < self.broken_until_s.get(facts.uid, 0.0):
            return None
        decision = self.find(pod, facts)
        if decision is None:
            return None
        cluster = keeper.service.view.cluster
        before = cluster.placed_power_w() - cluster.waking_w(decision.node), cluster.fragmentation_gpus()
        cluster.promise(facts, decision.node, decision.gpus, keeper.now_s())
        decision.watts = cluster.placed_power_w() - before[0]
        decision.fragmentation_gpus = cluster.fragmentation_gpus() - before[1]
        decision.promised = keeper.sight.states[decision.node].value
        keeper.service.metrics.count("wattpack_sleep_promises_total", outcome="made")
        return decision

    def would_make(self, pod: Pod) -> Decision | None:
        """For a question: the node that would wake for a pod that no node awake has room for; None: none would."""
        keeper = self.keeper
        named = pod.spec.scheduler_name  # "": a file that leaves it open
        if pod.spec.resource_claims or not keeper.config.acts or (named and not self.is_ours(named)):
            return None
        facts = keeper.service.view.read(pod)
        decision = self.find(pod, facts)
        if decision is None:
            return None
        cluster, state = keeper.service.view.cluster, keeper.sight.states[decision.node].value
        decision.watts, decision.fragmentation_gpus = cluster.cost(facts, decision.node, decision.gpus)
        decision.note = f"no node awake has room; {decision.node}, which is {state}, would wake for the pod"
        return decision

    def find(self, pod: Pod, facts: PodFacts) -> Decision | None:
        """The decision in the first tier with room, of those that are not awake."""
        cluster = self.keeper.service.view.cluster
        for first, last in TIERS[1:]:
            names = list(self.nodes_for(pod, facts, first, last))
            decision = cluster.would_decide(facts, names) if names else None
            if decision is not None and decision.node:
                return decision
        return None

    def nodes_for(self, pod: Pod, facts: PodFacts, first: int, last: int) -> Iterator[str]:
        """Nodes of the tier that Kubernetes would allow for the pod if they were awake."""
        view, sight = self.keeper.service.view, self.keeper.sight
        constraints, devices = constraints_of(pod, facts.dialect), mig_devices(pod)
        for name, state in sight.states.items():
            if first <= TIER_STATE.get(state, -1) <= last and name in view.cluster.nodes:
                words = view.cluster.closed.words.get(name, frozenset())
                open_node = as_if_awake(sight.node(view, name))
                if allows(constraints, open_node, words) and (not devices or view.has_devices(name, devices)):
                    yield name

    # ---- in every step

    def keep(self) -> None:
        """Take over promises from the Nodes after a restart, break those that cannot be kept, make new ones."""
        self.restore()
        self.break_late()
        self.serve_waiting()

    def restore(self) -> None:
        """Promises that a Node remembers and this process does not."""
        view = self.keeper.service.view
        for name in self.keeper.sight.states:
            record = record_of(self.keeper.sight.node(view, name))
            for promised in record.promised if record else ():
                pod = view.pods.get(promised.uid)
                if pod is None or pod.node or view.cluster.reservations.get(promised.uid) is not None:
                    continue
                if not self.is_ours(pod.scheduler):  # promised by a version that looked at every pod
                    continue
                if record is not None and record.state in TIER_STATE and name in view.cluster.nodes:
                    gpus = [int(gpu) for gpu in promised.gpus.split("-") if gpu.isdecimal()]
                    view.cluster.promise(pod, name, gpus, self.keeper.now_s())

    def break_late(self) -> None:
        """Promises on nodes that have gone, do not wake, or are awake and the pod has not come."""
        keeper, now_s = self.keeper, self.keeper.now_s()
        view, sight = keeper.service.view, keeper.sight
        promises = view.cluster.reservations.promises()
        self.awake_since_s = {
            node: self.awake_since_s.get(node, now_s)
            for node in {reservation.node for reservation in promises}
            if sight.states.get(node, State.AWAKE) is State.AWAKE
        }
        for reservation in promises:
            state = sight.states.get(reservation.node, State.AWAKE)
            late = now_s - self.awake_since_s.get(reservation.node, now_s) > COME_S
            if reservation.node not in view.nodes or state not in TIER_STATE:
                self.break_one(reservation, 0.0)
            elif late:
                self.break_one(reservation, BROKEN_S)

    def break_one(self, reservation: Reservation, for_s: float) -> None:
        uid = reservation.pod.uid
        self.keeper.service.view.cluster.break_promise(uid)
        self.broken_until_s[uid] = self.keeper.now_s() + for_s
        self.keeper.service.metrics.count("wattpack_sleep_promises_total", outcome="broken")
        log.warning("sleep: %s does not go to %s", uid, reservation.node)

    def serve_waiting(self) -> None:
        """Pods that kube-scheduler could not place without asking us: its own filters left no node."""
        service = self.keeper.service
        cluster, looked = service.view.cluster, 0
        for uid, pod in list(self.waiting.items()):
            if not self.is_ours(pod.spec.scheduler_name) or not is_unschedulable(pod):
                continue
            if looked >= WAITING or cluster.reservations.get(uid) is not None:
                continue
            looked += 1
            try:
                facts = service.view.read(pod)
                if facts.claims:  # devices of claims cannot be promised ahead
                    continue
                awake = cluster.would_decide(facts, service.view.eligible_nodes(pod, facts))
                decision = self.make(pod, facts) if awake is not None and not awake.node else None
            except (Unreadable, RunError):
                continue
            if decision is not None:
                service.note_promise(decision)

    # ---- by node

    def on(self, name: str) -> tuple[PromisedPod, ...]:
        """What the node's record remembers."""
        found = [
            PromisedPod(
                f"{reservation.pod.namespace}/{reservation.pod.name}",
                reservation.pod.uid,
                "-".join(map(str, gpu_numbers(reservation.gpus))),
            )
            for reservation in self.keeper.service.view.cluster.reservations.promises()
            if reservation.node == name
        ]
        return tuple(sorted(found, key=lambda promised: promised.uid)[:KEPT])

    def entered(self, name: str, state: State) -> None:
        """A node has come to a state: promises on one that does not wake are broken, and made elsewhere."""
        self.keeper.sight.states[name] = state
        if state not in TIER_STATE:
            for reservation in self.keeper.service.view.cluster.reservations.promises():
                if reservation.node == name:
                    self.break_one(reservation, 0.0)


def waits(args: ExtenderArgs, node: str, state: str) -> FilterAnswer:
    """No node for now: kube-scheduler asks again when a Node changes, and the node that wakes does."""
    why = f"wattpack: the pod waits for {node}, which is {state}"
    return FilterAnswer(node_names=[], failed_and_unresolvable_nodes=dict.fromkeys(offered_names(args), why))


def is_unschedulable(pod: Pod) -> bool:
    """Whether a scheduler has tried and found no node. A pod that is being deleted goes nowhere."""
    if pod.metadata.deletion_timestamp is not None:
        return False
    conditions = pod.status.conditions
    return any(c.type == "PodScheduled" and c.status == "False" and c.reason == "Unschedulable" for c in conditions)


def as_if_awake(node: Node) -> Node:
    """The Node without our mark and without what Kubernetes says of a node that is off."""
    taints = [taint for taint in node.spec.taints if taint.key != TAINT and not taint.key.startswith(LIFECYCLE)]
    return Node(node.metadata, NodeSpec(False, taints), NodeStatus(node.status.allocatable, node.status.capacity, []))
