"""Questions that change nothing: would this pod fit, why is it on its node, what capacity is left."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TypedDict

from wattpack.kube.choose_devices import choose_devices
from wattpack.kube.closed_nodes import NOT_OURS
from wattpack.kube.constraints import lost
from wattpack.kube.decision import Decision
from wattpack.kube.dra.taken import Taken
from wattpack.kube.facts import PodFacts
from wattpack.kube.gpus import gpu_numbers
from wattpack.kube.not_understood import blocked
from wattpack.kube.objects import Pod, Unreadable
from wattpack.kube.read_claims import Usable
from wattpack.kube.reservations import State as Held
from wattpack.kube.view import View
from wattpack.model.power import nodes_power_mw

NOT_CHECKED = (
    "cordons, taints, node selectors and node affinity are taken into account; not affinity between pods, topology "
    "spread, volumes, host ports"
)

SHOWN = 6  # reasons for which nodes are not open to a pod


class NodeState(TypedDict):
    """A node and the capacity left on it."""

    node: str
    model: str
    gpu_left_milli: list[int]
    cpu_left_milli: int
    memory_left_mib: int
    tasks: int
    power_w: float


class Promised(TypedDict):
    """A pod with a reservation, which the cluster does not show on its node yet."""

    pod: str
    node: str
    gpus: tuple[int, ...]


class Standing(TypedDict):
    """The configuration and condition of this replica."""

    policy: str
    auto: str  # what `auto` chose and why; empty for any other policy
    mode: str
    ready: bool
    leader: bool
    skipped: dict[str, str]  # objects of any kind that cannot be decoded, and why


class ClusterState(TypedDict):
    """Nodes with the capacity left on them, what could not be read, reservations that are not seen yet.

    `closed_nodes` take no pods with GPUs.
    """

    power_w: float
    fragmentation_gpus: float
    nodes: list[NodeState]
    unreadable_nodes: dict[str, str]
    closed_nodes: dict[str, str]
    unreadable_pods: dict[str, str]
    gpu_conflicts: dict[str, str]
    promised: list[Promised]
    waiting: int  # pods that have no node yet


class State(Standing, ClusterState):
    """The cluster as the policy sees it, and the condition of this replica."""


def now_text() -> str:
    return datetime.now(UTC).isoformat()  # strftime took 15 us of every request


def age_s(created: str) -> float | None:
    """Seconds since a moment as Kubernetes writes it, by this machine's clock; None: it is no moment."""
    try:
        return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(created)).total_seconds())
    except (ValueError, TypeError):  # TypeError: without a zone
        return None


def fit(view: View, pod: Pod) -> Decision | None:
    """Whether and where a pod would fit now, and what it would cost; None while no node is known."""
    if not pod.spec.containers:
        raise Unreadable("no containers, expected a pod")
    facts = view.asked(pod)
    usable = view.usable(pod, facts)
    refusals = view.why_not(pod, facts)
    names = [name for name, why in refusals.items() if why == ""]
    note = "\n".join(
        [NOT_CHECKED, *not_ours_line(facts), *filter(None, [lost(pod)]), *blocked_line(view), *not_open_line(refusals)]
    )
    demands = view.claims.demands(pod, view.listed()) if view.claims is not None and usable is not None else []
    if view.claims is None or not demands:
        return costed_decision(view, facts, names, note, usable)
    live = view.claim_pods  # there, devices that are promised to other pods are taken too
    taken = Taken(view.claims.claims.values()) if live is None else live.claims.taken
    chosen = choose_devices(view.cluster, facts, demands, view.nodes, taken, view.claims.inventory, names)
    if chosen is None:
        return None
    if chosen.allocated is None:
        chosen.decision.at, chosen.decision.note = now_text(), "\n".join(filter(None, [chosen.why_not, note]))
        return chosen.decision
    devices = ", ".join(f"{result.pool}/{result.device}" for found in chosen.allocated.values() for result in found)
    return costed_decision(view, chosen.pod, names, f"devices: {devices}\n{note}", chosen.usable)


