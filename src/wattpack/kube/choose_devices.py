"""A node and devices for a pod with claims: the engine chooses node and GPUs, then the devices are found exactly.

This is the one place where `serve`, `fit` and shadow mode decide for claims. Nothing is placed or taken here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wattpack.kube.cluster import Cluster, Offered
from wattpack.kube.decision import Decision
from wattpack.kube.dra.allocate import Allocated, NotAllocatableError, allocate
from wattpack.kube.dra.demand import Demand
from wattpack.kube.dra.inventory import Inventory
from wattpack.kube.dra.taken import Taken
from wattpack.kube.dra.usable import first_fit, usable_now
from wattpack.kube.facts import PodFacts
from wattpack.kube.objects import Node

MAX_TRIES = 16  # decisions on devices that did not suffice although free capacity did; then every node is asked


class Chosen(NamedTuple):
    """`pod`: with the task of the alternative that was decided on. `allocated`: None if no node fits."""

    decision: Decision
    pod: PodFacts
    demand: Demand
    allocated: Allocated | None
    usable: Mapping[str, int]  # GPUs by node among which the decision was made
    why_not: str = ""  # of the last node whose devices did not suffice


def as_task(pod: PodFacts, demand: Demand) -> PodFacts:
    """The pod as the task of this alternative: its CPU and memory, the claims' GPUs."""
    return pod._replace(task=pod.task._replace(num_gpu=demand.num_gpu, gpu_milli=demand.gpu_milli))


def choose_devices(
    cluster: Cluster,
    pod: PodFacts,
    demands: Sequence[Demand],
    nodes: Mapping[str, Node],
    taken: Taken,
    inventory: Inventory,
    offered: Offered = None,
) -> Chosen | None:
    """The first alternative that any node can serve; None while no node is known."""
    last: Chosen | None = None
    for demand in demands:
        task = as_task(pod, demand)
        usable, why_not = dict(demand.usable), ""
        for attempt in range(MAX_TRIES + 1):
            if attempt == MAX_TRIES:
                rest = demand._replace(usable=usable)
                found_on = {name: first_fit(rest, nodes[name], taken, inventory) for name in usable if name in nodes}
                usable = {name: gpus for name, gpus in found_on.items() if gpus is not None}
            decision = cluster.would_decide(task, offered, usable)
            if decision is None:
                return None
            last = Chosen(decision, task, demand, None, usable, why_not)
            if decision.node == "":
                decision.note = why_not
                break
            node = nodes[decision.node]
            try:
                found = allocate(demand.wanted, node, decision.gpus, taken, inventory)
                return Chosen(decision, task, demand, found, usable)
            except NotAllocatableError as fault:
                why_not = str(fault)
            rest = demand._replace(usable=usable)
            now = usable_now(rest, node, taken, inventory)
            if now == usable[decision.node]:
                now = first_fit(rest, node, taken, inventory) or 0
            if now and now != usable[decision.node]:
                usable[decision.node] = now
            else:
                del usable[decision.node]
    return last
