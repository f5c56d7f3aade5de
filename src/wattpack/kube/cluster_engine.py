"""The engine in step with a cluster: pods are placed and released one by one, and it is rebuilt when nodes change.

A rebuild follows from the nodes and the reservations alone, in an order that does not depend on what came when.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.take import place_many
from wattpack.engine.live.one_decision import Choice, arrive_one, new_choice, place_one, release_one, sleep_one
from wattpack.kube.auto import Auto
from wattpack.kube.facts import NodeFacts
from wattpack.kube.gpus import room_for, take
from wattpack.kube.reservations import Reservation, Reservations
from wattpack.kube.reservations import State as Held
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import GPU_MILLI, PowerProfile, nodes_power_mw
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload

SPARE_CLASSES = 256  # classes of pods that may appear before the engine is rebuilt (4 ms at 1,213 nodes)


class ClusterEngine:
    """The engine for `nodes` and `reservations`, tables that the cluster owns and changes."""

    def __init__(
        self,
        mix: Mix,
        profile: PowerProfile,
        target: Target | None,
        order: str,
        seed: int,
        nodes: Mapping[str, NodeFacts],
        reservations: Reservations,
        auto: Auto | None = None,
    ) -> None:
        self.mix, self.profile, self.order, self.seed = mix, profile, order, seed
        self.auto = auto  # chooses `mix` for the nodes known
        self.target = target  # None: learnt from the pods that arrived
        self.nodes, self.reservations = nodes, reservations
        self.arrivals: Counter[TaskClass] = Counter()  # pods by class, for a learnt target
        self.learnt_from = 0  # pods that the target was learnt from
        self.stale = True
        self.engine: Engine | None = None
        self._choice: Choice | None = None
        self.index: dict[str, int] = {}  # node name -> number in the engine
        self.class_index: dict[TaskClass, int] = {}
        self.conflicts: dict[str, str] = {}  # pod uid -> why its GPUs could not be counted
        self.sleepers: dict[str, bool] = {}  # nodes that may sleep -> whether they are awake now
        self.asleep: frozenset[str] = frozenset()  # those of them that draw only `sleep_w`
        self.sleep_w = 0.0
        self.residents: Counter[str] = Counter()  # pods by node that belong to it: a node with no others is empty
        self.idle_mw: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # [nodes] drawn by a node without pods

    def current(self) -> Engine | None:
        """The engine in step with the tables; None while no node is known."""
        if self.stale:
            self.build()
        return self.engine

    def build(self) -> None:
        """An engine for the nodes known, with every pod that has a reservation in its place."""
        self.stale = False
        self._choice = None
        names = sorted(self.nodes)
        if self.order == "seeded":
            names = [names[i] for i in np.random.default_rng(self.seed).permutation(len(names))]
        self.index = {name: n for n, name in enumerate(names)}
        self.conflicts = {}
        if not names:
            self.engine = None
            return
        facts = [self.nodes[name] for name in names]
        datacenter = Datacenter.of(
            names,
            [fact.cpu_milli for fact in facts],
            [fact.memory_mib for fact in facts],
            [fact.gpus for fact in facts],
            [fact.model for fact in facts],
            [fact.cpu_model for fact in facts],
            name="cluster",
        )
        if self.auto is not None:
            self.choose_first(self.auto, datacenter)
        rows = self.assign_gpus()
        classes = tuple(dict.fromkeys(reservation.task for reservation in rows))
        self.class_index = {task: k for k, task in enumerate(classes)}
        target = self.target or self.learnt_target()
        self.engine = Engine(
            datacenter, classes, self.mix, target, self.profile, spare=max(SPARE_CLASSES, len(classes))
        )
        self.idle_mw = np.asarray(nodes_power_mw(self.engine.state.nodes), dtype=np.int64).copy()
        self.residents = Counter(reservation.node for reservation in rows if reservation.pod.of_node)
        if rows:
            k = np.array([self.class_index[reservation.task] for reservation in rows], dtype=np.int64)
            n = np.array([self.index[reservation.node] for reservation in rows], dtype=np.int64)
            gpus = np.array([reservation.counted for reservation in rows], dtype=np.int64)
            place_many(self.engine.state, self.engine.plan, k, n, gpus)
        for name in self.sleepers:
            self.count_wake(name)

    def assign_gpus(self) -> list[Reservation]:
        """The reservations on known nodes, each with the GPUs it is counted on.

        Pods whose GPUs are known come first, then those that were counted on some, then those that were not. A pod
        whose node has gone is not counted: the cluster will say what becomes of it.
        """
        left = {name: [GPU_MILLI] * self.nodes[name].gpus for name in self.index}
        rows = sorted(
            (reservation for reservation in self.reservations if reservation.node in self.index),
            key=lambda one: (one.gpus == 0, one.counted == 0, one.pod.created, one.pod.uid),
        )
        for reservation in rows:
            self.count(reservation, left[reservation.node])
            take(left[reservation.node], reservation.task, reservation.counted)
        return rows

    def count(self, reservation: Reservation, left: list[int]) -> None:
        """Fill in the task and the GPUs that are counted, on a node with `left` milli on its GPUs."""
        pod = reservation.pod
        task, counted, why = room_for(pod, reservation.gpus or reservation.counted or None, left)
        if why and not reservation.gpus:
            task, counted, why = room_for(pod, None, left)
        reservation.task, reservation.counted = task, counted
        if why:
            self.conflicts[pod.uid] = why

    @property
    def choice(self) -> Choice:
        """The arrays of the latest decision of this engine; the next decision overwrites them."""
        assert self.engine is not None
        if self._choice is None:
            self._choice = new_choice(self.engine)
        return self._choice

    # ---- single changes

    def place(self, reservation: Reservation) -> None:
        """Count a new reservation. A pod without GPU numbers is counted on the first free GPUs."""
        n = self.index.get(reservation.node)
        if self.stale or self.engine is None or n is None:
            return  # the next build counts it; a node that is not known yet brings one about
        self.count(reservation, self.engine.state.nodes[n].gpu_left[: self.nodes[reservation.node].gpus].tolist())
        if reservation.task not in self.class_index and self.engine.spare == 0:
            self.stale = True
            return
        k = self.class_of(reservation.task)  # may replace the state
        place_one(self.engine.state, self.engine.plan, k, n, reservation.counted)
        self.residents[reservation.node] += reservation.pod.of_node
        self.count_wake(reservation.node)

    def release(self, reservation: Reservation) -> None:
        """Stop counting a reservation that has ended."""
        self.conflicts.pop(reservation.pod.uid, None)
        n = self.index.get(reservation.node)
        if not self.stale and self.engine is not None and n is not None:
            k = self.class_index[reservation.task]
            release_one(self.engine.state, self.engine.plan, k, n, reservation.counted)
            self.residents[reservation.node] -= reservation.pod.of_node
            self.count_wake(reservation.node)
            others = (self.reservations.get(uid) for uid in self.conflicts)
            if any(other is not None and other.node == reservation.node for other in others):
                self.stale = True  # what it held may be what they could not be counted on

    def arrive(self, task: TaskClass) -> None:
        """A pod has arrived: count it for a learnt target and tell the policy."""
        self.arrivals[task] += 1
        if not self.stale and self.engine is not None:
            k = self.class_of(task)  # may replace engine and state
            arrive_one(self.engine.state, self.engine.plan, k)

    def class_of(self, task: TaskClass) -> int:
        """The class's number in the engine, which is rebuilt when there is no room for another class."""
        engine = self.current()
        assert engine is not None
        k = self.class_index.get(task)
        if k is not None:
            return k
        if engine.spare == 0:
            self.build()
            return self.class_of(task)
        k = self.class_index[task] = engine.add_class(task)
        return k

    # ---- nodes that sleep

    def take_sleepers(self, sleepers: dict[str, bool], asleep: frozenset[str], sleep_w: float) -> None:
        """Nodes that may sleep, with whether they are awake: what a placement adds there counts from `sleep_w`."""
        changed = {name for name, _ in self.sleepers.items() ^ sleepers.items()}
        if sleep_w != self.sleep_w:
            changed |= sleepers.keys()
        self.sleepers, self.asleep, self.sleep_w = sleepers, asleep, sleep_w
        for name in changed:
            self.count_wake(name)

    def count_wake(self, name: str) -> None:
        """Set what a placement on the node adds beside its own watts."""
        n = self.index.get(name)
        if self.stale or self.engine is None or n is None:
            return  # the next build does it
        awake = self.sleepers.get(name)
        if awake is None and not self.engine.state.nodes[n].wake_mw:
            return
        empty = self.engine.state.nodes[n].tasks == self.residents[name]
        sleeps = awake is not None and (empty or not awake)
        sleep_one(self.engine.state, n, self.asleep_mw(n), bool(sleeps))

    def asleep_mw(self, n: int) -> int:
        return min(int(self.idle_mw[n]), round(self.sleep_w * 1000))

    def drawn_mw(self) -> NDArray[np.int64]:
        """[nodes] What each node draws: its pods, less where it sleeps. A pod that waits for its node draws nothing."""
        assert self.engine is not None
        drawn: NDArray[np.int64] = np.asarray(nodes_power_mw(self.engine.state.nodes), dtype=np.int64).copy()
        if self.sleepers:
            held = [reservation for reservation in self.reservations if not reservation.pod.of_node]
            occupied = {reservation.node for reservation in held if reservation.state is not Held.PROMISED}
            for name in {reservation.node for reservation in held} - occupied:
                if name in self.index:
                    drawn[self.index[name]] = self.idle_mw[self.index[name]]
        for name in self.asleep & self.index.keys():
            drawn[self.index[name]] = self.asleep_mw(self.index[name])
        return drawn

    # ---- a policy that is chosen

    def choose_first(self, auto: Auto, datacenter: Datacenter) -> None:
        """The first choice is made at once, as no pod can be placed without; later ones beside the decisions."""
        if auto.choice is None:
            auto.take(auto.found_for(datacenter, self.seen()), datacenter, self.seen())
        self.mix = auto.mix

    @property
    def policy_text(self) -> str:
        """The policy as decisions name it: an expression, or `auto -> ` and the one chosen."""
        return self.mix.expression if self.auto is None else self.auto.text

    def seen(self) -> Workload:
        """The pods that arrived so far."""
        return Workload.from_counts(self.arrivals.items(), name="pods seen")

    # ---- a target that is learnt

    def learnt_target(self) -> Target:
        """The target workload of the pods that arrived so far."""
        self.learnt_from = self.arrivals.total()
        return Target.of(self.seen())

    def relearn(self) -> bool:
        """Have the next build learn the target again, if a tenth more pods arrived than last time; whether it will."""
        if self.target is not None or self.arrivals.total() < 1.1 * self.learnt_from + 1:
            return False
        self.stale = True
        return True
