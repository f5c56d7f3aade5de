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


def rows_of(reservation: Reservation) -> list[tuple[TaskClass, int]]:
    """What is placed in the engine for a reservation: tasks with their GPUs as bit sets."""
    parts = [(TaskClass(0, 0, 1, milli), 1 << gpu) for gpu, milli in reservation.parts]
    return [(reservation.task, reservation.counted), *parts]


def ids_of(node: NodeFacts) -> dict[str, int]:
    return {name: gpu for gpu, name in enumerate(node.gpu_ids)}


def certainty(reservation: Reservation) -> tuple[bool, bool, bool, bool]:
    """For an order: pods whose GPUs are known first, then those that keep what they were counted on.

    A pod that is not bound gives way: it can be decided again.
    """
    known = reservation.gpus != 0 or any(one.gpu for one in reservation.pod.holds)
    movable = reservation.state in (Held.ASSUMED, Held.PROMISED)
    return not known, movable, reservation.counted == 0, reservation.pod.doubt != ""


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
            capacity_milli=[fact.capacity_milli or None for fact in facts],
        )
        if self.auto is not None:
            self.choose_first(self.auto, datacenter)
        rows = self.assign_gpus()
        counted = [row for reservation in rows for row in rows_of(reservation)]
        classes = tuple(dict.fromkeys(task for task, _ in counted))
        self.class_index = {task: k for k, task in enumerate(classes)}
        target = self.target or self.learnt_target()
        self.engine = Engine(
            datacenter, classes, self.mix, target, self.profile, spare=max(SPARE_CLASSES, len(classes))
        )
        self.idle_mw = np.asarray(nodes_power_mw(self.engine.state.nodes), dtype=np.int64).copy()
        self.residents = Counter()
        for reservation in rows:
            self.residents[reservation.node] += reservation.pod.of_node * len(rows_of(reservation))
        if rows:
            k = np.array([self.class_index[task] for task, _ in counted], dtype=np.int64)
            on = [self.index[reservation.node] for reservation in rows for _ in rows_of(reservation)]
            n = np.array(on, dtype=np.int64)
            gpus = np.array([gpus for _, gpus in counted], dtype=np.int64)
            place_many(self.engine.state, self.engine.plan, k, n, gpus)
        for name in self.sleepers:
            self.count_wake(name)

    def assign_gpus(self) -> list[Reservation]:
        """The reservations on known nodes, each with the GPUs it is counted on.

        Pods whose GPUs are known and have room come first, then those that must be counted on others than their own,
        then those that were counted on some, then those that were not. A pod whose node has gone is not counted: the
        cluster will say what becomes of it.
        """
        left = {name: [GPU_MILLI] * self.nodes[name].gpus for name in self.index}
        rows = sorted(
            (reservation for reservation in self.reservations if reservation.node in self.index),
            key=lambda one: (*certainty(one), one.pod.created, one.pod.uid),
        )
        numbers = {name: ids_of(self.nodes[name]) for name in {reservation.node for reservation in rows}}
        known = [reservation for reservation in rows if not certainty(reservation)[0]]
        astray = [one for one in known if not self.take_room(one, left[one.node], numbers[one.node], anywhere=False)]
        for one in (*astray, *rows[len(known) :]):
            self.take_room(one, left[one.node], numbers[one.node], anywhere=True)
        return rows

    def take_room(self, reservation: Reservation, left: list[int], numbers: dict[str, int], anywhere: bool) -> bool:
        """Count it and take that from `left`; False: the GPUs that it says have no room, and no other may be taken."""
        self.count(reservation, left, numbers)
        if not anywhere and self.conflicts.pop(reservation.pod.uid, ""):
            return False
        numbers |= reservation.named
        for task, gpus in rows_of(reservation):
            take(left, gpus, task.gpu_milli)
        return True

    def count(self, reservation: Reservation, left: list[int], numbers: Mapping[str, int]) -> None:
        """Fill in what is counted, on a node with `left` milli on its GPUs, whose names `numbers` knows."""
        pod = reservation.pod
        guess = 0 if pod.holds else reservation.counted
        found = room_for(pod, reservation.gpus or guess or None, left, numbers)
        if found.why and not reservation.gpus:
            found = room_for(pod, None, left, numbers)
        reservation.task, reservation.counted = found.task, found.gpus
        reservation.parts, reservation.named = found.parts, found.named
        if found.why:
            self.conflicts[pod.uid] = found.why

    def numbers_on(self, node: str) -> dict[str, int]:
        """Numbers of the node's GPUs by the names that the node and the pods there have for them."""
        found = ids_of(self.nodes[node])
        for reservation in self.reservations:
            if reservation.node == node:
                found |= reservation.named
        return found

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
        left = self.engine.state.nodes[n].gpu_left[: self.nodes[reservation.node].gpus].tolist()
        numbers = self.numbers_on(reservation.node) if reservation.pod.holds else {}
        self.count(reservation, left, numbers)
        rows = rows_of(reservation)
        # Others may have to make room: the next build counts them last.
        crowded = reservation.pod.uid in self.conflicts and self.others_give_way(reservation)
        if crowded or len({task for task, _ in rows} - self.class_index.keys()) > self.engine.spare:
            self.stale = True
            return
        for task, gpus in rows:
            k = self.class_of(task)  # may replace the state
            place_one(self.engine.state, self.engine.plan, k, n, gpus)
        self.residents[reservation.node] += reservation.pod.of_node * len(rows)
        self.count_wake(reservation.node)

    def release(self, reservation: Reservation) -> None:
        """Stop counting a reservation that has ended."""
        self.conflicts.pop(reservation.pod.uid, None)
        n = self.index.get(reservation.node)
        if not self.stale and self.engine is not None and n is not None:
            rows = rows_of(reservation)
            for task, gpus in rows:
                release_one(self.engine.state, self.engine.plan, self.class_index[task], n, gpus)
            self.residents[reservation.node] -= reservation.pod.of_node * len(rows)
            self.count_wake(reservation.node)
            if self.conflicts and self.in_conflict_on(reservation.node):
                self.stale = True  # those that could not be counted in full may have room now

    def in_conflict_on(self, node: str) -> bool:
        held = (self.reservations.get(uid) for uid in self.conflicts)
        return any(reservation is not None and reservation.node == node for reservation in held)

    def others_give_way(self, reservation: Reservation) -> bool:
        """Whether any other pod on its node is counted after it: by the order of `certainty`, or on others' GPUs."""
        rank, node = certainty(reservation)[:2], reservation.node
        others = (other for other in self.reservations if other.node == node and other is not reservation)
        return any(certainty(other)[:2] > rank or other.pod.uid in self.conflicts for other in others)

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
