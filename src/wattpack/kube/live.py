"""The cluster under a policy: nodes and pods go in as they are seen, the engine's decisions come out.

What is known of the cluster is two tables, `nodes` and `placed`; the engine's State follows from them and is built anew
when nodes come, go or change, or the policy does. No clock, no network here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import CPU_POWER, FRAGMENTATION, GPU_POWER, MICRO
from wattpack.engine.core.take import place_many
from wattpack.engine.live.one_decision import (
    GPUS,
    Choice,
    arrive_one,
    consider,
    new_choice,
    place_one,
    release_one,
)
from wattpack.kube.gpus import bits, room_for, take
from wattpack.kube.translate import NodeFacts, PodFacts
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import GPU_MILLI, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload

Offered = Iterable[str] | NDArray[np.int64] | None  # nodes by name or by number; None: all
SPARE_CLASSES = 256  # classes of pods that may appear before the engine is built anew (4 ms at 1,213 nodes)


@dataclass(slots=True)
class Placed:
    """A pod that takes room: it is on a node, or has been promised it."""

    pod: PodFacts
    node: str
    gpus: int  # bit set
    seen: bool  # the cluster itself says so; False: promised or bound by us and not seen yet
    task: TaskClass  # what it takes: less than the pod asks for where its GPUs are not there
    since_s: float = 0.0  # when it was promised
    bound: bool = False  # the Binding has been made, by us


class Considered(NamedTuple):
    """A decision: the node's number (-1: fits nowhere), its GPUs as a bit set, and why."""

    datacenter: Datacenter
    mix: Mix
    node: int
    gpus: int
    choice: Choice


