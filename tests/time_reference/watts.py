"""Power of nodes in whole milliwatts: in use, idle, asleep, and what a placement adds."""

from __future__ import annotations

from collections.abc import Sequence

import reference
from reference import Gpus, Node, Task
from time_reference.inputs import Options

PARTS = ("gpu", "cpu", "base", "asleep", "transition")


def mw(watts: float) -> int:
    return round(watts * 1000)


class Watts:
    """The draw of nodes under one profile with its caps and base power."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.tables: dict[str, list[int]] = {}

    def gpu_mw(self, model: str, used_milli: int) -> int:
        """Under a cap c full draw is max(idle, c * max), and the curve runs between context and that."""
        if model not in self.tables:
            curve = self.options.curves[model]
            full_w = curve.most_w
            if model in self.options.caps:
                full_w = max(curve.idle_w, self.options.caps[model] * curve.most_w)
            context_w = min(curve.context_w, full_w)
            shares = [milli / 1000 for milli in range(1, 1001)]
            draws = [mw(context_w + (full_w - context_w) * share**curve.exponent) for share in shares]
            self.tables[model] = [mw(curve.idle_w), *draws]
        return self.tables[model][used_milli]

    def parts_mw(self, node: Node) -> tuple[int, int, int]:
        """GPUs, sockets and base of an awake node with what is on it."""
        cpu_w, _ = reference.node_power_w(node)
        gpu_mw = sum(self.gpu_mw(node.model, 1000 - left) for left in node.gpu_left)
        return gpu_mw, mw(cpu_w), mw(self.options.base_w)

    def awake_mw(self, node: Node) -> int:
        return sum(self.parts_mw(node))

    def idle_mw(self, node: Node) -> int:
        empty = Node(node.name, node.cpu_milli, node.memory_mib, node.gpu, node.model, node.cpu_model)
        return self.awake_mw(empty)

    def most_mw(self, node: Node) -> int:
        """Base and all maxima."""
        full = Node(node.name, node.cpu_milli, node.memory_mib, node.gpu, node.model, node.cpu_model)
        full.cpu_left, full.gpu_left = 0, [0] * node.gpu
        return self.awake_mw(full)

    def asleep_mw(self, node: Node) -> int:
        """sleep_w, at most the node's idle watts."""
        assert self.options.sleep is not None
        return min(mw(self.options.sleep.sleep_w), self.idle_mw(node))


def pwr(watts: Watts, node: Node, task: Task, before_mw: int, longer: float) -> tuple[int, Gpus]:
    """int(P_before - P_after) in watts, with P_before as told: a node that sleeps, or would soon, counts so.

    A task that runs `longer` times its duration there pays as often.
    """

    def score_placed() -> int:
        added_mw = int((watts.awake_mw(node) - before_mw) * longer)
        return -(added_mw // 1000) if added_mw >= 0 else -added_mw // 1000

    return reference.best_choice(node, task, score_placed)


def decide(
    watts: Watts,
    nodes: dict[int, Node],
    before_mw: dict[int, int],
    longer: dict[int, float],
    task: Task,
    policy: reference.Policy,
    target: Sequence[reference.TargetClass],
) -> tuple[int | None, Gpus]:
    """One decision among these nodes, by their numbers: `reference.decide`, but for what a placement adds."""
    feasible = [i for i, node in nodes.items() if reference.filter_reason(node, task) is None]
    if not feasible:
        return None, ()
    raw = {}
    for name, _ in policy:
        if name == "pwr":
            raw[name] = {i: pwr(watts, nodes[i], task, before_mw[i], longer[i]) for i in feasible}
        else:
            raw[name] = {i: reference.PLUGINS[name](nodes[i], task, target) for i in feasible}
    normalised = {name: reference.normalise(name, scores) for name, scores in raw.items()}
    totals = {i: sum(weight * normalised[name][i] for name, weight in policy) for i in feasible}
    chosen = max(feasible, key=lambda i: totals[i])  # the first of equals
    return chosen, raw[reference.picker(policy)][chosen][1]
