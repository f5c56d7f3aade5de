"""The cluster under a policy: nodes and pods go in as they are seen, decisions come out.

What is known are two tables, nodes and reservations; `cluster_engine.py` keeps the engine in step with them. No clock,
no network here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import BASE_POWER, CPU_POWER, FRAGMENTATION, GPU_POWER, MICRO
from wattpack.engine.live.one_decision import Choice, consider, place_one, release_one
from wattpack.kube.auto import Auto
from wattpack.kube.closed_nodes import NO_DEVICES, NOT_OURS, ClosedNodes
from wattpack.kube.cluster_engine import ClusterEngine
from wattpack.kube.decision import Decision, new_decision
from wattpack.kube.facts import NodeFacts, PodFacts
from wattpack.kube.gpus import bits
from wattpack.kube.hidden_gpus import hidden
from wattpack.kube.reservations import Event, Reservation, Reservations, State
from wattpack.model.policy import Mix
from wattpack.model.power import PowerProfile, total_power
from wattpack.model.target import Target

Offered = Iterable[str] | NDArray[np.int64] | None  # nodes by name or by number; None: all


class Cluster:
    """One cluster under one policy."""

    def __init__(
        self,
        mix: Mix,
        profile: PowerProfile,
        target: Target | None,
        order: str = "name",
        seed: int = 0,
        auto: Auto | None = None,
    ) -> None:
        """auto: chooses the mix for the nodes known."""
        self.rng = np.random.default_rng(seed)
        self.nodes: dict[str, NodeFacts] = {}
        self.reservations = Reservations()
        self.closed = ClosedNodes()
        self.arrived: set[str] = set()  # uids of pods whose arrival the policy knows
        self.in_step = ClusterEngine(mix, profile, target, order, seed, self.nodes, self.reservations, auto)
        self.ended: Callable[[Reservation], None] | None = None  # called with a reservation that has ended

    def empty_copy(self) -> Cluster:
        """A cluster under the same policy, without nodes and pods."""
        own = self.in_step
        made = Cluster(own.mix, own.profile, own.target, own.order, own.seed, own.auto)
        made.closed = self.closed
        return made

    # ---- what the cluster shows

    def update_node(self, facts: NodeFacts) -> None:
        if self.nodes.get(facts.name) != facts:
            self.nodes[facts.name] = facts
            self.in_step.stale = True

    def remove_node(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self.in_step.stale = True

    def update_pod(self, pod: PodFacts) -> None:
        """A pod as the cluster shows it. A pod without a node holds capacity only if it has a reservation."""
        if pod.finished:
            self.remove_pod(pod.uid)
            return
        if pod.node == "":
            return
        known = self.reservations.get(pod.uid)
        if known is not None and known.shows(pod):
            self.reservations.see(pod)
            return
        self.arrive(pod)
        if known is not None:
            self.in_step.release(known)
        self.in_step.place(self.reservations.see(pod))

    def remove_pod(self, uid: str) -> None:
        """The pod was deleted or has finished: what it held is free."""
        self._end(uid, Event.REMOVE)
        self.arrived.discard(uid)

    def arrive(self, pod: PodFacts) -> None:
        """Tell the policy of the pod's arrival, once."""
        if pod.uid not in self.arrived:
            self.arrived.add(pod.uid)
            self.in_step.arrive(pod.task)

    # ---- decisions

    def decide(
        self, pod: PodFacts, offered: Offered = None, usable: Mapping[str, int] | None = None
    ) -> Decision | None:
        """A node and GPUs for a pod that has arrived, among the nodes offered; None while no node is known."""
        self.engine()
        self.arrive(pod)
        return self.would_decide(pod, offered, usable)

    def would_decide(
        self, pod: PodFacts, offered: Offered = None, usable: Mapping[str, int] | None = None
    ) -> Decision | None:
        """The same for a question: nothing changes but the random numbers of policies that draw.

        usable: only these nodes may be chosen, and of each only these GPUs (a bit set).
        """
        if usable is None or self.engine() is None:
            return self._would_decide(pod, offered, {})
        self.in_step.class_of(pod.task)  # before: a new class may rebuild the engine
        with hidden(self.in_step, usable):
            return self._would_decide(pod, offered, {name: NO_DEVICES for name in self.nodes if name not in usable})

    def _would_decide(self, pod: PodFacts, offered: Offered, shut: dict[str, str]) -> Decision | None:
        if self.engine() is None:
            return None
        k = self.in_step.class_of(pod.task)
        engine = self.engine()  # rebuilt if there was no room for the class
        assert engine is not None
        if offered is None:
            numbers = np.arange(len(self.index), dtype=np.int64)
        elif isinstance(offered, np.ndarray):
            numbers = offered
        else:
            numbers = np.array([self.index[name] for name in offered if name in self.index], dtype=np.int64)
        closed: dict[int, str] = {}
        if shut := shut | self.closed_to(pod):
            asked = set(numbers.tolist())
            closed = {self.index[name]: why for name, why in shut.items() if self.index.get(name) in asked}
            numbers = numbers[~np.isin(numbers, list(closed))]
        luck = self.rng.random(2)
        chosen = int(consider(engine.state, engine.plan, engine.scores, k, luck, numbers, self.choice))
        engine.stop_if_faulty()
        decision = new_decision(pod, engine, chosen, self.choice)
        decision.policy = self.in_step.policy_text
        if closed:
            decision.offered += len(closed)
            decision.refused |= Counter(closed.values())
        return decision

    def closed_to(self, pod: PodFacts) -> dict[str, str]:
        """Nodes that take no such pod although they may have room, and why."""
        if self.closed.choosing and pod.only_by:
            return dict.fromkeys(self.nodes, NOT_OURS.format(pod.only_by))
        return self.closed.to(pod)

    @property
    def choice(self) -> Choice:
        """The latest decision in numbers, for every node."""
        return self.in_step.choice

    # ---- reservations, by the names of the Kubernetes scheduler's cache

    def assume(self, pod: PodFacts, node: str, gpus: Sequence[int], now_s: float) -> Reservation:
        """Reserve the node and its GPUs until the cluster shows the pod there or the reservation ends."""
        reservation = self.reservations.assume(pod, node, bits(gpus), now_s)
        self.in_step.place(reservation)
        return reservation

    def promise(self, pod: PodFacts, node: str, gpus: Sequence[int], now_s: float) -> Reservation:
        """The same on a node that is not awake: it stays until that node is awake, or the promise is broken."""
        reservation = self.reservations.promise(pod, node, bits(gpus), now_s)
        self.in_step.place(reservation)
        return reservation

    def break_promise(self, uid: str) -> None:
        """End a reservation on a node that does not wake."""
        self._end(uid, Event.BREAK)

    def forget(self, uid: str) -> None:
        """End a reservation that the cluster does not show."""
        self._end(uid, Event.FORGET)

    def unbound(self, uid: str) -> None:
        """End a reservation whose pod has no node, and no Binding of it can still be made."""
        self._end(uid, Event.UNBOUND)

    def keeps(self, uid: str) -> Reservation | None:
        """The reservation of a pod that must not go elsewhere.

        The cluster shows it on its node; or a Binding has been sent and may still be made: sent to another node, the
        pod could end up on GPUs that others hold by then. Also while the node is not there: it may come back.
        """
        reservation = self.reservations.get(uid)
        if reservation is None or reservation.state in (State.PROMISED, State.ASSUMED):
            return None
        return reservation

    def why_not_bind(self, reservation: Reservation) -> str:
        """Why the pod must not be bound there now, although the node was chosen for it; "" if nothing has happened.

        Its GPUs may have gone for a moment, or others may have put a pod on them.
        """
        pod, node = reservation.pod, reservation.node
        if self.engine() is None or node not in self.nodes:
            return f"{node} is not there, or cannot be read"
        if pod.claims:
            return ""  # their devices are looked at when they are allocated
        if reservation.gpus.bit_count() != pod.task.num_gpu:
            return f"it has {reservation.gpus.bit_count()} GPUs of {node}, and asks for {pod.task.num_gpu}"
        why = self.conflicts.get(pod.uid) or self.closed_to(pod).get(node)
        return f"{node}: {why}" if why else ""

    def adopt(self, other: Cluster) -> None:
        """Take over the reservations of a cluster that is given up, unless this one knows the pod."""
        for reservation in other.reservations.unseen():
            if self.reservations.get(reservation.pod.uid) is None:
                self.reservations.adopt(reservation)
                self.in_step.place(reservation)

    def _end(self, uid: str, event: Event) -> None:
        ended = self.reservations.end(uid, event)
        if ended is not None:
            self.in_step.release(ended)
            if self.ended is not None:
                self.ended(ended)

    @contextmanager
    def without(self, uid: str) -> Iterator[Reservation | None]:
        """Temporarily remove the pod's reservation, to answer a question."""
        memory = self.memory()
        reservation = self.reservations.withdraw(uid)
        if reservation is not None:
            self.in_step.release(reservation)
        try:
            yield reservation
        finally:
            if reservation is not None:
                self.reservations.adopt(reservation)
                self.in_step.place(reservation)
            self.restore(memory)

    # ---- figures

    def engine(self) -> Engine | None:
        """The engine in step with nodes and reservations; None while no node is known."""
        return self.in_step.current()

    @property
    def index(self) -> dict[str, int]:
        """Numbers of the nodes in the engine."""
        return self.in_step.index

    @property
    def conflicts(self) -> dict[str, str]:
        """Pods, by uid, whose GPUs could not be counted, and why."""
        return self.in_step.conflicts

    def power_w(self) -> float:
        """What is drawn now: nodes asleep and pods that wait for their node to wake draw next to nothing."""
        if self.engine() is None or not (self.in_step.sleepers or self.in_step.asleep):
            return self.placed_power_w()
        return int(self.in_step.drawn_mw().sum()) / 1000

    def placed_power_w(self) -> float:
        """The same as if all nodes were awake and every pod ran: for differences, at no cost."""
        engine = self.engine()
        if engine is None:
            return 0.0
        totals = engine.state.totals
        return int(total_power(totals[CPU_POWER], totals[GPU_POWER], totals[BASE_POWER])) / 1000

    def waking_w(self, node: str) -> float:
        """What a node asleep will draw more once it is awake, before any pod; 0 for others, or if it is promised."""
        if node not in self.in_step.asleep or any(held.node == node for held in self.reservations.promises()):
            return 0.0
        n = self.index[node]
        return (int(self.in_step.idle_mw[n]) - self.in_step.asleep_mw(n)) / 1000

    def fragmentation_gpus(self) -> float:
        engine = self.engine()
        if engine is None:
            return 0.0
        return float(engine.state.totals[FRAGMENTATION : FRAGMENTATION + 6].sum()) / MICRO / 1000

    def cost(self, pod: PodFacts, node: str, gpus: Sequence[int]) -> tuple[float, float]:
        """Watts and fragmented GPUs that the pod would add there: it is placed and released again."""
        k = self.in_step.class_of(pod.task)
        engine = self.engine()  # rebuilt if there was no room for the class
        assert engine is not None
        before = self.placed_power_w() - self.waking_w(node), self.fragmentation_gpus()
        n = self.index[node]
        memory = self.memory()  # no arrival and departure for the policy
        place_one(engine.state, engine.plan, k, n, bits(gpus))
        after = self.placed_power_w(), self.fragmentation_gpus()
        release_one(engine.state, engine.plan, k, n, bits(gpus))
        self.restore(memory)
        return after[0] - before[0], after[1] - before[1]

    def memory(self) -> tuple[Engine, NDArray[np.float64]] | None:
        """A copy of what policies remember, with the engine it is from."""
        engine = self.in_step.engine
        return None if engine is None else (engine, engine.state.memory.copy())

    def restore(self, memory: tuple[Engine, NDArray[np.float64]] | None) -> None:
        """Put a copy back, unless the engine was rebuilt."""
        if memory is not None and memory[0] is self.in_step.engine:
            memory[0].state.memory[:] = memory[1]
