"""Small synthetic curves with numbers that can be checked in the head."""

import numpy as np

from wattpack.experiments.curves import COLUMNS, LOADS, Curves, Results, at

IDLE_W = 200_000.0
BUSY_W = 1_200_000.0  # more at load 1


def make_curves(trace="default", policy="fgd", saving=0.0, fails_from=0.9, seeds=3, reaches=1.3) -> Curves:
    """A policy that uses (1 - saving) of the power of an `fgd` made with the same seeds, and fails from some load on.

    Seed s uses s per mille more power than seed 0, three quarters of it in GPUs.
    """
    seed = np.arange(seeds)[:, None]
    eopc = (IDLE_W + BUSY_W * LOADS) * (1 + seed / 1000) * (1 - saving)
    allocated = np.minimum(LOADS, fails_from) + 0 * seed
    values = {
        "eopc_w": eopc,
        "cpu_w": eopc / 4,
        "gpu_w": eopc * 3 / 4,
        "grar": np.where(LOADS > 0, allocated / np.maximum(LOADS, 1e-9), 1.0),
        "allocated": allocated,
        "failed": np.maximum(0, LOADS - fails_from) * 1000 + 0 * seed,
    }
    reasons = [column for column in COLUMNS if column.startswith("fragmentation_") and column != "fragmentation_milli"]
    for place, column in enumerate(reasons):
        values[column] = (place + 1) * 1000 * (1.3 - LOADS) + 0 * seed
    values["fragmentation_milli"] = np.sum([values[column] for column in reasons], axis=0)
    for column in values.values():
        column[:, at(reaches) + 1 :] = np.nan
    return Curves(trace, policy, tuple(range(seeds)), {column: values[column] for column in COLUMNS})


def make_results(traces=("default",), seeds=3, reaches=1.3, **savings: float) -> Results:
    """fgd and the given policies on every trace; `make_results(pwr=0.1)` has a pwr that saves a tenth."""
    named = {"fgd": 0.0, **(savings or {"pwr": 0.15, "bestfit": 0.04})}
    return Results(
        {
            (trace, policy): make_curves(trace, policy, saving, 0.95 - saving, seeds, reaches)
            for trace in traces
            for policy, saving in named.items()
        }
    )


PAPER_POLICIES = {
    "pwr": 0.15,
    "pwr:0.05+fgd:0.95": 0.12,
    "pwr:0.1+fgd:0.9": 0.13,
    "pwr:0.2+fgd:0.8": 0.14,
    "bestfit": 0.04,
    "dotprod": 0.02,
    "gpupacking": 0.01,
    "gpuclustering": -0.01,
}
PAPER_TRACES = ("default", "gpushare40", "gpushare100", "multigpu20", "multigpu50", "gpuspec10", "gpuspec33")


def make_bound(trace="default") -> Curves:
    """A limit from outside: power and GRAR only, one value, no seeds in common with the runs."""
    full = make_curves(trace, "bound", 0.2, 0.99, 1)
    return Curves(trace, "bound", (-1,), {column: full.values[column] for column in ("eopc_w", "grar")})
