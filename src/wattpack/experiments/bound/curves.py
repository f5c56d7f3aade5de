"""The bound over load: demand at a load, the bound as a curve beside those of policies, kept in a results folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.inflation import run_workload, seeded
from wattpack.errors import UserError
from wattpack.experiments.bound.lp import MOST_SIZES, ConfigurationLp
from wattpack.experiments.checked_json import read_checked, write_checked
from wattpack.experiments.curves import COLUMNS, LOADS, STEP, Curves
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.scenario import Scenario, datacenter_digest, labels, trace_digest
from wattpack.experiments.summary import BASELINE, Results
from wattpack.files import make_folder
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.tasks import Workload

BOUND = "bound"  # the name that reports know
QUICK_CLASSES = 500  # the paper's traces have 78 to 457 and take 5 to 11 s; many sizes of shares are what takes minutes
NO_SEED = -1  # the bound belongs to no run
# A curve is solved at every tenth of load and, up to load 1, again around its bends; elsewhere it is a straight line.
COARSE, FINE = round(0.1 / STEP), round(0.01 / STEP)
STRAIGHT = 0.002  # relative: how far from a line three points may lie; the curve is then within a quarter of it
FOLLOWED = round(1.0 / STEP)
CODE = ("lp.py", "curves.py", "patterns.py", "rows.py")
KEPT = ("load", "allocated", "eopc_w", "cpu_w", "gpu_w")
BENDS = (1, 2)  # the columns of KEPT that are followed


def expected_counts(trace: Workload, capacity_gpu_milli: int, load: float) -> NDArray[np.float64]:
    """Tasks of each class when the trace's shares ask for `load` of the GPU capacity: fractions, not a draw.

    The bound of the mean demand bounds the mean over draws: the most service is concave in the counts, the least power
    convex. A trace that asks for no GPU has no load: it is taken once.
    """
    requested = int(trace.gpu_request_milli().sum())
    scale = load * capacity_gpu_milli / requested if requested > 0 else 1.0
    return trace.counts().astype(np.float64) * scale


def arrived_by(trace: Workload, capacity_gpu_milli: int, load: float, seed: int) -> Workload:
    """The tasks of a run with this seed that have arrived at `load`, as curves are read."""
    workload = run_workload(trace, capacity_gpu_milli, seeded(seed).workload)
    requested = np.cumsum(workload.gpu_request_milli())
    arrived = np.searchsorted(requested, np.floor(load * capacity_gpu_milli + 0.5), side="right")
    return workload.with_sequence(workload.sequence[:arrived].copy())


def bound_curves(
    datacenter: Datacenter, trace: Workload, loads: Sequence[float] | None = None, profile: PowerProfile = PAPER
) -> Curves:
    """The bound of the expected demand as curves: straight lines between `loads`, NaN outside them.

    Without `loads`, they are chosen so that the lines follow the bound. The bound has no failed tasks and no
    fragmentation: those columns are NaN.
    """
    return _curves(trace.name, _points(datacenter, trace, loads, profile))


def _points(
    datacenter: Datacenter, trace: Workload, loads: Sequence[float] | None, profile: PowerProfile
) -> list[list[float]]:
    """Rows of KEPT, loads ascending."""
    lp = ConfigurationLp(datacenter, trace.classes, profile)

    def row(load: float) -> list[float]:
        bound = lp.solve(expected_counts(trace, datacenter.gpu_milli, load))
        return [load, bound.grar * load, bound.power_w, bound.cpu_w, bound.gpu_w]

    if loads is not None:
        return [row(load) for load in sorted(set(loads))]
    rows: dict[int, list[float]] = {}
    wanted = set(range(0, len(LOADS), COARSE))
    while wanted:
        rows.update({i: row(float(LOADS[i])) for i in sorted(wanted)})
        wanted = _beside_bends(rows)
    return [rows[i] for i in sorted(rows)]


def _beside_bends(rows: Mapping[int, list[float]]) -> set[int]:
    """Where to look next: on both sides of points that do not lie on the line between their neighbours.

    Where everything is served, power is convex and service concave in the load: three points on a line prove that the
    bound is straight between them.
    """
    wanted = set()
    for before, here, after in zip(sorted(rows), sorted(rows)[1:], sorted(rows)[2:], strict=False):
        way = (here - before) / (after - before)
        between = [(1 - way) * rows[before][column] + way * rows[after][column] for column in BENDS]
        off = [abs(line - rows[here][column]) for line, column in zip(between, BENDS, strict=True)]
        if any(gap > STRAIGHT * rows[here][column] for gap, column in zip(off, BENDS, strict=True)):
            sides = ((before, here), (here, after))
            wanted |= {(a + b) // 2 for a, b in sides if b - a >= 2 * FINE and b <= FOLLOWED}
    return wanted


def bound_is_quick(trace: Workload) -> bool:
    """Whether the whole curve takes seconds, not minutes: few classes and few sizes of shares, as in the paper's."""
    sizes = {task.gpu_milli for task in trace.classes if task.num_gpu == 1}
    return len(trace.classes) <= QUICK_CLASSES and len(sizes) <= MOST_SIZES