class Live:
    """One cluster under one policy."""

    def __init__(
        self, mix: Mix, profile: PowerProfile, target: Target | None, order: str = "name", seed: int = 0
    ) -> None:
        self.mix, self.profile, self.target, self.order = mix, profile, target, order
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.nodes: dict[str, NodeFacts] = {}
        self.placed: dict[str, Placed] = {}  # by uid
        self.arrived: set[str] = set()  # uids the policy has been told of
        self.seen_classes: Counter[TaskClass] = Counter()  # for a target that is learnt
        self.conflicts: dict[str, str] = {}  # uid -> why the pod's GPUs could not be counted
        self.learnt_from = 0  # pods the target was learnt from
        self.stale = True
        self.engine: Engine | None = None
        self.choice: Choice | None = None  # of this engine
        self.index: dict[str, int] = {}
        self.class_index: dict[TaskClass, int] = {}

    # ---- what the cluster says

    def set_node(self, facts: NodeFacts) -> None:
        if self.nodes.get(facts.name) != facts:
            self.nodes[facts.name] = facts
            self.stale = True

    def drop_node(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self.stale = True

    def set_pod(self, pod: PodFacts) -> None:
        """A pod as the cluster shows it. A pod without a node takes room only if it was promised some."""
        if pod.finished:
            self.drop_pod(pod.uid)
            return
        if pod.node == "":
            return
        known = self.placed.get(pod.uid)
        same_gpus = known is not None and (pod.gpus is None or bits(pod.gpus) == known.gpus)
        if known is not None and same_gpus and known.node == pod.node and known.pod.task == pod.task:
            known.seen = True
            known.pod = pod
            return
        self.learn(pod)
        self.take_out(pod.uid)
        self.put_in(pod, pod.node, None if pod.gpus is None else bits(pod.gpus), seen=True)

    def drop_pod(self, uid: str) -> None:
        """The pod has gone or is finished: what it held is free."""
        self.take_out(uid)
        self.arrived.discard(uid)

    def learn(self, pod: PodFacts) -> None:
        """Count the pod, once, among those a target is learnt from."""
        if pod.uid not in self.arrived:
            self.arrived.add(pod.uid)
            self.seen_classes[pod.task] += 1
            if not self.stale and self.engine is not None:
                arrive_one(self.engine.state, self.engine.plan, self.class_of(pod.task))

    # ---- decisions

    def ask(self, pod: PodFacts, offered: Offered = None) -> Considered | None:
        """A pod has come: tell the policy, once, and decide."""
        self.fresh()
        self.learn(pod)
        return self.decide(pod.task, offered)

    def decide(self, task: TaskClass, offered: Offered = None) -> Considered | None:
        """The engine's decision among the nodes offered (None: all), with its reasons; None: there is no node at all.

        Nothing changes but the generator of policies that draw. The next decision overwrites the arrays of this one.
        """
        if self.fresh() is None:
            return None
        k = self.class_of(task)
        engine = self.fresh()  # a class too many has built it anew
        assert engine is not None
        if offered is None:
            numbers = np.arange(len(self.index), dtype=np.int64)
        elif isinstance(offered, np.ndarray):
            numbers = offered
        else:
            numbers = np.array(self.numbers(offered)[0], dtype=np.int64)
        if self.choice is None:
            self.choice = new_choice(engine)
        luck = self.rng.random(2)
        node = int(consider(engine.state, engine.plan, engine.scores, k, luck, numbers, self.choice))
        engine.stop_if_faulty()
        return Considered(engine.datacenter, engine.mix, node, int(self.choice.counts[GPUS]), self.choice)

    def numbers(self, names: Iterable[str]) -> tuple[list[int], list[str]]:
        """Numbers of the nodes named, in the order of the names, and the names that are not known."""
        self.fresh()
        names = list(names)
        try:
            return list(map(self.index.__getitem__, names)), []
        except KeyError:
            known = [name for name in names if name in self.index]
            return [self.index[name] for name in known], [name for name in names if name not in self.index]

    def promise(self, pod: PodFacts, node: str, gpus: int, now_s: float) -> None:
        """Hold node and GPUs for a pod until it is seen there or given back."""
        self.take_out(pod.uid)
        self.put_in(pod, node, gpus, seen=False)
        self.placed[pod.uid].since_s = now_s

    def give_back(self, uid: str) -> None:
        """Undo a promise; what the cluster itself shows stays."""
        held = self.placed.get(uid)
        if held is not None and not held.seen:
            self.take_out(uid)

    def unseen(self, before_s: float) -> list[str]:
        """Uids of pods that were promised room before `before_s` and are still not seen on a node, bound or not."""
        return [uid for uid, held in self.placed.items() if not held.seen and held.since_s < before_s]

    def expired(self, before_s: float) -> list[str]:
        """Uids of pods that were promised room before `before_s` and never bound."""
        return [
            uid for uid, held in self.placed.items() if not held.seen and not held.bound and held.since_s < before_s
        ]

    # ---- figures

    def power_w(self) -> float:
        engine = self.fresh()
        return 0.0 if engine is None else float(engine.state.totals[CPU_POWER] + engine.state.totals[GPU_POWER]) / 1000

    def fragmentation_gpus(self) -> float:
        engine = self.fresh()
        return (
            0.0
            if engine is None
            else float(engine.state.totals[FRAGMENTATION : FRAGMENTATION + 6].sum()) / MICRO / 1000
        )

    def cost(self, pod: PodFacts, node: str, gpus: int) -> tuple[float, float]:
        """Watts and fragmented GPUs that the pod would add there: it is placed, and taken off again."""
        self.class_of(pod.task)  # may build the engine anew
        engine = self.fresh()
        assert engine is not None
        before = self.power_w(), self.fragmentation_gpus()
        k, n = self.class_of(pod.task), self.index[node]
        memory = self.memory()  # a policy must not take it for an arrival and a departure
        place_one(engine.state, engine.plan, k, n, gpus)
        after = self.power_w(), self.fragmentation_gpus()
        release_one(engine.state, engine.plan, k, n, gpus)
        self.set_memory(memory)
        return after[0] - before[0], after[1] - before[1]

    def memory(self) -> NDArray[np.float64] | None:
        """A copy of what policies remember."""
        return None if self.engine is None else self.engine.state.memory.copy()

    def set_memory(self, memory: NDArray[np.float64] | None) -> None:
        """Put a copy back, unless the engine has been built anew since."""
        if memory is not None and self.engine is not None and not self.stale:
            self.engine.state.memory[:] = memory

    # ---- the engine behind it

    def fresh(self) -> Engine | None:
        """The engine in step with the tables; None while no node is known."""
        if self.stale:
            self.build()
        return self.engine

    def build(self) -> None:
        """An engine for the nodes known, with every pod that takes room in its place."""
        self.stale = False
        self.choice = None
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
        # Pods whose GPUs are known first: the others get what those leave.
        order = sorted(self.placed.values(), key=lambda held: (held.gpus == 0, held.pod.created, held.pod.uid))
        left = {name: [GPU_MILLI] * self.nodes[name].gpus for name in names}
        rows = []
        for held in order:
            if held.node not in self.index:
                continue  # its node has gone; the cluster will say what becomes of the pod
            told = None if held.pod.gpus is None else bits(held.pod.gpus)
            held.task, held.gpus, why = room_for(held.pod, held.gpus or told, left[held.node])
            if why:
                self.conflicts[held.pod.uid] = why
            take(left[held.node], held.task, held.gpus, 1)
            rows.append(held)
        classes = tuple(dict.fromkeys(held.task for held in rows))
        self.class_index = {task: k for k, task in enumerate(classes)}
        target = self.target or self.learnt_target()
        self.engine = Engine(
            datacenter, classes, self.mix, target, self.profile, spare=max(SPARE_CLASSES, len(classes))
        )
        if rows:
            k = np.array([self.class_index[held.task] for held in rows], dtype=np.int64)
            n = np.array([self.index[held.node] for held in rows], dtype=np.int64)
            gpus = np.array([held.gpus for held in rows], dtype=np.int64)
            place_many(self.engine.state, self.engine.plan, k, n, gpus)

    def relearn(self) -> bool:
        """Take a learnt target from the pods seen by now, if they are a tenth more than at the last time."""
        seen = self.seen_classes.total()
        if self.target is not None or seen < 1.1 * self.learnt_from + 1:
            return False
        self.stale = True
        return True

    def learnt_target(self) -> Target:
        """M from the pods seen so far."""
        self.learnt_from = self.seen_classes.total()
        return Target.of(Workload.from_counts(self.seen_classes.items(), name="pods seen"))

    def class_of(self, task: TaskClass) -> int:
        """The class's number in the engine. One class too many, and the engine is built anew with more room."""
        k = self.class_index.get(task)
        if k is not None:
            return k
        engine = self.fresh()
        assert engine is not None
        if engine.spare == 0:
            self.build()
            return self.class_of(task)
        k = self.class_index[task] = engine.add_class(task)
        return k

    def put_in(self, pod: PodFacts, node: str, gpus: int | None, seen: bool) -> None:
        """Count the pod on the node. `gpus` None: not known which, the first that are free are taken for it."""
        held = Placed(pod, node, gpus or 0, seen, pod.task)
        self.placed[pod.uid] = held
        n = self.index.get(node)
        if self.stale or self.engine is None or n is None:
            return  # the next build counts it; a node that is not known yet brings one about
        left = self.engine.state.nodes[n].gpu_left[: self.nodes[node].gpus].tolist()
        held.task, held.gpus, why = room_for(pod, gpus, left)
        if why:
            self.conflicts[pod.uid] = why
        if held.task not in self.class_index and self.engine.spare == 0:
            self.stale = True
            return
        place_one(self.engine.state, self.engine.plan, self.class_of(held.task), n, held.gpus)

    def take_out(self, uid: str) -> None:
        held = self.placed.pop(uid, None)
        self.conflicts.pop(uid, None)
        if held is None or self.stale or self.engine is None:
            return
        n = self.index.get(held.node)
        if n is not None:
            release_one(self.engine.state, self.engine.plan, self.class_index[held.task], n, held.gpus)
