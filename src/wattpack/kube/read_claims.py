"""A pod with resource claims as the engine needs it: the GPUs that it holds or asks for, and where they can be had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wattpack.kube.constraints import selects
from wattpack.kube.dialects.dra import DRA
from wattpack.kube.dra.claims import Claims
from wattpack.kube.dra.demand import Demand
from wattpack.kube.facts import PodFacts
from wattpack.kube.gpus import bits
from wattpack.kube.objects import Node, Pod, Unreadable
from wattpack.model.tasks import TaskClass

Usable = Mapping[str, int]  # by node that can serve the claims: GPUs that may be chosen, as a bit set


class WithClaims(NamedTuple):
    """`usable` None: the pod has no claims, and they limit nothing."""

    facts: PodFacts
    usable: Usable | None
    stays: bool = False  # it holds devices that cannot be asked for again elsewhere


def with_claims(pod: Pod, facts: PodFacts, claims: Claims, nodes: Sequence[Node]) -> WithClaims:
    """`facts`: of the pod without its claims. Raises Unreadable.

    A pod on a node has the GPUs that it holds; `usable` says where its claims could be served otherwise. A pod without
    a node is the task of the first alternative of its claims.
    """
    if not claims.has_claims(pod):
        return WithClaims(facts, None)
    if pod.spec.node_name:
        return _bound(pod, facts, claims, nodes)
    demands = claims.demands(pod, nodes)
    usable = dict(demands[0].usable) if demands else {node.metadata.name: 0 for node in nodes}
    for selector in claims.allocated_to(pod):
        reached = {node.metadata.name for node in nodes if selects(selector, node)}
        usable = {name: gpus for name, gpus in usable.items() if name in reached}
    if not demands:
        return WithClaims(facts, usable)
    return WithClaims(_as_task(facts, demands[0].num_gpu, demands[0].gpu_milli), usable)


def _bound(pod: Pod, facts: PodFacts, claims: Claims, nodes: Sequence[Node]) -> WithClaims:
    held = claims.held(pod)
    assert held is not None
    try:
        demands: list[Demand] = claims.demands(pod, nodes, allocated=True)
    except Unreadable:  # a class or a template is not known any more
        demands = []
    if not held.gpus and not claims.hold_gpus(pod):  # other devices only
        return WithClaims(facts, demands[0].usable if demands else None)
    own = _as_task(facts, len(held.gpus), held.milli)._replace(gpus=held.gpus or facts.gpus)
    shared = any(len(claim.status.reserved_for) > 1 for claim in claims.claims_of(pod))
    alike = [one for one in demands if one.num_gpu == len(held.gpus) and not shared]
    return WithClaims(own, alike[0].usable) if alike else WithClaims(own, {facts.node: bits(held.gpus)}, stays=True)


def _as_task(facts: PodFacts, num_gpu: int, gpu_milli: int) -> PodFacts:
    """With the GPUs of claims; GPUs that the pod asks for in other words too must be the same ones."""
    task = facts.task
    if num_gpu and task.num_gpu not in (0, num_gpu):
        raise Unreadable(f"asks for {task.num_gpu} GPUs and holds {num_gpu} through claims")
    if num_gpu == 0:
        return facts
    return facts._replace(task=TaskClass(*task[:2], num_gpu, gpu_milli), dialect=DRA.name)
