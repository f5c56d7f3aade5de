"""What people ask of a cluster under a policy: would this pod fit, why is it there, what is left. Nothing changes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypedDict

from wattpack.kube.decision import Decision, new_decision
from wattpack.kube.gpus import gpu_numbers
from wattpack.kube.objects import Pod, Unreadable
from wattpack.kube.translate import PodFacts
from wattpack.kube.view import View
from wattpack.model.power import nodes_power_mw

NOT_CHECKED = "cordons, taints, node selectors and node affinity are taken into account, nothing else"


class NodeState(TypedDict):
    """A node and what is left on it."""

    node: str
    model: str
    gpu_left_milli: list[int]
    cpu_left_milli: int
    memory_left_mib: int
    tasks: int
    power_w: float


class Promised(TypedDict):
    """A pod that has been given room and is not seen on its node yet."""

    pod: str
    node: str
    gpus: tuple[int, ...]


class Standing(TypedDict):
    """How this replica stands."""

    policy: str
    mode: str
    ready: bool
    leader: bool


class ClusterState(TypedDict):
    """Nodes with what is left on them, what cannot be read, what is promised."""

    power_w: float
    fragmentation_gpus: float
    nodes: list[NodeState]
    unreadable_nodes: dict[str, str]
    unreadable_pods: dict[str, str]
    gpu_conflicts: dict[str, str]
    promised: list[Promised]


class State(Standing, ClusterState):
    """The cluster as the policy sees it, and how this replica stands."""


def now_text() -> str:
    return datetime.now(UTC).isoformat()  # strftime took 15 us of every request


def fit(view: View, pod: Pod) -> Decision | None:
    """Whether and where a pod would fit now, and what it would cost; None while no node is known."""
    if not pod.spec.containers:
        raise Unreadable("no containers, expected a pod")
    facts = view.read(pod)
    return considered(view, facts, view.eligible_nodes(pod), NOT_CHECKED)


def explain_now(view: View, uid: str) -> Decision | None:
    """How a pod that is there would be decided now, were it not there yet; None if it is not there."""
    pod, live = view.pods.get(uid), view.live
    if pod is None or live.fresh() is None:
        return None
    held = live.placed.get(uid)
    memory = live.memory()
    live.take_out(uid)
    place = f"it is on {held.node}" if held else "it is on no node"
    decision = considered(view, pod, None, f"not decided by this process: how it would be decided now; {place}")
    if held is not None:
        live.put_in(held.pod, held.node, held.gpus or None, held.seen)
        live.placed[uid].bound, live.placed[uid].since_s = held.bound, held.since_s
    live.set_memory(memory)
    return decision


def considered(view: View, pod: PodFacts, names: list[str] | None, note: str) -> Decision | None:
    """A decision among the nodes named, with what each of the best would cost."""
    live = view.live
    explanation = live.decide(pod.task, names)
    if explanation is None:
        return None
    decision = new_decision(pod, explanation, live, now_text())
    decision.note = note
    for row in decision.best:
        there = live.decide(pod.task, [row.node])
        assert there is not None
        row.watts, row.fragmentation_gpus = live.cost(pod, row.node, there.gpus)
        if row.node == decision.node:
            decision.watts, decision.fragmentation_gpus = row.watts, row.fragmentation_gpus
    return decision


def state_of(view: View) -> ClusterState:
    live = view.live
    engine = live.fresh()
    rows: list[NodeState] = []
    for name, n in live.index.items() if engine is not None else ():
        assert engine is not None
        node, facts = engine.state.nodes[n], live.nodes[name]
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
    promised = [held for held in live.placed.values() if not held.seen]
    return {
        "power_w": live.power_w(),
        "fragmentation_gpus": live.fragmentation_gpus(),
        "nodes": rows,
        "unreadable_nodes": view.unreadable_nodes,
        "unreadable_pods": view.unreadable_pods,
        "gpu_conflicts": live.conflicts,
        "promised": [
            {"pod": f"{held.pod.namespace}/{held.pod.name}", "node": held.node, "gpus": gpu_numbers(held.gpus)}
            for held in promised
        ],
    }
