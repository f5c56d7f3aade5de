"""`wattpack.simulate`: one run in Python, in the same words as the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wattpack.choose.choice import Choice, choose, resolve
from wattpack.datasets.inflation import seeded
from wattpack.datasets.sources import as_datacenter, as_workload
from wattpack.engine.runs.arrivals import simulate as simulate_arrivals
from wattpack.engine.runs.learning import LEARNT, simulate_learning
from wattpack.engine.runs.record import Run
from wattpack.engine.windows.batch import new_batch, simulate_windows
from wattpack.errors import UserError
from wattpack.experiments.fill_up import run_seed
from wattpack.experiments.spec.chosen import check_models, chosen_number, chosen_policy, chosen_profile, chosen_seed
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.policies.expression import FILL_UP, STEADY, canonical, is_auto


def simulate(
    datacenter: Datacenter | str | Path,
    workload: Workload | str | Path,
    policy: str,
    *,
    seed: int | None = None,
    target: Workload | Literal["learnt"] | None = None,
    profile: PowerProfile | str | None = None,
    power: str | Path | None = None,
    batch: int = 1,
    batch_seconds: float | None = None,
    batch_milp_seconds: float = 0.0,
    arrival_s: ArrayLike | None = None,
) -> Run:
    """One run of `policy` (an expression such as `pwr:0.1+fgd:0.9`, or `auto`); its columns have one row a task.

    `datacenter` and `workload`: objects, built-in names or paths of CSV files. `profile`: a power profile, by name
    (paper, linear, concave, measured) or as an object; default: paper. `power`: a power file (docs/guide/power.md),
    laid over that profile; without `profile` over the one that it names.

    Without `seed` the tasks come in the order of `workload` and ties go to the first node, as in `wattpack replay`;
    `target` is the trace that the target workload is taken from (default: `workload`); "learnt": from the tasks seen.
    With `seed` it is the paper's experiment, as in `wattpack compare`: `workload` is the trace, shuffled and drawn from
    until 1.3 times the GPU capacity is asked for, on nodes in random order.

    `batch`: the number of tasks that are held and placed together; with `batch_milp_seconds` a MILP that may take at
    most that long places each window. With `batch_seconds` a window also closes when its first task has waited that
    long; this needs `arrival_s`, the ascending arrival times in seconds (no task leaves). `node` and `gpus` of the
    result are by task; `series` is in the order of placing: its row i is the state after task `order[i]`; `wait_s` is
    by task.
    """
    profile = chosen_profile(profile, power)
    datacenter, workload = as_datacenter(datacenter, profile), as_workload(workload, "workload")
    expression = canonical(chosen_policy(policy))
    check_models(datacenter, profile)
    if is_auto(expression) and target == LEARNT:
        raise UserError(
            f"policy {expression!r} with target {LEARNT!r}: it is chosen for a known workload, expected one"
        )
    aimed_at = target if isinstance(target, Workload) else workload
    mix, _ = resolve(expression, datacenter, aimed_at, profile, FILL_UP)
    window = new_batch(
        int(chosen_number(batch, "batch", whole=True)),
        None if batch_seconds is None else chosen_number(batch_seconds, "batch_seconds"),
        chosen_number(batch_milp_seconds, "batch_milp_seconds"),
    )
    if seed is not None:
        seed = chosen_seed(seed)
        if target is not None:
            raise UserError(f"seed {seed} with a target: the target of a seed is its trace, expected one of them")
        if batch_seconds is not None or arrival_s is not None:
            raise UserError(f"seed {seed} with times: the tasks of a seed have none, expected one of them")
        return run_seed(datacenter, workload, mix, seed, profile, batch=window if window.tasks > 1 else None)
    times = None if arrival_s is None else _checked(arrival_s, len(workload))
    if isinstance(target, str):
        if target != LEARNT:
            raise UserError(f"target {target!r}, expected a workload or {LEARNT!r}")
        if window.tasks > 1:
            raise UserError(f"target {LEARNT!r} with windows of {window.tasks} tasks, expected one of them")
        return simulate_learning(datacenter, workload, mix, seeded(0).policy, profile)
    if target is not None and not isinstance(target, Workload):
        raise UserError(f"target: of type {type(target).__name__}, expected a workload or {LEARNT!r}")
    aim = Target.of(workload if target is None else target)
    if window.tasks > 1:
        return simulate_windows(datacenter, workload, mix, aim, seeded(0).policy, profile, window, times)
    return simulate_arrivals(datacenter, workload, mix, aim, seeded(0).policy, profile)


def choose_policy(
    datacenter: Datacenter | str | Path,
    trace: Workload | str | Path,
    *,
    profile: PowerProfile | str | None = None,
    power: str | Path | None = None,
    steady: bool = False,
) -> Choice:
    """What `auto` stands for on this datacenter and trace, and why: `expression`, `because`, `text`, `members`.

    `profile` and `power`: as for `simulate`. `steady`: where tasks come and go; else while the datacenter fills up.
    """
    profile = chosen_profile(profile, power)
    datacenter, trace = as_datacenter(datacenter, profile), as_workload(trace)
    check_models(datacenter, profile)
    return choose(datacenter, trace, profile, STEADY if steady else FILL_UP)


def _checked(arrival_s: ArrayLike, tasks: int) -> NDArray[np.float64]:
    try:
        times = np.asarray(arrival_s, dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(f"arrival_s: {arrival_s!r}, expected seconds") from None
    if times.shape != (tasks,):
        raise UserError(f"arrival_s of shape {times.shape}, expected one time for each of {tasks} tasks")
    if not (np.isfinite(times).all() and (np.diff(times) >= 0).all()):
        raise UserError("arrival_s is not ascending seconds, expected the tasks in order of arrival")
    return times
