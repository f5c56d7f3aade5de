"""The bound over load: demand at a load, the bound as a curve beside those of policies, kept in a results folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from wattpack.datasets.inflation import run_workload, seeded
from wattpack.errors import UserError
from wattpack.experiments.bound.less_served import follow_service
from wattpack.experiments.bound.service import Demands, Planes
from wattpack.experiments.bound.service import expected_counts as expected_counts  # part of what this module offers
from wattpack.experiments.bound.solved import KEPT, Solved, bound_digest, read_solved, written
from wattpack.experiments.checked_json import write_checked
from wattpack.experiments.curves import BASE, COLUMNS, LEAST, LOADS, STEP, Curves, Results
from wattpack.experiments.digests import datacenter_digest, profile_digest, trace_digest
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.lineup import BOUND as BOUND  # part of what this module offers
from wattpack.experiments.scenario import labels
from wattpack.files import make_folder
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.tasks import Workload
from wattpack.optimise.bound.lp import MOST_SIZES, ConfigurationLp
from wattpack.optimise.bound.node_lp import bound_lp

QUICK_CLASSES = 500  # the paper's traces have 78 to 457 and take 5 to 11 s; many sizes of shares are what takes minutes
NO_SEED = -1  # the bound belongs to no run
# A curve is solved at every tenth of load and, up to load 1, again around its bends; elsewhere it is a straight line.
COARSE, FINE = round(0.1 / STEP), round(0.01 / STEP)
STRAIGHT = 0.002  # relative: how far from a line three points may lie; the curve is then within a quarter of it
FOLLOWED = round(1.0 / STEP)
BENDS = (1, 2)  # the columns of KEPT that are followed


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
    new_lp = partial(bound_lp, datacenter, trace.classes, profile)
    return _curves(trace.name, _points(datacenter, trace, loads, new_lp).rows)


def _points(
    datacenter: Datacenter, trace: Workload, loads: Sequence[float] | None, new_lp: Callable[[], ConfigurationLp]
) -> Solved:
    lp = new_lp()
    least, most = [], []

    def row(load: float) -> list[float]:
        bound = lp.solve(expected_counts(trace, datacenter.gpu_milli, load))
        least.append(bound.least_w)
        if bound.most_gpus is not None:
            most.append(bound.most_gpus)
        share = bound.cpu_only_served / bound.cpu_only_requested if bound.cpu_only_requested > 0 else 1.0
        return [load, bound.grar * load, bound.power_w, bound.cpu_w, bound.gpu_w, share]

    rows: dict[float, list[float]] = {}
    if loads is not None:
        rows = {load: row(load) for load in sorted(set(loads))}
    else:
        found: dict[int, list[float]] = {}
        wanted = set(range(0, len(LOADS), COARSE))
        while wanted:
            found.update({i: row(float(LOADS[i])) for i in sorted(wanted)})
            wanted = _beside_bends(found)
        rows = {float(LOADS[i]): found[i] for i in sorted(found)}
    return Solved(list(rows.values()), Planes.of(least, most))


def _beside_bends(rows: Mapping[int, list[float]]) -> set[int]:
    """The loads to solve next: on both sides of points that are off the line between their neighbours.

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
    at_own_service: bool = True,
    whole_nodes: bool = False,
) -> Results:
    """The results and, for each of `traces` that has any, its bound as policy `bound`, last.

    The bound is that of the tasks that really came, mean over the seeds of the first policy. `at_own_service`: each
    policy's curves also get the column `LEAST`, the least power at the service that the policy itself reached.
    `whole_nodes`: the higher bound of the LP over whole nodes, which takes seconds a load.

    traces: by the names that the results use. In `folder` bounds are kept as bound-DIGEST.json and found again.
    """
    extended = results.with_curves(results)
    for name, trace in traces.items():
        found = [curves for (label, _), curves in results.items() if label == name]
        if not found:
            continue
        solved = _kept(name, datacenter, trace, loads, folder, profile, found if at_own_service else [], whole_nodes)
        demands = Demands(solved.planes, trace, datacenter.gpu_milli)
        if at_own_service:
            for curves in found:
                values = curves.values | {LEAST: demands.least_w(curves)}
                extended[name, curves.policy] = replace(curves, values=values)
        base_w = int(datacenter.base_mw(profile).sum()) / 1000
        extended[name, BOUND] = _realised(name, solved, demands, found[0], base_w)
    return extended


