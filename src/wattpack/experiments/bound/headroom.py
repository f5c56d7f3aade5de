"""What placement can save at all: the bound against FGD. Where that is little, a sentence says what helps instead."""

from __future__ import annotations

import numpy as np

from wattpack.experiments.bound.curves import with_bound
from wattpack.experiments.curves import Curves, Results, at, read_at_loads
from wattpack.experiments.fill_up import run_seed
from wattpack.experiments.lineup import BASELINE, BOUND
from wattpack.experiments.spec.axes import FIRST_SEED
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile
from wattpack.model.tasks import Workload
from wattpack.policies.expression import parse

LITTLE = 0.025  # of the watts per GPU served
LOADS_READ = (0.2, 0.4, 0.6, 0.8, 0.9)
HELPS = "nodes that sleep, power caps, moving work in time (`wattpack simulate --advise`)"


def most_saving(results: Results, trace: str) -> float | None:
    """The share of FGD's watts per GPU served that any placement saves at most, mean over loads; None without a bound.

    Per GPU served, because the bound serves the most: it may draw more than FGD for that alone.
    """
    fgd, bound = results.get((trace, BASELINE)), results.get((trace, BOUND))
    if fgd is None or bound is None:
        return None
    savings = bound.saving(fgd)[[at(load) for load in LOADS_READ]]
    found = savings[np.isfinite(savings)]
    return float(np.mean(found)) if len(found) else None


def little_to_save(results: Results, trace: str, datacenter: Datacenter) -> str:
    """The sentence where placement can save little on this trace; empty elsewhere."""
    most = most_saving(results, trace)
    if most is None or most > LITTLE:
        return ""
    models = {datacenter.models[model] for model in datacenter.model[datacenter.gpus > 0].tolist()}
    why = ": all GPUs are of one model" if len(models) == 1 else ""
    return (
        f"{trace}: no placement saves more than {100 * max(most, 0):.1f} % of FGD's watts per GPU served here (the "
        f"bound, mean over loads {LOADS_READ[0]:g} to {LOADS_READ[-1]:g}){why}. What helps instead: {HELPS}"
    )


def little_to_save_on(datacenter: Datacenter, trace: Workload, name: str, profile: PowerProfile) -> str:
    """The same where no bound has been solved: one run of FGD and the LP at a few loads, some seconds."""
    up_to = LOADS_READ[-1]
    read = read_at_loads(run_seed(datacenter, trace, parse(BASELINE), FIRST_SEED, profile, up_to), up_to)
    curves = Curves(name, BASELINE, (FIRST_SEED,), {column: values[None, :] for column, values in read.items()})
    results = Results({(name, BASELINE): curves})
    results = with_bound(results, datacenter, {name: trace}, LOADS_READ, None, profile, at_own_service=False)
    return little_to_save(results, name, datacenter)
