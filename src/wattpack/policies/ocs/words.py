"""What the numbered terms of `ocs` stand for, in words, for `explain`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.model.power import GPU_MILLI
from wattpack.policies.ocs.layout import PARAM, TERM, TERM_NAMES


def say_terms(params: NDArray[np.float64], models: tuple[str, ...]) -> dict[str, str]:
    """By name: `slots_1` and `reserved_1` say nothing of the tasks that they are for."""
    found = {}
    for i in range(int(params[PARAM.size_count])):
        found[TERM_NAMES[TERM.slots + i]] = f"slots for tasks of {params[PARAM.size + i]:g} GPUs"
    for r in range(int(params[PARAM.reserve_count])):
        found[TERM_NAMES[TERM.reserved + r]] = f"room for {_request(params, r, models)}"
    return found


def _request(params: NDArray[np.float64], r: int, models: tuple[str, ...]) -> str:
    gpus, milli = int(params[PARAM.reserve_gpus + r]), int(params[PARAM.reserve_milli + r])
    many = f"{gpus} GPU{'s' if gpus > 1 else ''}" if milli == GPU_MILLI else f"{milli} milli of a GPU"
    here, own = int(params[PARAM.fleet_models]), int(params[PARAM.reserve_models + r])
    named = [] if own == here else [model for place, model in enumerate(models) if own >> place & 1]
    only = f" on {' or '.join(named)}" if named else ""
    memory_gib = params[PARAM.reserve_memory + r] / 1024
    memory = f", {memory_gib:.0f} GiB" if memory_gib >= 1 else ""
    return f"{many}, {params[PARAM.reserve_cpu + r] / 1000:g} vCPU{memory}{only}"
