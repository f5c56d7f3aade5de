"""kube, kubeall: kube-scheduler's default profile, the node that a stock Kubernetes cluster takes.

    score = LeastAllocated(CPU, memory) + BalancedAllocation(CPU, memory)

GPUs are filtered, not scored, so GPU pods spread. With 100 nodes or more only a window of the nodes that fit is looked
at, on from where the last decision stopped; `kubeall` looks at all of them (percentageOfNodesToScore 100). Left out:
the scores for taints, node affinity, topology spread and images, which are equal for all nodes here. kube-scheduler
knows no shares of a GPU: here a share goes to the tightest GPU that holds it.

    kube, kube@1.36   1.36 to 1.37-rc.1
    kube@1.35         BalancedAllocation with the task only
    kube@1.34         1.30 to 1.34: the same, and ties at random
"""

from __future__ import annotations

from dataclasses import replace

from wattpack.errors import UserError
from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU, Look, Pick, Policy, Ties
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.policies.schedulers.requests import SUM_OF_TERMS, balanced_after, balanced_change, least_allocated


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    terms[0] = least_allocated(node, task)
    terms[1] = balanced_change(node, task, False)
    return ANY_GPU


@kernel
def score_until_1_35(
    node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats
) -> int:
    terms[0] = least_allocated(node, task)
    terms[1] = balanced_after(node, task, False)
    return ANY_GPU


def of_version(version: float) -> Policy:
    """`kube@VERSION`."""
    if version in (1.36, 1.37):
        return KUBE
    if version == 1.35:
        return replace(KUBE, name="kube@1.35", score=score_until_1_35)
    if version in (1.30, 1.31, 1.32, 1.33, 1.34):
        return replace(KUBE, name="kube@1.34", score=score_until_1_35, ties=Ties.DRAWN)
    raise UserError(f"kube@{version:g}: no such version of kube-scheduler is known, expected 1.30 to 1.37")


KUBE = Policy(
    "kube",
    "kube-scheduler's default profile (1.36; kube@1.35, kube@1.34): spreads by CPU and memory, GPUs not scored",
    score,
    pick=Pick.TIGHTEST,
    terms=2,
    term_names=("least_allocated", "balanced"),
    weigh=SUM_OF_TERMS,
    with_knob=of_version,
    look=Look.WINDOW,
    ties=Ties.HEAP,
)
KUBEALL = replace(
    KUBE, name="kubeall", summary="the same, looking at all nodes that fit", look=Look.ALL, with_knob=None
)
