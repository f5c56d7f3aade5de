"""Whether all pods of a job would fit at the same time: they are placed one after the other, the largest first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from wattpack.kube.decision import Decision
from wattpack.kube.dialects.mig import mig_devices
from wattpack.kube.objects import Pod, Unreadable
from wattpack.kube.view import View
from wattpack.model.counted import counted

MOST_PODS = 10_000
SHOWN = 6  # nodes of a group


class Group(NamedTuple):
    """Pods of one template."""

    name: str
    pod: Pod
    number: int


@dataclass
class Together:
    """Where the pods of each group went, in a cluster in which all of them are at the end."""

    nodes: dict[str, Counter[str]] = field(default_factory=dict)  # group -> node -> pods
    wanted: int = 0
    watts: float = 0.0
    fragmentation_gpus: float = 0.0
    failed: str = ""  # the group of the first pod that fits nowhere; "": all fit
    last: Decision | None = None  # of that pod, or of the last one

    @property
    def placed(self) -> int:
        return sum(nodes.total() for nodes in self.nodes.values())

    def lines(self) -> list[str]:
        """The answer for people: each group with its nodes, then all of them."""
        found = []
        for name, nodes in self.nodes.items():
            first = ", ".join(f"{node} {pods}" for node, pods in nodes.most_common(SHOWN))
            more = f" and {len(nodes) - SHOWN} more nodes" if len(nodes) > SHOWN else ""
            found.append(f"{name}: {counted(nodes.total(), 'pod')} placed{': ' if nodes else ''}{first}{more}")
        added = f"{self.watts:+.1f} W, {self.fragmentation_gpus:+.2f} GPU fragmented"
        if not self.failed:
            return [*found, f"all {self.wanted} pods fit at the same time: {added}"]
        why = self.last.words() if self.last is not None else "no node can be read"
        return [*found, f"{self.placed} of {self.wanted} pods fit at the same time, then none of {self.failed}: {why}"]


def fit_together(view: View, groups: list[Group]) -> Together:
    """The answer for all pods, which have no resource claims. The view carries them afterwards; raises Unreadable."""
    read = [(group, view.asked(group.pod)) for group in groups]
    found = Together(wanted=sum(group.number for group in groups))
    if found.wanted > MOST_PODS:
        raise Unreadable(f"{found.wanted} pods, expected at most {MOST_PODS}")
    cluster = view.cluster
    if cluster.engine() is None:
        return found
    before = cluster.placed_power_w(), cluster.fragmentation_gpus()
    for group, facts in sorted(read, key=lambda pair: -pair[1].task.num_gpu * pair[1].task.gpu_milli):
        nodes = found.nodes.setdefault(group.name, Counter())
        devices, names = mig_devices(group.pod), view.eligible_nodes(group.pod, facts)
        for one in range(group.number):
            found.last = cluster.would_decide(facts, names)
            assert found.last is not None
            if not found.last.node:
                found.failed = group.name
                break
            uid = f"{group.name}-{one}"
            cluster.update_pod(facts._replace(uid=uid, node=found.last.node, gpus=found.last.gpus or None))
            nodes[found.last.node] += 1
            if devices:
                view.devices[uid] = found.last.node, devices
                names = view.eligible_nodes(group.pod, facts)
        if found.failed:
            break
    found.watts = cluster.placed_power_w() - before[0]
    found.fragmentation_gpus = cluster.fragmentation_gpus() - before[1]
    return found
