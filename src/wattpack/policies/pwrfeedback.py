"""PWRFEEDBACK, dynamic alpha by fragmentation: alpha * PWR + (1 - alpha) * FGD, with less PWR the more fragmentation.

    phi   = free GPU that GPU tasks cannot use, expected over M / GPU of the datacenter
    alpha = most * max(0, 1 - phi / limit)

phi is F without the classes that ask for no GPU: for those all free GPU is fragmentation, however tasks are placed.
FGD picks the GPUs. docs/research/future-work.md has the results.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.jit import kernel
from wattpack.model.fragmentation import LACKS_BOTH, LACKS_CPU, LACKS_GPU
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import AFTER_CHANGE, BEFORE_CHANGE, Policy
from wattpack.model.power import PowerProfile
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.model.target import Target
from wattpack.policies.pwrload import check_share, moving_mix, set_alpha

CAPACITY, MOST, LIMIT = range(3)  # params
FRAGMENTED = 0  # memory: millionths of a milli-GPU, a whole number, so that the running sum is exact

MICRO = 1_000_000


@kernel
def weigh(task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, prices: Floats) -> None:
    phi = memory[FRAGMENTED] / MICRO / params[CAPACITY]
    set_alpha(params[MOST] * max(0.0, 1 - phi / params[LIMIT]), prices)


@kernel
def remember(
    event: int, node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats
) -> None:
    if event == BEFORE_CHANGE or event == AFTER_CHANGE:
        sign = 1 if event == AFTER_CHANGE else -1
        micro = node.fragmentation_micro
        memory[FRAGMENTED] += sign * (micro[LACKS_BOTH] + micro[LACKS_GPU] + micro[LACKS_CPU])


def pwrfeedback_policy(most: float = 0.5, limit: float = 0.05, name: str = "pwrfeedback") -> Policy:
    """`pwrfeedback` with its knobs: alpha without fragmentation, and the fragmentation at which alpha is 0."""
    check_share("most", most)
    if not limit > 0:
        raise UserError(f"limit {limit}, expected a share of the GPUs above 0")

    def prepare(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
        return np.array([max(1, datacenter.gpu_milli), most, limit], dtype=np.float64)

    return moving_mix(name, "mix of pwr and fgd whose alpha falls as GPUs become fragmented", weigh, remember, prepare)


PWRFEEDBACK = pwrfeedback_policy()
