"""Shadow mode: what the policy would have done with every pod that another scheduler places. It binds nothing.

Two clusters are kept: the real one, and one in which the policy placed every pod since the start. Each pod is decided
twice: in the real cluster, to count how often the policy disagrees with the scheduler, and in the policy's own, because
the watts saved are those of a cluster run by the policy, not the sum of single decisions.
"""

from __future__ import annotations

from collections import deque
from typing import Literal, TypedDict

from wattpack.kube.dialects.dra import DRA
from wattpack.kube.facts import PodFacts
from wattpack.kube.metrics import Metrics
from wattpack.kube.objects import Pod
from wattpack.kube.view import View

SHOWN = 200  # latest pods in the table


Agreement = Literal["same", "other_node", "nowhere", "not_ours"]


class ShadowRow(TypedDict):
    """A pod that another scheduler placed, and what the policy would have done in the cluster as it was."""

    pod: str
    scheduler: str
    node: str
    watts: float
    policy_node: str
    policy_watts: float
    agreement: Agreement


class ShadowTable(TypedDict):
    """What an operator wants to know before switching wattpack on."""

    policy: str
    pods_placed_since_start: int
    same_node: int
    other_node: int
    policy_has_no_room: int
    not_ours: int  # pods that only their own scheduler may place: they stay where it put them
    cluster_w: float
    cluster_under_policy_w: float
    estimated_saving_w: float
    estimated_saving: float
    fragmentation_gpus: float
    fragmentation_under_policy_gpus: float
    pods: list[ShadowRow]


class Shadow:
    """The policy's own cluster beside the real one."""

    def __init__(self, view: View, metrics: Metrics) -> None:
        self.view, self.metrics = view, metrics
        self.own = view.cluster.empty_copy()
        self.started = False
        self.rows: deque[ShadowRow] = deque(maxlen=SHOWN)
        self.same = self.other = self.nowhere = self.not_ours = 0
        view.before_bound = self.pod_bound

    def start(self) -> None:
        """The policy's cluster begins as a copy of the real one."""
        self.started = True
        real = self.view.cluster.in_step
        self.own.in_step.target = real.target or real.learnt_target()
        self.nodes_changed()
        for reservation in self.view.cluster.reservations:
            self.own.update_pod(reservation.pod)

    def nodes_changed(self) -> None:
        for name in set(self.own.nodes) - set(self.view.cluster.nodes):
            self.own.remove_node(name)
        for facts in self.view.cluster.nodes.values():
            self.own.update_node(facts)

    def pods_changed(self) -> None:
        """Pods that have gone or finished leave the policy's cluster too."""
        if self.started:
            for uid in self.own.reservations.uids() - set(self.view.pods):
                self.own.remove_pod(uid)

    def pod_bound(self, facts: PodFacts, pod: Pod) -> bool:
        """Another scheduler has bound a pod; the real cluster does not count it yet.

        False: the pod cannot be judged before its claims are shown with their devices. They are written before the
        Binding, but pods and claims are watched apart.
        """
        if not self.started:
            return True
        if self.view.claim_pods is not None:
            if not self.view.claim_pods.are_allocated(pod):
                return False
            self.view.claim_pods.refresh()
            self.nodes_changed()
        real, own = self.view.cluster, self.own
        if facts.only_by or (facts.holds and facts.task.num_gpu == 0):  # we would not place it, or cannot say it
            before = real.power_w()
            real.update_pod(facts)
            own.update_pod(facts)
            self.not_ours += 1
            self.note(facts, real.power_w() - before, "", 0.0, "not_ours")
            return True
        names = self.view.eligible_nodes(pod, facts)
        usable = self.view.usable(pod, facts) if facts.dialect == DRA.name else None
        decision = real.decide(facts, names, usable)
        wanted = decision.node if decision is not None else ""
        watts = real.cost(facts, wanted, decision.gpus)[0] if decision is not None and wanted else 0.0
        before = real.power_w()
        real.update_pod(facts)
        actual_watts = real.power_w() - before
        mine = own.decide(facts, names, usable)
        if mine is not None and mine.node:
            own.update_pod(facts._replace(node=mine.node, gpus=mine.gpus or None))
        else:  # the policy finds no node where the scheduler found one: both clusters must carry the same pods
            own.update_pod(facts)
        outcome: Agreement = "nowhere" if not wanted else "same" if wanted == facts.node else "other_node"
        self.same += outcome == "same"
        self.other += outcome == "other_node"
        self.nowhere += outcome == "nowhere"
        self.note(facts, actual_watts, wanted, watts, outcome)
        return True

    def note(self, facts: PodFacts, actual_watts: float, wanted: str, watts: float, outcome: Agreement) -> None:
        self.metrics.count("wattpack_shadow_pods_total", agreement=outcome)
        self.rows.append(
            {
                "pod": f"{facts.namespace}/{facts.name}",
                "scheduler": facts.scheduler,
                "node": facts.node,
                "watts": round(actual_watts, 3),
                "policy_node": wanted,
                "policy_watts": round(watts, 3),
                "agreement": outcome,
            }
        )

    def words(self) -> str:
        """The table in one line, for the log."""
        table = self.table()
        counts = table["pods_placed_since_start"], table["same_node"], table["other_node"], table["policy_has_no_room"]
        theirs = f", {self.not_ours} that only their own scheduler may place" if self.not_ours else ""
        return (
            "shadow: {} pods placed since the start, {} on the policy's node, {} on another, {} where it has no room{}"
            "; cluster {:.0f} W, under {} {:.0f} W ({:+.1f} % saved)"
        ).format(
            *counts,
            theirs,
            table["cluster_w"],
            table["policy"],
            table["cluster_under_policy_w"],
            100 * table["estimated_saving"],
        )

    def table(self) -> ShadowTable:
        pods = self.same + self.other + self.nowhere + self.not_ours
        actual_w, own_w = self.view.cluster.power_w(), self.own.power_w()
        return {
            "policy": self.own.in_step.policy_text,
            "pods_placed_since_start": pods,
            "same_node": self.same,
            "other_node": self.other,
            "policy_has_no_room": self.nowhere,
            "not_ours": self.not_ours,
            "cluster_w": actual_w,
            "cluster_under_policy_w": own_w,
            "estimated_saving_w": actual_w - own_w,
            "estimated_saving": (actual_w - own_w) / actual_w if actual_w else 0.0,
            "fragmentation_gpus": self.view.cluster.fragmentation_gpus(),
            "fragmentation_under_policy_gpus": self.own.fragmentation_gpus(),
            "pods": list(self.rows),
        }
