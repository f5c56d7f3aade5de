"""What happened to a datacenter, as places and departures in order: of a fill-up, or of a run in time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.moments.options import Sleep
from wattpack.engine.runs.record import Run
from wattpack.experiments.sleep_and_caps import sleep_of
from wattpack.experiments.timed import run_timed_scenario
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.ui.scene import play
from wattpack.ui.sources import Sources
from wattpack.ui.timed_scene import timed_scenario
from wattpack.ui.wire import MapRequest

MOST_FRAMES = 12_000  # a fill-up of the built-in datacenter has one a task
TIME_FRAMES = 1_000
FRAMES_OF_MANY = 400  # where one a task is too much: a hundred times the built-in datacenter


def no_numbers() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Events:
    """In order; the first `ends[f]` of them have happened at the end of frame `f`."""

    datacenter: Datacenter
    workload: Workload
    target: Target
    profile: PowerProfile
    task: NDArray[np.int64]
    node: NDArray[np.int64]  # -1: the task failed
    gpus: NDArray[np.int64]
    sign: NDArray[np.int64]  # 1 comes, -1 goes
    ends: NDArray[np.int64]
    at: NDArray[np.float64]  # [frames] load, or seconds from the first arrival
    sleep: Sleep | None = None  # None: all nodes stay awake
    # Changes of nodes' states of sleep: node and state (of `NODE_STATES`); the first `state_ends[f]` by frame `f`.
    state_node: NDArray[np.int64] = field(default_factory=no_numbers)
    state: NDArray[np.int64] = field(default_factory=no_numbers)
    state_ends: NDArray[np.int64] = field(default_factory=no_numbers)
    chosen: str = ""  # what `auto` chose and why


def events_of(request: MapRequest, sources: Sources) -> Events:
    return _over_time(request, sources) if request.over == "time" else _arrivals(request, sources)


def _arrivals(request: MapRequest, sources: Sources) -> Events:
    played = play(request, sources)
    run: Run = played.run
    tasks = len(run)
    frames = tasks if tasks <= MOST_FRAMES else FRAMES_OF_MANY
    ends = np.linspace(0, tasks, frames + 1).astype(np.int64)[1:] if tasks else np.zeros(0, dtype=np.int64)
    numbers = np.arange(tasks, dtype=np.int64)
    columns = (numbers, run.node.astype(np.int64), run.gpus.astype(np.int64), np.ones(tasks, dtype=np.int64))
    return Events(
        run.datacenter,
        run.workload,
        played.target,
        played.profile,
        *columns,
        ends,
        run.load[ends - 1],
        chosen=played.chosen,
    )


def _over_time(request: MapRequest, sources: Sources) -> Events:
    inputs, scenario = timed_scenario(request, sources)
    assert scenario.timed is not None
    outcome = run_timed_scenario(scenario, inputs, note_sleep=True)
    record, changes = outcome.record, outcome.record.sleep_changes
    started = np.flatnonzero(record.node >= 0)
    ended = started[record.end_s[started] <= record.horizon_s]
    task = np.concatenate([ended, started])
    time_s = np.concatenate([record.end_s[ended], record.start_s[started]])
    sign = np.repeat([-1, 1], [len(ended), len(started)])
    order = np.lexsort((sign, time_s))  # at one time, who goes makes room for who comes
    # A task may start and end at one moment: it comes before it goes.
    instant = np.isin(task, ended[record.end_s[ended] == record.start_s[ended]])
    order = order[~instant[order]]
    at = np.linspace(0.0, record.horizon_s, TIME_FRAMES + 1)[1:]
    task, sign = task[order], sign[order]
    return Events(
        outcome.datacenter,
        outcome.tasks.workload,
        Target.of(inputs.traces[scenario.trace]),
        sources.profile(request.profile),
        task,
        record.node[task].astype(np.int64),
        record.gpus[task].astype(np.int64),
        sign,
        np.searchsorted(time_s[order], at, side="right").astype(np.int64),
        at,
        sleep=sleep_of(scenario.timed.sleep, int(outcome.datacenter.gpus.sum())),
        state_node=changes["node"].astype(np.int64),
        state=changes["state"].astype(np.int64),
        state_ends=np.searchsorted(changes["time_s"], at, side="right").astype(np.int64),
    )