def not_ours_line(facts: PodFacts) -> list[str]:
    """One line if `wattpack serve` would not place the pod, wherever there is room."""
    return [f"`wattpack serve` does not place it: {NOT_OURS.format(facts.only_by)}"] if facts.only_by else []


def blocked_line(view: View) -> list[str]:
    """One line if pods that could not be read keep nodes out of the question, none otherwise."""
    blocking = [node for node in view.blocking.values() if node in view.nodes]
    return [blocked(sorted(set(blocking)), len(blocking))] if blocking else []


def not_open_line(refusals: dict[str, str]) -> list[str]:
    """One line if filters of Kubernetes keep nodes out of the question, the most frequent reasons first."""
    found = Counter(filter(None, refusals.values())).most_common()
    if not found:
        return []
    reasons = "; ".join(f"{why}: {count}" for why, count in found[:SHOWN])
    more = f"; {len(found) - SHOWN} more reasons" if len(found) > SHOWN else ""
    shut = sum(count for _, count in found)
    return [f"{shut} of {len(refusals)} nodes {'is' if shut == 1 else 'are'} not open to the pod ({reasons}{more})"]


def explain_now(view: View, uid: str) -> Decision | None:
    """How a pod that exists would be decided now if it held nothing; None if there is no such pod, or no node."""
    pod, cluster = view.pods.get(uid), view.cluster
    if pod is None or cluster.engine() is None:
        return None
    with cluster.without(uid) as reservation:
        promised = reservation is not None and reservation.state is Held.PROMISED
        how = "promised" if promised else "on"
        place = f"it is {how} {reservation.node}" if reservation else "it is on no node"
        note = f"not decided by this process: how it would be decided now; {place}"
        return costed_decision(view, pod, None, note)


def costed_decision(
    view: View, pod: PodFacts, names: list[str] | None, note: str, usable: Usable | None = None
) -> Decision | None:
    """A decision among the nodes named, with what the pod would cost on each of the best."""
    cluster = view.cluster
    decision = cluster.would_decide(pod, names, usable)
    if decision is None:
        return None
    decision.at, decision.note = now_text(), note
    for row in decision.best:
        there = cluster.would_decide(pod, [row.node], usable)
        assert there is not None
        row.watts, row.fragmentation_gpus = cluster.cost(pod, row.node, there.gpus)
        if row.node == decision.node:
            decision.watts, decision.fragmentation_gpus = row.watts, row.fragmentation_gpus
    return decision


def state_of(view: View) -> ClusterState:
    cluster = view.cluster
    engine = cluster.engine()
    rows: list[NodeState] = []
    for name, n in cluster.index.items() if engine is not None else ():
        assert engine is not None
        node, facts = engine.state.nodes[n], cluster.nodes[name]
        rows.append(
            {
                "node": name,
                "model": facts.model,
                "gpu_left_milli": node.gpu_left[: facts.gpus].tolist(),
                "cpu_left_milli": int(node.cpu_left),
                "memory_left_mib": int(node.memory_left),
                "tasks": int(node.tasks),
                "power_w": float(nodes_power_mw(node)) / 1000,
            }
        )
    return {
        "power_w": cluster.power_w(),
        "fragmentation_gpus": cluster.fragmentation_gpus(),
        "nodes": rows,
        "unreadable_nodes": view.unreadable_nodes,
        "closed_nodes": cluster.closed.all(),
        "unreadable_pods": view.unreadable_pods,
        "gpu_conflicts": cluster.conflicts,
        "promised": [
            {
                "pod": f"{reservation.pod.namespace}/{reservation.pod.name}",
                "node": reservation.node,
                "gpus": gpu_numbers(reservation.gpus),
            }
            for reservation in cluster.reservations.unseen()
        ],
        "waiting": sum(not pod.node and not pod.finished for pod in view.pods.values()),
    }