def solve_bound(
    name: str, datacenter: Datacenter, trace: Workload, folder: Path, profile: PowerProfile = PAPER
) -> None:
    """Keep the bound of the expected demand in `folder`, unless it is there already."""
    _kept(name, datacenter, trace, None, folder, profile, [])


def _kept(
    name: str,
    datacenter: Datacenter,
    trace: Workload,
    loads: Sequence[float] | None,
    folder: Path | None,
    profile: PowerProfile,
    found: Sequence[Curves],
    whole_nodes: bool = False,
) -> Solved:
    """What is solved already and kept in the folder, and what the policies found need beyond it."""
    digest = None if folder is None else bound_digest(datacenter, trace, loads, profile, whole_nodes)
    file = None if folder is None else folder / f"bound-{digest}.json"
    kept = None if file is None else read_solved(file, len(trace.classes))
    new_lp = partial(bound_lp, datacenter, trace.classes, profile, whole_nodes)
    solved = _points(datacenter, trace, loads, new_lp) if kept is None else kept
    solved = follow_service(solved, found, datacenter, trace, new_lp)
    if file is not None and solved is not kept:
        make_folder(file.parent)
        write_checked(file, {"trace": name, "columns": KEPT, **written(solved)})
    return solved


def _curves(name: str, rows: list[list[float]]) -> Curves:
    load, *read = np.array(rows, dtype=np.float64).T
    values = {column: np.full((1, len(LOADS)), np.nan) for column in COLUMNS}
    for column, points in zip(KEPT[1:-1], read, strict=False):
        values[column][0] = np.interp(LOADS, load, points, left=np.nan, right=np.nan)
    values["grar"][0] = np.where(LOADS > 0, values["allocated"][0] / np.maximum(LOADS, STEP), 1.0)
    return Curves(name, BOUND, (NO_SEED,), values)


def _realised(name: str, solved: Solved, demands: Demands, policy: Curves, base_w: float) -> Curves:
    """The bound of the tasks that came with the seeds of a policy, as far as its runs and the loads asked for go."""
    expected = _curves(name, solved.rows)
    share = np.interp(LOADS, [row[0] for row in solved.rows], [row[5] for row in solved.rows])
    there = np.isfinite(expected.mean("eopc_w")) & np.isfinite(policy.mean("eopc_w"))
    values = dict(expected.values)
    for column, found in demands.bound(policy.seeds, share).items():
        values[column] = np.where(there, found, np.nan)[None, :]
    above_base = (values["eopc_w"] - base_w) / (expected.values["eopc_w"] - base_w)
    values |= {column: expected.values[column] * above_base for column in ("cpu_w", "gpu_w")}
    values[BASE] = np.where(np.isfinite(values["eopc_w"]), base_w, np.nan)
    return Curves(name, BOUND, (NO_SEED,), values, policy.datacenter, policy.profile)


def baseline_in(
    folder: Path, datacenter: Datacenter, trace: Workload, profile: PowerProfile, seed: int | None
) -> Curves:
    """The policy that savings are against in a results folder: all its seeds, or one."""
    if not (folder / "experiment.json").is_file():
        raise UserError(f"{folder}: no experiment.json in it, expected a results folder")
    stored = ResultsFolder(folder)
    results = stored.read_stored()
    watts = (profile.name, profile_digest(profile.name, profile))
    policy = stored.against[0]
    same = (policy, *watts, datacenter_digest(datacenter), trace_digest(trace))
    for scenario, label in labels(scenario for _, scenario in stored.stored_fill_ups()).items():
        found = results.get((label, scenario.label))
        contents = (scenario.profile_digest, scenario.datacenter_digest, scenario.trace_digest)
        is_same = (scenario.label, scenario.profile, *contents) == same
        if is_same and found is not None and (seed is None or seed in found.seeds):
            if seed is None:
                return found
            place = found.seeds.index(seed)
            return replace(found, seeds=(seed,), values={name: rows[[place]] for name, rows in found.values.items()})
    runs = "runs" if seed is None else f"a run with seed {seed}"
    raise UserError(f"{folder}: {runs} of {policy} on this trace, datacenter and power profile not found in it")
