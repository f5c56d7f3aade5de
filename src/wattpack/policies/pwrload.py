"""PWRLOAD, dynamic alpha by load: the mix alpha * PWR + (1 - alpha) * FGD with an alpha that falls as GPUs fill up.

    alpha = `early` while at most the share `start` of all GPU is in use, then linear to `late` at full use

PWR is normalised over the feasible nodes and FGD is not, as in the mix: with early = late = 0.1 every decision is that
of `pwr:0.1+fgd:0.9` (tested). FGD picks the GPUs. docs/research/future-work.md has the results.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import AFTER_CHANGE, BEFORE_CHANGE, Normalise, Policy
from wattpack.model.power import PowerProfile
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.model.target import Target
from wattpack.policies.fgd import score as fgd_score
from wattpack.policies.pwr import score as pwr_score

# Terms of every policy with a dynamic alpha.
PWR_TERM = 0
FGD_TERM = 1

CAPACITY, EARLY, LATE, START = range(4)  # params
FREE_MILLI = 0  # memory: GPU left in the datacenter


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    pwr_score(node, task, world, params, memory, terms[PWR_TERM : PWR_TERM + 1])
    return fgd_score(node, task, world, params, memory, terms[FGD_TERM : FGD_TERM + 1])


@kernel
def set_alpha(alpha: float, prices: Floats) -> None:
    """Prices in whole thousandths, like the weights of a mix: totals stay integers, and ties stay ties."""
    prices[PWR_TERM] = np.rint(1000 * alpha)
    prices[FGD_TERM] = 1000 - prices[PWR_TERM]


@kernel
def weigh(task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, prices: Floats) -> None:
    used = 1 - memory[FREE_MILLI] / params[CAPACITY]
    way = max(0.0, used - params[START]) / max(1 - params[START], 1e-9)
    set_alpha(params[EARLY] + (params[LATE] - params[EARLY]) * min(way, 1.0), prices)


@kernel
def remember(
    event: int, node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats
) -> None:
    if event == BEFORE_CHANGE:
        memory[FREE_MILLI] -= node.gpu_total
    elif event == AFTER_CHANGE:
        memory[FREE_MILLI] += node.gpu_total


def check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise UserError(f"{name} {value}, expected 0 to 1")


def moving_mix(
    name: str,
    summary: str,
    weigh: Callable[..., None],
    remember: Callable[..., None],
    prepare: Callable[[Datacenter, Target, PowerProfile], NDArray[np.float64]],
) -> Policy:
    """alpha * PWR + (1 - alpha) * FGD, where `weigh` sets alpha from a memory of one number."""
    return Policy(
        name,
        summary,
        score,
        normalise=Normalise.FIRST_TERM_100,
        terms=2,
        weigh=weigh,
        remember=remember,
        memory_size=1,
        prepare=prepare,
        term_names=("pwr", "fgd"),
        amounts_only=True,
        by_work=True,
    )


def pwrload_policy(early: float = 0.5, late: float = 0.05, start: float = 0.0, name: str = "pwrload") -> Policy:
    """`pwrload` with its knobs: alpha at no use and at full use, and the GPU use from which it falls."""
    for knob, value in (("early", early), ("late", late), ("start", start)):
        check_share(knob, value)

    def prepare(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
        return np.array([max(1, datacenter.gpu_milli), early, late, start], dtype=np.float64)

    return moving_mix(name, "mix of pwr and fgd whose alpha falls as the GPUs fill up", weigh, remember, prepare)


PWRLOAD = pwrload_policy()
