"""`wattpack.simulate`: one run in Python, in the same words as the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wattpack.choose.choice import Choice, choose, resolve
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import FIRST_SEED, in_order_of_arrival, node_order, seeded
from wattpack.datasets.sources import as_datacenter, as_workload
from wattpack.datasets.timed_files import read_timed_tasks
from wattpack.engine.runs.arrivals import simulate as simulate_arrivals
from wattpack.engine.runs.learning import LEARNT, simulate_learning
from wattpack.engine.runs.record import Run
from wattpack.engine.windows.batch import new_batch, simulate_windows
from wattpack.errors import UserError
from wattpack.experiments.fill_up import run_seed
from wattpack.experiments.simulate_time import TimedRun, simulate_in_time, timed_tasks_from
from wattpack.experiments.spec.chosen import check_models, chosen_number, chosen_policy, chosen_profile, chosen_seed
from wattpack.experiments.timed_fields import timed_of
from wattpack.experiments.timed_options import QUEUE, Timed
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.model.timed_tasks import TimedTasks
from wattpack.policies.expression import FILL_UP, STEADY, canonical, is_auto


class InTime(TypedDict, total=False):
    """Options of a run in time. Durations are seconds or texts like `2h`; the others are as in `[timed]` of an
    experiment file."""

    patience_s: float | str
    horizon_s: float | str
    until: str
    sample_s: float | str
    load: float
    days: float
    arrivals: str
    start: str
    pue: float
    embodied: str
    carbon: str | float
    price: str | float
    budget_kw: str | float
    speed: str
    speed_reference: float
    slack: str
    slack_by: str
    forecast: str
    repeat_signals: bool
    hold_gaps: bool
    sleep: bool | str | Mapping[str, str | float]
    durations: str
    cap: str | float | Mapping[str, float]
    cap_speed: str
    consolidate: bool | str | Mapping[str, str | float]
    bound: bool


class QueuedInTime(InTime, total=False):
    """The same with the queue, for functions that are always about runs in time."""

    queue: str


@overload
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
) -> Run: ...


@overload
def simulate(
    datacenter: Datacenter | str | Path,
    workload: Workload | str | Path,
    policy: str,
    *,
    queue: str = QUEUE,
    arrival_s: ArrayLike | None = None,
    duration_s: ArrayLike | None = None,
    slack_s: ArrayLike | None = None,
    service_class: Iterable[str] | None = None,
    owner: Iterable[str] | None = None,
    seed: int | None = None,
    target: Workload | None = None,
    profile: PowerProfile | str | None = None,
    power: str | Path | None = None,
    **in_time: Unpack[InTime],
) -> TimedRun: ...


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
    duration_s: ArrayLike | None = None,
    slack_s: ArrayLike | None = None,
    service_class: Iterable[str] | None = None,
    owner: Iterable[str] | None = None,
    queue: str | None = None,
    **in_time: Unpack[InTime],
) -> Run | TimedRun:
    """One run of `policy` (an expression such as `pwr:0.1+fgd:0.9`, or `auto`); its columns have one row a task.

    `datacenter` and `workload`: objects, built-in names or paths of CSV files. `profile`: a power profile, by name
    (paper, linear, concave, measured) or as an object; default: paper. `power`: a power file (docs/guide/power.md),
    laid over that profile; without `profile` over the one that it names.

    With `seed` it is the paper's experiment, as in `wattpack compare`: `workload` is the trace, shuffled and drawn from
    until 1.3 times the GPU capacity is asked for, on nodes in random order. Without `seed` tasks of your own come in
    the order of `workload` and ties go to the first node, as in `wattpack replay`. A built-in trace has no order of
    arrival: without `seed` it runs with seed 42, and with a `target` or times its tasks come once, in the order of that
    seed. `target` is the trace that the target workload is taken from (default: `workload`); "learnt": from the tasks
    seen.

    `batch`: the number of tasks that are held and placed together; with `batch_milp_seconds` a MILP that may take at
    most that long places each window. With `batch_seconds` a window also closes when its first task has waited that
    long; this needs `arrival_s`, the ascending arrival times in seconds (no task leaves). `node` and `gpus` of the
    result are by task; `series` is in the order of placing: its row i is the state after task `order[i]`; `wait_s` is
    by task.

    In time: with `arrival_s` and `duration_s` (seconds, one value a task), or with `queue` and a task file with times,
    what `load_trace` made of one, or a built-in trace, tasks also leave, and the result is a `TimedRun`: its columns
    have one row a sample. `queue`: `drop`, `fifo` or `backfill` (the default). `slack_s`, `service_class` and
    `owner`: one value a task. Further
    options are those of `wattpack simulate` (docs/guide/time.md): `patience_s="2h"`, `horizon_s`, `until="done"`,
    `sample_s`,
    `load=0.7`, `days=7`, `arrivals`, `start`, `pue=1.3`, `carbon="DEU"`, `price=0.2`, `embodied`, `budget_kw=500`,
    `speed="typical"`, `speed_reference`, `slack="BE=6h"`, `slack_by`, `forecast`, `repeat_signals`, `hold_gaps`;
    `sleep=True` or `sleep="idle=6m"`, `cap=0.7` or `cap={"T4": 0.7}`, `cap_speed`, `consolidate=True`, `bound=True`,
    `durations="known"` (docs/guide/sleep.md). With a load, tasks are drawn with `seed` (default: 42).
    """
    if duration_s is not None or queue is not None or in_time:
        window = (batch, batch_seconds, batch_milp_seconds)
        if window != (1, None, 0.0):
            raise UserError("a run in time with batch windows, expected one of them")
        by_task = (arrival_s, duration_s, slack_s, service_class, owner)
        options = {"queue": queue, **in_time}
        return _in_time(datacenter, workload, policy, seed, target, profile, power, by_task, options)
    if slack_s is not None or service_class is not None or owner is not None:
        raise UserError("slack_s, service_class or owner without duration_s, expected times of the tasks too")
    profile = chosen_profile(profile, power)
    datacenter, workload = as_datacenter(datacenter, profile), as_workload(workload, "workload")
    expression = canonical(chosen_policy(policy))
    check_models(datacenter, profile)
    if is_auto(expression) and target == LEARNT:
        raise UserError(
            f"policy {expression!r} with target {LEARNT!r}: it is chosen for a known workload, expected one"
        )
    aimed_at = target if isinstance(target, Workload) else workload
    mix, choice = resolve(expression, datacenter, aimed_at, profile, FILL_UP)

    def with_choice(run: Run) -> Run:
        return run if choice is None else replace(run, chosen=choice.text)

    window = new_batch(
        int(chosen_number(batch, "batch", whole=True)),
        None if batch_seconds is None else chosen_number(batch_seconds, "batch_seconds"),
        chosen_number(batch_milp_seconds, "batch_milp_seconds"),
    )
    if seed is None and not workload.in_order:
        if target is None and arrival_s is None and batch_seconds is None:
            seed = FIRST_SEED
        else:
            seeds = seeded(FIRST_SEED)
            workload = in_order_of_arrival(workload, seeds.workload)
            datacenter = datacenter.ordered(node_order(datacenter, seeds.node_order))
    if seed is not None:
        seed = chosen_seed(seed)
        if target is not None:
            raise UserError(f"seed {seed} with a target: the target of a seed is its trace, expected one of them")
        if batch_seconds is not None or arrival_s is not None:
            raise UserError(f"seed {seed} with times: the tasks of a seed have none, expected one of them")
        by_seed = window if window.tasks > 1 else None
        return with_choice(run_seed(datacenter, workload, mix, seed, profile, batch=by_seed))
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
        run = simulate_windows(datacenter, workload, mix, aim, seeded(0).policy, profile, window, times)
    else:
        run = simulate_arrivals(datacenter, workload, mix, aim, seeded(0).policy, profile)
    return with_choice(run)


def timed_of_words(given: Mapping[str, Any], function: str) -> Timed:
    """The options of a run in time from keyword arguments of `function`."""
    if unknown := [name for name in given if name not in QueuedInTime.__annotations__]:
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown[0]!r}")
    return timed_of({name.removesuffix("_s"): value for name, value in given.items()})


def _in_time(
    datacenter: Datacenter | str | Path,
    workload: Workload | str | Path,
    policy: str,
    seed: int | None,
    target: Workload | str | None,
    profile: PowerProfile | str | None,
    power: str | Path | None,
    times: tuple[Any, Any, Any, Any, Any],
    given: dict[str, Any],
) -> TimedRun:
    timed = timed_of_words(given, "simulate")
    watts = chosen_profile(profile, power)
    nodes = as_datacenter(datacenter, watts)
    check_models(nodes, watts)
    arrival_s, duration_s, *more = times
    tasks: Workload | TimedTasks
    if duration_s is not None:
        if arrival_s is None:
            raise UserError("duration_s without arrival_s, expected both")
        tasks = timed_tasks_from(as_workload(workload, "workload"), arrival_s, duration_s, *more)
    elif isinstance(workload, str | Path) and str(workload) not in alibaba2023.TRACES:
        tasks = read_timed_tasks(workload)
    elif isinstance(workload, Workload) and workload.times is not None:
        if isinstance(workload.times, UserError):
            raise workload.times
        tasks = replace(workload.times, workload=replace(workload, times=None))
    else:
        tasks = as_workload(workload, "workload")
    own = tasks.workload if isinstance(tasks, TimedTasks) else tasks
    if target is not None and not isinstance(target, Workload):
        raise UserError(f"target: {target!r} in a run in time, expected a workload")
    mix, choice = resolve(canonical(chosen_policy(policy)), nodes, target or own, watts, STEADY)
    run = simulate_in_time(nodes, tasks, mix, watts, timed, None if seed is None else chosen_seed(seed), target)
    return run if choice is None else replace(run, chosen=choice.text)


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
