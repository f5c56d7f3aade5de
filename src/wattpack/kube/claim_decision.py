"""Node and devices for a pod that waits, with what its claims hold already taken into account."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.state import NOWHERE
from wattpack.kube.choose_devices import as_task, choose_devices
from wattpack.kube.claim_pods import ClaimPods
from wattpack.kube.decision import Decision
from wattpack.kube.dialects.dra import DRA
from wattpack.kube.dra.allocate import Allocated
from wattpack.kube.facts import PodFacts
from wattpack.kube.objects import Pod


def decide_by_claims(
    pods: ClaimPods, pod: Pod, offered: NDArray[np.int64]
) -> tuple[Decision | None, PodFacts, Allocated]:
    """The decision among the nodes offered, the pod as it was decided, and the devices by the name of their claim.

    Raises Unreadable. A pod whose claims are allocated goes to their node, and takes no GPUs of its own there.
    """
    view, asked = pods.view, pods.ask(pod, pods.view.bare(pod))
    cluster = view.cluster
    facts = asked.pod._replace(dialect=DRA.name)
    cluster.engine()
    cluster.arrive(as_task(facts, asked.demands[0]) if asked.demands else facts)
    if cluster.engine() is None:
        return None, facts, {}
    if asked.node:
        offered = offered[offered == cluster.index.get(asked.node, NOWHERE)]
    if not asked.demands:
        return cluster.would_decide(facts, offered), facts, {}
    claims = pods.claims
    chosen = choose_devices(cluster, facts, asked.demands, view.nodes, claims.taken, claims.inventory, offered)
    if chosen is None:
        return None, facts, {}
    names = claims.names_of(pod)
    devices = {names[called]: results for called, results in (chosen.allocated or {}).items()}
    return chosen.decision, chosen.pod, devices
