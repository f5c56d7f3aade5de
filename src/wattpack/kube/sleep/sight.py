"""What is seen of the nodes that may sleep: their states, how long they have been empty, and whom the rule names.

It changes nothing, so it is all that `mode = "advise"` needs. Times are monotonic seconds that the caller gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from wattpack.kube.constraints import is_ready
from wattpack.kube.facts import PodFacts
from wattpack.kube.informer import number
from wattpack.kube.objects import Node
from wattpack.kube.sleep.config import SleepConfig
from wattpack.kube.sleep.record import HOLD, asked_of, is_marked, record_of, state_of
from wattpack.kube.sleep.rule import Pool, pool_of
from wattpack.kube.sleep.selector import selects
from wattpack.kube.sleep.states import COMING, IN_TRANSITION, State
from wattpack.kube.view import View


@dataclass
class Sight:
    """One look at the cluster, and what it remembers of earlier ones."""

    config: SleepConfig
    empty_since_s: dict[str, float] = field(default_factory=dict)  # selected nodes without pods of workloads
    latest: dict[str, Node] = field(default_factory=dict)  # Nodes as our own patches left them
    selected: set[str] = field(default_factory=set)
    states: dict[str, State] = field(default_factory=dict)  # of selected nodes, and of all others with a record
    busy: dict[str, list[str]] = field(default_factory=dict)  # node -> pods of workloads there, or reserved there
    pods: dict[str, list[PodFacts]] = field(default_factory=dict)  # the same without those that cannot be read
    promised: dict[str, list[str]] = field(default_factory=dict)  # node -> pods that are promised it
    usable: set[str] = field(default_factory=set)  # selected, awake, Ready, and open to pods
    claimed: set[str] = field(default_factory=set)  # selected, and their GPUs are given out by resource claims
    pool: Pool | None = None
    would_sleep: list[str] = field(default_factory=list)  # by the rule, before any limit but the floor
    would_wake: list[str] = field(default_factory=list)  # for the reserve

    def look(self, view: View, now_s: float) -> None:
        """See the cluster as it is now."""
        nodes = {name: self.node(view, name) for name in view.nodes}
        self.selected = {name for name, node in nodes.items() if selects(self.config.selector, node.metadata.labels)}
        self.states = {
            name: state_of(node) for name, node in nodes.items() if name in self.selected or record_of(node) is not None
        }
        self.latest = {name: node for name, node in self.latest.items() if name in nodes}
        self.claimed = self.selected & view.cluster.closed.claimed.keys()
        self.find_pods(view)
        for name in self.selected:
            if name in self.busy:
                self.empty_since_s.pop(name, None)
            else:
                self.empty_since_s.setdefault(name, now_s)
        for gone in self.empty_since_s.keys() - self.selected:
            del self.empty_since_s[gone]
        self.usable = {name for name in self.selected if self.states[name] is State.AWAKE and is_usable(nodes[name])}
        if self.pool is None or not self.is_same(view):
            self.pool = pool_of(view.cluster, self.selected, self.config)
        self.apply_rule(nodes, now_s)

    def is_same(self, view: View) -> bool:
        """Whether the columns of the pool are those of the engine as it is."""
        assert self.pool is not None
        there = self.selected & view.cluster.index.keys()
        return self.pool.engine is view.cluster.engine() and there == set(self.pool.names)

    def find_pods(self, view: View) -> None:
        self.busy, self.pods, self.promised = {}, {}, {}
        for reservation in view.cluster.reservations:
            if not reservation.pod.of_node and reservation.node in self.states:
                pod = reservation.pod
                self.busy.setdefault(reservation.node, []).append(f"{pod.namespace}/{pod.name}")
                self.pods.setdefault(reservation.node, []).append(pod)
        for uid, name in view.blocking.items():  # of these, a reservation may be missing
            if name in self.states:
                self.busy.setdefault(name, []).append(f"{uid}, which cannot be read,")
        for reservation in view.cluster.reservations.promises():
            pod = reservation.pod
            self.promised.setdefault(reservation.node, []).append(f"{pod.namespace}/{pod.name}")

    def apply_rule(self, nodes: dict[str, Node], now_s: float) -> None:
        self.would_sleep, self.would_wake = [], []
        if self.pool is None:
            return
        counted = self.counted()
        idle_s = dict(zip(self.pool.names, self.pool.idle_s.tolist(), strict=True))
        sleepy = {
            name
            for name in self.usable
            if name in idle_s
            and name in self.empty_since_s
            and now_s - self.empty_since_s[name] >= idle_s[name]
            and asked_of(nodes[name]) != HOLD
            and name not in self.claimed
        }
        named = self.pool.to_sleep(sleepy, counted)
        self.would_sleep = named[: max(0, len(self.usable) - self.config.floor)]
        if self.config.wake_for_reserve:
            self.would_wake = self.pool.to_wake(self.in_states(State.ASLEEP) & self.selected, counted)

    def counted(self) -> set[str]:
        """Nodes whose free GPUs count for the reserve: awake and open, or waking."""
        return self.usable | (self.in_states(*COMING) & self.selected)

    def in_states(self, *states: State) -> set[str]:
        return {name for name, state in self.states.items() if state in states}

    @property
    def in_transition(self) -> int:
        return len(self.in_states(*IN_TRANSITION))

    def node(self, view: View, name: str) -> Node:
        """The Node as last seen: by the watch, or in the answer to our own patch."""
        seen, own = view.nodes[name], self.latest.get(name)
        if own is not None and number(own.metadata.resource_version) > number(seen.metadata.resource_version):
            return own
        self.latest.pop(name, None)
        return seen

    def came(self, names: Iterable[str]) -> None:
        """Pods were seen on these nodes since the last look: they have not been empty all the time."""
        for name in names:
            self.empty_since_s.pop(name, None)


def is_usable(node: Node) -> bool:
    """Whether pods may go there: Ready, and neither cordoned nor marked."""
    return is_ready(node) and not node.spec.unschedulable and not is_marked(node)
