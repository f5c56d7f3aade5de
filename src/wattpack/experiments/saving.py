"""What a saving is, and against whom: the one place where it is computed.

A saving is the share of watts per GPU served that a policy does without, compared with another policy at the same load;
in time of kWh per GPU-hour delivered. Who refuses tasks draws less: per GPU served that is no saving. Where both serve
everything it is the paper's, 1 - EOPC / EOPC of FGD, which `wattpack paper` keeps (`Curves.eopc_saving`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.lineup import BASELINE

DEFAULT_AGAINST = (BASELINE,)  # as in the paper
# Of a cluster of the user's own: what runs there first, then FGD.
OWN_CLUSTER_AGAINST = ("kube", BASELINE)

Array = NDArray[np.float64]


def saved(drawn: Any, served: Any, other_drawn: Any, other_served: Any) -> Any:
    """1 - (drawn / served) / (other_drawn / other_served), of numbers or of arrays.

    drawn: watts or kWh; served: GPUs, GPU-hours, or the share of the requested GPUs, which at the same load is the
    same. NaN where one of the two serves nothing or the other draws nothing.
    """
    drawn, served, other_drawn, other_served = (
        np.asarray(values, dtype=np.float64) for values in (drawn, served, other_drawn, other_served)
    )
    known = (served > 0) & (other_served > 0) & (other_drawn > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            known, 1 - drawn / other_drawn * (other_served / served), np.nan
        )  # exact where both serve alike


def in_files(against: Sequence[str]) -> str:
    """Whom the savings of CSV files are against: FGD where the user names nobody, also on a cluster of their own."""
    return BASELINE if tuple(against) == OWN_CLUSTER_AGAINST else against[0]


def unbeaten(bound: Array, rows: Sequence[Array], least: bool = False) -> Array:
    """The bound where it is the most (or least) of all, NaN where a policy does better by serving less."""
    if not rows:
        return bound
    best = np.fmin.reduce(rows) if least else np.fmax.reduce(rows)
    return np.where(best < bound if least else best > bound, np.nan, bound)
