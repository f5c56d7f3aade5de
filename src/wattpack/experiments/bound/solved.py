"""What was solved of a bound, and how a results folder keeps it: `bound-DIGEST.json`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from wattpack.experiments.bound.service import Planes
from wattpack.experiments.checked_json import read_checked
from wattpack.experiments.digests import datacenter_digest, trace_digest
from wattpack.jit import closure_digest
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile, profile_text
from wattpack.model.tasks import Workload
from wattpack.optimise.bound.lp import Bound

COMPUTES = "wattpack.experiments.bound.curves"  # this module and all that it imports compute a bound
KEPT = ("load", "allocated", "eopc_w", "cpu_w", "gpu_w", "cpu_only_share")


@dataclass(frozen=True)
class Solved:
    """What was solved of one datacenter, trace and power profile: rows of KEPT, loads ascending, and the planes."""

    rows: list[list[float]]
    planes: Planes
    less: tuple[tuple[float, float, float], ...] = ()  # (load, GPU served / requested, W): solved below the most too

    def also(self, load: float, share: float, bound: Bound) -> Solved:
        return Solved(self.rows, self.planes.also(bound.least_w), (*self.less, (load, share, bound.power_w)))


def written(solved: Solved) -> dict[str, list[list[float]]]:
    return {
        "rows": solved.rows,
        "less": [list(point) for point in solved.less],
        "least_w": solved.planes.least_w.tolist(),
        "most_gpus": solved.planes.most_gpus.tolist(),
    }


def read_solved(file: Path, classes: int) -> Solved | None:
    """A kept bound; None where it is not there or not whole: it is then made again."""
    kept = read_checked(file)
    if kept is None:
        return None
    try:
        rows, planes = kept["rows"], [np.array(kept[name], dtype=np.float64) for name in ("least_w", "most_gpus")]
        whole = len(rows) > 0 and all(len(row) == len(KEPT) and all(map(np.isfinite, row)) for row in rows)
        whole &= all(plane.shape == (len(plane), 3 + classes) and np.isfinite(plane).all() for plane in planes)
        less = tuple((float(load), float(share), float(power_w)) for load, share, power_w in kept["less"])
    except (ValueError, KeyError, TypeError):
        return None
    return Solved(rows, Planes(*planes), less) if whole and all(len(plane) > 0 for plane in planes) else None


def bound_digest(
    datacenter: Datacenter, trace: Workload, loads: Sequence[float] | None, profile: PowerProfile, whole_nodes: bool
) -> str:
    """Of everything that decides a bound: contents, loads, watts, which LP, and the code."""
    contents = (datacenter_digest(datacenter), trace_digest(trace))
    said = (*contents, loads and sorted(loads), profile_text(profile), whole_nodes)
    return hashlib.sha256((repr(said) + _code_digest()).encode()).hexdigest()[:16]


@cache
def _code_digest() -> str:
    return closure_digest([COMPUTES])
