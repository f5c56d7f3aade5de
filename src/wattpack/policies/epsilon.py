"""EPSILON, the epsilon-constraint: among nodes within epsilon of the least fragmentation rise, the least power rise.

    first   F_before - F_after, whole milli-GPU; nodes more than epsilon below the largest are excluded
    second  P_before - P_after, watts; the largest wins, among equals the first node

A sharing task gets the GPU that leaves the least fragmentation on the node, the first of equals; the watts are those
of that GPU. docs/research/future-work.md has the results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.jit import kernel
from wattpack.model.fragmentation import fragmentation_after, tally
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import ANY_GPU, Normalise, Policy
from wattpack.model.power import PowerProfile, added_power_mw, paid_power_mw
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.model.target import Target
from wattpack.policies.pwr import whole_watts


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    tally(node, world)
    gpu = ANY_GPU
    if task.kind != 0:
        terms[0] = np.rint(node.fragmentation - fragmentation_after(node, task, 0, world))
    else:
        terms[0] = -np.inf
        for g in range(node.gpus):
            if node.gpu_left[g] < task.gpu_milli:
                continue
            gained = np.rint(node.fragmentation - fragmentation_after(node, task, g, world))
            if gained > terms[0]:
                terms[0] = gained
                gpu = g
    terms[1] = whole_watts(-paid_power_mw(added_power_mw(node, task, gpu, world.gpu_draw_mw), node, task))
    return gpu


@kernel
def weigh(task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, prices: Floats) -> None:
    prices[0] = params[0]
    prices[1] = 1.0


def epsilon_policy(epsilon_milli: float = 100.0, name: str = "epsilon") -> Policy:
    """`epsilon` with its knob: how far above the least fragmentation rise a node may be, in milli-GPU."""
    if not epsilon_milli >= 0:
        raise UserError(f"epsilon_milli {epsilon_milli}, expected 0 or more")

    def prepare(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
        return np.array([epsilon_milli])

    return Policy(
        name,
        "least rise of power among the nodes near the least rise of fragmentation",
        score,
        normalise=Normalise.FIRST_TERM_WITHIN,
        terms=2,
        weigh=weigh,
        prepare=prepare,
        term_names=("out of reach", "power"),
        amounts_only=True,
        by_work=True,
    )


EPSILON = epsilon_policy()