def with_bound(
    results: Results,
    datacenter: Datacenter,
    traces: Mapping[str, Workload],
    loads: Sequence[float] | None = None,
    folder: Path | None = None,
    profile: PowerProfile = PAPER,
) -> Results:
    """The results and, for each of `traces` that has any, its bound as policy `bound`, last.

    traces: by the names that the results use. In `folder` bounds are kept as bound-DIGEST.json and found again.
    """
    extended = dict(results)
    for name, trace in traces.items():
        beside = next((curves for (label, _), curves in results.items() if label == name), None)
        if beside is not None:
            bound = _kept(name, datacenter, trace, loads, folder, profile)
            extended[name, BOUND] = replace(bound, datacenter=beside.datacenter, profile=beside.profile)
    return extended


def _kept(
    name: str,
    datacenter: Datacenter,
    trace: Workload,
    loads: Sequence[float] | None,
    folder: Path | None,
    profile: PowerProfile,
) -> Curves:
    if folder is None:
        return _curves(name, _points(datacenter, trace, loads, profile))
    file = folder / f"bound-{bound_digest(datacenter, trace, loads, profile)}.json"
    rows = _read(file)
    if rows is None:
        rows = _points(datacenter, trace, loads, profile)
        make_folder(folder)
        write_checked(file, {"trace": name, "columns": KEPT, "rows": rows})
    return _curves(name, rows)


def _read(file: Path) -> list[list[float]] | None:
    """The rows of a kept bound; None where it is not there or not whole: it is then made again."""
    found = read_checked(file)
    try:
        rows = found["rows"] if found is not None else []
        whole = len(rows) > 0 and all(len(row) == len(KEPT) and all(map(np.isfinite, row)) for row in rows)
    except (KeyError, TypeError):
        return None
    return rows if whole else None


def _curves(name: str, rows: list[list[float]]) -> Curves:
    load, *read = np.array(rows, dtype=np.float64).T
    values = {column: np.full((1, len(LOADS)), np.nan) for column in COLUMNS}
    for column, points in zip(KEPT[1:], read, strict=True):
        values[column][0] = np.interp(LOADS, load, points, left=np.nan, right=np.nan)
    values["grar"][0] = np.where(LOADS > 0, values["allocated"][0] / np.maximum(LOADS, STEP), 1.0)
    return Curves(name, BOUND, (NO_SEED,), values)


def bound_digest(datacenter: Datacenter, trace: Workload, loads: Sequence[float] | None, profile: PowerProfile) -> str:
    """Of everything that decides a bound: contents, loads, watts, and the code."""
    said = (datacenter_digest(datacenter), trace_digest(trace), loads and sorted(loads), repr(profile))
    code = b"".join((Path(__file__).parent / name).read_bytes() for name in CODE)
    return hashlib.sha256(repr(said).encode() + code).hexdigest()[:16]


def baseline_w(
    folder: Path, datacenter: Datacenter, trace: Workload, profile: PowerProfile, seed: int | None
) -> NDArray[np.float64]:
    """EOPC of the baseline at LOADS in a results folder: the mean over its seeds, or that of one seed."""
    if not (folder / "experiment.json").is_file():
        raise UserError(f"{folder}: no experiment.json in it, expected a results folder")
    stored = ResultsFolder(folder)
    results = stored.read_stored()
    rows = [{key: value for key, value in row.items() if key != "id"} for row in stored.experiment()["scenarios"]]
    same = (BASELINE, profile.name, datacenter_digest(datacenter), trace_digest(trace))
    for scenario, label in labels(Scenario(**row) for row in rows).items():
        found = results.get((label, scenario.label))
        is_same = (scenario.label, scenario.profile, scenario.datacenter_digest, scenario.trace_digest) == same
        if is_same and found is not None and (seed is None or seed in found.seeds):
            return found.mean("eopc_w") if seed is None else found.values["eopc_w"][found.seeds.index(seed)]
    runs = "runs" if seed is None else f"a run with seed {seed}"
    raise UserError(f"{folder}: {runs} of {BASELINE} on this trace, datacenter and power profile not found in it")
