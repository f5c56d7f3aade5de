"""Nodes of a live cluster that take no pods with GPUs, or not those of every dialect, although they may have room."""

from __future__ import annotations

from wattpack.kube.dialects import DIALECTS
from wattpack.kube.dialects.dra import DRA
from wattpack.kube.dialects.mig import MIG
from wattpack.kube.facts import PodFacts

UNKNOWN = "holds a pod that is not understood: its GPUs may be in use"
CUT = "has MIG devices: only pods that ask for those"
CLAIMED = "gives out its GPUs by resource claims"
NO_DEVICES = "has no devices that serve the claims"
FOREIGN = "offers GPUs in another dialect"
NOT_OURS = "only {} gives GPUs to such pods: they are counted, not placed"
THEIRS = "its GPUs are given out by {} alone"


# For a metric: the same reasons as one word each.
REASONS = {UNKNOWN: "pod_not_understood", CUT: "mig"}


class ClosedNodes:
    """By node: why it is closed. Shadow mode shares one with the cluster it shadows."""

    def __init__(self) -> None:
        self.doubtful: dict[str, str] = {}  # closed to all pods with GPUs
        self.cut: dict[str, str] = {}  # closed to those that ask for no MIG devices
        self.words: dict[str, frozenset[str]] = {}  # nodes that offer GPUs in dialects' own words, and in which
        self.theirs: dict[str, str] = {}  # whose GPUs only another scheduler gives out, where we choose nodes
        self.choosing = False  # whether pods are placed as decided here, not only counted
        self.claimed: dict[str, str] = {}  # closed to those that do not ask by resource claims
        self._foreign: dict[str, dict[str, str]] = {}  # by dialect: nodes in other words only; kept, as it is long

    def update(self, node: str, doubtful: bool, cut: bool, words: frozenset[str]) -> None:
        """What the node shows."""
        for table, holds, why in ((self.doubtful, doubtful, UNKNOWN), (self.cut, cut, CUT)):
            if holds:
                table[node] = why
            else:
                table.pop(node, None)
        schedulers = {DIALECTS[name].only_by for name in words} - {""} if self.choosing else set()
        if schedulers:
            self.theirs[node] = THEIRS.format(" and ".join(sorted(schedulers)))
        else:
            self.theirs.pop(node, None)
        if self.words.get(node, frozenset()) != words:
            self._foreign.clear()
            self.words[node] = words
            if not words:
                del self.words[node]

    def remove(self, node: str) -> None:
        self.update(node, False, False, frozenset())
        self.claimed.pop(node, None)

    def claim(self, node: str, offered: bool) -> None:
        """Whether the node's GPUs are given out by resource claims."""
        if offered:
            self.claimed[node] = CLAIMED
        else:
            self.claimed.pop(node, None)

    def to(self, pod: PodFacts) -> dict[str, str]:
        """Nodes that take no such pod, and why."""
        if pod.task.num_gpu == 0:
            return {}
        found = dict(self.doubtful) | self.theirs
        if pod.dialect != DRA.name:
            found |= self.claimed
        if pod.dialect != MIG.name:
            found |= self.cut
        if pod.dialect and self.words:
            found = self.foreign_to(pod.dialect) | found
        return found

    def foreign_to(self, dialect: str) -> dict[str, str]:
        """Nodes that offer GPUs in the words of other dialects only."""
        if dialect not in self._foreign:
            others = [name for name, words in self.words.items() if dialect not in words]
            self._foreign[dialect] = dict.fromkeys(others, FOREIGN)
        return self._foreign[dialect]

    def all(self) -> dict[str, str]:
        """Nodes that are closed to any pod with GPUs, for people."""
        return self.theirs | self.cut | self.doubtful
