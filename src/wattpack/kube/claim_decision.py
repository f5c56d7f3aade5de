"""Node and devices for a pod with claims: the policy decides node and GPUs, the devices of these GPUs are looked up.

A node whose devices turn out not to serve the claims, because parts of GPUs or other devices are taken, is left out and
the policy decides again.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.state import NOWHERE
from wattpack.kube.claim_pods import Alternative, ClaimPods
from wattpack.kube.decision import Decision
from wattpack.kube.dra.allocate import Allocated, NotAllocatableError
from wattpack.kube.gpus import bits, gpu_numbers
from wattpack.kube.objects import Pod

TRIES = 32  # nodes that the policy may choose in vain; each costs one decision
NO_DEVICES = "has no devices that serve the claims"
TAKEN = "has devices for the claims, but they are taken"
ELSEWHERE = "is not where the claims are allocated"


def decide_by_claims(
    pods: ClaimPods, pod: Pod, offered: NDArray[np.int64]
) -> tuple[Decision | None, Alternative, Allocated]:
    """The decision among the nodes offered, what was decided for, and the results by the name of the claim.

    Raises Unreadable. The first alternative that fits anywhere is taken.
    """
    asked = pods.ask(pod, pods.view.bare(pod))
    first: Decision | None = None
    for number, one in enumerate(asked.alternatives):
        decision, devices = _decide_one(pods, one, asked.node, offered, arrives=number == 0)
        if decision is not None and decision.node:
            names = pods.claims.names_of(pod)
            return decision, one, {names[called]: results for called, results in devices.items()}
        first = first or decision
    return first, asked.alternatives[0], {}


def _decide_one(
    pods: ClaimPods, one: Alternative, only: str, offered: NDArray[np.int64], arrives: bool
) -> tuple[Decision | None, Allocated]:
    cluster = pods.view.cluster
    if cluster.engine() is None:
        return None, {}
    if arrives:
        cluster.arrive(one.facts)
        cluster.in_step.class_of(one.facts.task)  # the engine may be rebuilt, and its nodes renumbered
    allowed = offered if one.demand is None else offered[pods.serving(one.demand)[offered]]
    refused = Counter({NO_DEVICES: len(offered) - len(allowed)})
    if only:
        refused[ELSEWHERE] = len(allowed)
        allowed = allowed[allowed == cluster.index.get(only, NOWHERE)]
        refused[ELSEWHERE] -= len(allowed)
    decision: Decision | None = None
    devices: Allocated = {}
    for _ in range(TRIES):
        decision = cluster.would_decide(one.facts, allowed)
        if decision is None or not decision.node or one.demand is None:
            break
        try:
            node = pods.view.nodes[decision.node]
            devices, gpus = pods.claims.devices_for(one.demand, node, bits(decision.gpus))
            decision.gpus = gpu_numbers(gpus)
            break
        except NotAllocatableError:
            allowed = allowed[allowed != cluster.index[decision.node]]
            refused[TAKEN] += 1
            decision.node = ""
    if decision is not None:
        decision.offered = len(offered)
        decision.refused |= +refused
    return decision, devices
