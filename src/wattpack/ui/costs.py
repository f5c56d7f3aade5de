"""What a task would cost on a node, and which GPUs it would get there; the engine stays as it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import explain_pick
from wattpack.engine.core.state import BASE_POWER, CPU_POWER, FRAGMENTATION, GPU_POWER, MICRO
from wattpack.engine.live.one_decision import place_one, release_one
from wattpack.model.fragmentation import REASONS
from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI, total_power
from wattpack.ui.answers import Cost


def power_w(totals: NDArray[np.int64]) -> float:
    return float(total_power(totals[CPU_POWER], totals[GPU_POWER], totals[BASE_POWER])) / 1000


def lost_gpus(totals: NDArray[np.int64]) -> float:
    return float(totals[FRAGMENTATION : FRAGMENTATION + len(REASONS)].sum()) / MICRO / GPU_MILLI


def cost_of(engine: Engine, k: int, node: int, gpus: int) -> Cost:
    """Place, read, release: `release` is the exact inverse of `place`."""
    totals = engine.state.totals
    before = power_w(totals), lost_gpus(totals)
    place_one(engine.state, engine.plan, k, node, gpus)
    after = power_w(totals), lost_gpus(totals)
    release_one(engine.state, engine.plan, k, node, gpus)
    return Cost(after[0] - before[0], after[1] - before[1])


def gpus_on(engine: Engine, k: int, luck: NDArray[np.float64], node: int) -> int:
    """The GPUs that the policy would pick on this node, as a bit set."""
    return int(explain_pick(engine.state, engine.plan, engine.scores, k, node, luck))


def type_text(datacenter: Datacenter, node: int) -> str:
    gpus = int(datacenter.gpus[node])
    return f"{gpus} x {datacenter.models[datacenter.model[node]]}" if gpus else "no GPU"
