"""The datacenter just before a task is placed, and the decision: of a fill-up, or of a run in time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import Explanation, explain
from wattpack.engine.core.state import ALLOCATED, NOWHERE
from wattpack.engine.core.take import place_many
from wattpack.engine.moments.record import OUTCOMES, RUNNING, WAITING
from wattpack.engine.moments.simulate import Simulation
from wattpack.engine.moments.why import placement
from wattpack.errors import UserError
from wattpack.experiments.timed import simulation_of
from wattpack.model.durations import DAY_S
from wattpack.model.policy import Mix
from wattpack.model.sleeping import ASLEEP, TIERS
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.ui.scene import play
from wattpack.ui.sources import Sources
from wattpack.ui.timed_scene import timed_scenario
from wattpack.ui.wire import WhyRequest

Columns = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Before:
    """`engine` is as it is just before the task is placed."""

    engine: Engine
    found: Explanation
    workload: Workload
    index: int  # of the task
    luck: NDArray[np.float64]
    target: Target
    there: Columns  # class, node and GPUs of the tasks in place, or that have failed
    load: float
    when: str = ""  # of a run in time
    chosen: str = ""  # what `auto` chose and why
    closed: NDArray[np.int64] | None = None  # [nodes] states of sleep
    wake_mw: NDArray[np.int64] | None = None  # [nodes] that policies see where a node would sleep if it were empty
    waking_w: NDArray[np.float64] | None = None  # [nodes] that the wake of a node asleep adds to what it draws

    @property
    def task_class(self) -> int:
        return int(self.workload.sequence[self.index])

    def under(self, mix: Mix) -> tuple[Engine, Explanation]:
        """The same tasks in the same places under another policy, and its decision."""
        of = self.engine
        engine = Engine(of.datacenter, of.classes, mix, self.target, of.profile)
        if len(self.there[0]):
            place_many(engine.state, engine.plan, *self.there)
            engine.stop_if_faulty(self.workload)
        if self.closed is None:
            return engine, explain(engine, self.task_class, self.luck)
        nodes: Any = engine.state.nodes
        nodes.wake_mw = self.wake_mw
        for low, high in TIERS:  # nodes awake first, as in the run
            offered = (low <= self.closed) & (self.closed <= high)
            found = explain(engine, self.task_class, self.luck, offered)
            if found.node != NOWHERE:
                break
        return engine, found


def before(request: WhyRequest, sources: Sources) -> Before:
    return _in_time(request, sources) if request.over == "time" else _in_arrivals(request, sources)


def _in_arrivals(request: WhyRequest, sources: Sources) -> Before:
    played = play(request, sources)
    run, index = played.run, task_index(played.run.workload, request.task)
    engine, luck = played.engine_after(index), played.luck[index]
    columns = (run.workload.sequence[:index], run.node[:index], run.gpus[:index])
    return Before(
        engine,
        explain(engine, int(run.workload.sequence[index]), luck),
        run.workload,
        index,
        luck,
        played.target,
        _integers(*columns),
        load=float(run.load[index - 1]) if index else 0.0,
        chosen=played.chosen,
    )


def _in_time(request: WhyRequest, sources: Sources) -> Before:
    inputs, scenario = timed_scenario(request, sources)
    simulation = simulation_of(scenario, inputs)
    run, engine, workload = simulation.run, simulation.engine, simulation.tasks.workload
    index = task_index(workload, request.task)
    found = placement(simulation, index)
    if found is None:
        outcome = OUTCOMES[int(run.tasks.outcome[index])].replace("_", " ")
        raise UserError(f"task {request.task!r}: {outcome}, no node took it in this run; expected a task that starts")
    tasks, nodes = run.tasks, engine.state.nodes
    present = (tasks.outcome == RUNNING) | ((tasks.outcome == WAITING) & (tasks.node != NOWHERE))
    place = np.flatnonzero(present)
    closed = np.asarray(nodes.closed).astype(np.int64)
    sleeping = run.sleep.nodes
    saved_w = (sleeping.idle_mw - sleeping.asleep_mw) / 1000 if run.sleep.on else np.zeros(len(closed))
    return Before(
        engine,
        found,
        workload,
        index,
        run.luck[index],
        Target.of(inputs.traces[scenario.trace]),
        _integers(tasks.task_class[place], tasks.node[place], tasks.gpus[place]),
        load=float(engine.state.totals[ALLOCATED]) / max(1, engine.datacenter.gpu_milli),
        when=_when(simulation, index),
        closed=closed,
        wake_mw=np.asarray(nodes.wake_mw).copy(),
        waking_w=np.where(closed == ASLEEP, saved_w, 0.0),
    )


def _integers(*columns: Any) -> Any:
    return tuple(np.ascontiguousarray(column, dtype=np.int64) for column in columns)


def _when(simulation: Simulation, index: int) -> str:
    run = simulation.run
    clock_s = float(run.now[0].clock_s)
    day, rest_s = divmod(clock_s, DAY_S)
    hour, minute, second = int(rest_s // 3600), int(rest_s % 3600 // 60), int(rest_s % 60)
    waited_s = clock_s - float(run.tasks.joined_s[index])
    waited = f"after it had waited {waited_s:,.0f} s" if waited_s > 0 else "when it arrived"
    return f"day {int(day) + 1}, {hour:02}:{minute:02}:{second:02} ({clock_s:,.0f} s), {waited}"


def task_index(workload: Workload, text: str) -> int:
    """The place of a task: its number, `#3` too, or its name."""
    names = workload.task_names or ()
    if text in names:
        if names.count(text) > 1:
            places = [f"#{place}" for place, name in enumerate(names, 1) if name == text][:5]
            raise UserError(f"task {text!r}: {names.count(text)} tasks of this name, expected a place: {places}")
        return names.index(text)
    number = re.fullmatch(r"#?([0-9]{1,9})", text)
    if number is None or not 1 <= int(number[1]) <= len(workload):
        raise UserError(f"task {text!r}: not in this run, expected a name or a number from 1 to {len(workload):,}")
    return int(number[1]) - 1
