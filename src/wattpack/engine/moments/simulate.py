"""A run in time, from tasks with times to its record: `new_simulation(...).record()`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import ALLOCATED, BASE_POWER, CPU_POWER, GPU_POWER
from wattpack.engine.moments.loop import MOVES, run_to_end
from wattpack.engine.moments.moves import MovesInTime
from wattpack.engine.moments.options import TimeOptions
from wattpack.engine.moments.record import NO_PART, PARTS, WAITING, TimeRecord
from wattpack.engine.moments.run import (
    ASLEEP_POWER,
    PLACED,
    TRANSITION_POWER,
    MomentRun,
    new_moment_run,
    refused_classes,
)
from wattpack.engine.runs.arrivals import draw_luck
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.model.timed_tasks import TimedTasks

MAX_MARKS = 5_000_000  # 80 bytes each
ENDLESS_S = 1e15  # 30 million years; energy up to it is still a number


@dataclass(frozen=True)
class Simulation:
    """A run in time: `to_end` lets it happen; then the engine and `run` are as they are at the end of the horizon."""

    engine: Engine
    tasks: TimedTasks
    options: TimeOptions
    joined_s: NDArray[np.float64]  # from the first arrival
    run: MomentRun
    moves: MovesInTime | None = None

    def to_end(self) -> None:
        moves = self.moves
        handlers = {} if moves is None else {MOVES: lambda: moves.move(self.engine, self.run)}
        run_to_end(self.engine, self.tasks.workload, self.run, handlers)
        outcome = self.run.tasks.outcome
        outcome[outcome == PLACED] = WAITING  # for the wake of its node
        outcome[self.tasks.arrival_s - self.tasks.first_s > self.run.horizon_s] = NO_PART

    def record(self) -> TimeRecord:
        """Let it happen. Returns what came of it."""
        self.to_end()
        return _record(self.run, self.joined_s, self.options, self.moves)


def new_simulation(
    datacenter: Datacenter,
    tasks: TimedTasks,
    mix: Mix,
    target: Target,
    rng: np.random.Generator | None = None,
    profile: PowerProfile = PAPER,
    options: TimeOptions | None = None,
    joined_s: NDArray[np.float64] | None = None,
    moves: MovesInTime | None = None,
) -> Simulation:
    """`joined_s`: when each task joins the queue, on the clock of `arrival_s`; default: when it arrives."""
    options = options or TimeOptions()
    arrival_s = tasks.arrival_s - tasks.first_s
    joined_s = arrival_s if joined_s is None else joined_s - tasks.first_s
    horizon_s = options.horizon_s
    if horizon_s is None:
        horizon_s = float(arrival_s.max()) if len(tasks) else 0.0
    batch, twins, slowness = None, None, None
    if options.speeds is not None and len(tasks) > 0 and any(component.policy.by_work for component in mix.components):
        tasks, batch, twins = split_by_kind(tasks)
        slowness = options.speeds.slowness
    engine = Engine(datacenter, tasks.workload.classes, mix, target, profile, batch=batch, slowness=slowness)
    # A task that fits no node is refused on arrival, whatever its slack.
    joined_s = np.where(refused_classes(engine.state)[tasks.workload.sequence], arrival_s, joined_s)
    luck = draw_luck(tasks.workload, rng)
    coming_s = np.where(arrival_s <= horizon_s, joined_s, np.inf)
    read_s, extends = marks(options, horizon_s), len(mix.components) == 1 and mix.components[0].policy.extends
    run = new_moment_run(engine.state, tasks, coming_s, luck, options, read_s, horizon_s, extends=extends, twins=twins)
    return Simulation(engine, tasks, options, joined_s, run, moves)


def length_until_done_s(simulation: Simulation) -> float:
    """When the last task ends or arrives, whichever is later, in a simulation whose horizon is `endless_s`.

    Tasks that never end do not count, nor those that still wait when nothing is left to happen: a power budget never
    leaves room for them. The simulation has happened then: only its length is of use.
    """
    run, tasks, moves = simulation.run, simulation.tasks, simulation.moves

    def move() -> None:
        assert moves is not None
        moves.move(simulation.engine, run)
        if not _something_comes(run):
            run.now[0].next_move_s = inf  # or rounds of moves would never end

    run_to_end(simulation.engine, tasks.workload, run, {} if moves is None else {MOVES: move})
    if moves is not None and _something_comes(run):
        raise UserError(f"until done: tasks still come or go after {MAX_MARKS:,} rounds of moves, expected a horizon")
    end_s, arrival_s = run.tasks.end_s, tasks.arrival_s - tasks.first_s
    return max(float(end_s[np.isfinite(end_s)].max(initial=0.0)), float(arrival_s.max(initial=0.0)))


def endless_s(tasks: TimedTasks, move_every_s: float) -> float:
    """A horizon that no task ends after. A round of moves has its row of the record: with moves it is not as long."""
    last_s = float((tasks.arrival_s + tasks.slack_s).max(initial=0.0))
    return ENDLESS_S if move_every_s == inf else last_s + MAX_MARKS * move_every_s


def _something_comes(run: MomentRun) -> bool:
    """Whether anything but rounds of moves is left to happen."""
    now, outcome = run.now[0], run.tasks.outcome
    events_s = run.events.rows.time_s[: run.events.size[0]]
    waits = run.patience_s < inf and bool((outcome == WAITING).any())
    idle_ends = run.sleep.idle_ends.size[0] > 0
    listed = now.joined < len(run.order) or now.budget_steps < len(run.budget_s)
    return bool(listed or waits or idle_ends or np.isfinite(events_s).any())


def split_by_kind(tasks: TimedTasks) -> tuple[TimedTasks, NDArray[np.bool_], NDArray[np.int64]]:
    """The tasks with classes of batch tasks and of others; whether a class is of batch tasks with GPUs; its twin.

    Policies that pay for work score these differently, and a class of the engine has one score. In the queue the two
    are one class still: where a task of one cannot start, none of its twin is tried.
    """
    own = tasks.workload
    with_gpu = own.gpu_request_milli() > 0
    kinds, sequence = np.unique(own.sequence.astype(np.int64) * 2 + (tasks.batch & with_gpu), return_inverse=True)
    classes = tuple(own.classes[kind] for kind in (kinds // 2).tolist())
    split = Workload(classes, sequence.astype(np.int32).reshape(-1), own.task_names, own.name)
    own_class, twins = kinds // 2, np.arange(len(kinds))
    first = np.flatnonzero(own_class[1:] == own_class[:-1])
    twins[first], twins[first + 1] = first + 1, first
    return replace(tasks, workload=split), kinds % 2 == 1, twins


def marks(options: TimeOptions, horizon_s: float) -> NDArray[np.float64]:
    """The times at which energy and use are read: samples, time stamps of signals, the end of the horizon."""
    samples = horizon_s / options.sample_s
    if samples > MAX_MARKS:
        raise UserError(
            f"a sample every {options.sample_s:g} s of {horizon_s:,.0f} s makes {samples:,.0f}, expected at most "
            f"{MAX_MARKS:,}"
        )
    regular = np.arange(ceil(samples)) * options.sample_s
    more = np.asarray(options.more_marks_s, dtype=np.float64)
    more = more[(more > 0) & (more < horizon_s)]
    return np.unique(np.concatenate([[0.0], regular, more, [horizon_s]]))


def _record(
    run: MomentRun, joined_s: NDArray[np.float64], options: TimeOptions, moves: MovesInTime | None
) -> TimeRecord:
    tasks, marks, past = run.tasks, run.marks, slice(run.now[0].moments)
    energy_j = np.zeros((len(marks), len(PARTS)))
    for part, column in enumerate((GPU_POWER, CPU_POWER, BASE_POWER, ASLEEP_POWER, TRANSITION_POWER)):
        energy_j[:, part] = run.integrals_at_mark[:, column] / 1000
    moment_s, moment_w = run.moments.time_s[past].copy(), run.moments.power_mw[past] / 1000
    if len(moment_s) == 0 or moment_s[0] > 0:  # the first task has slack and joins later: nodes draw power before that
        moment_s = np.append(0.0, moment_s)
        moment_w = np.append(marks.power_mw[0] / 1000, moment_w)
    changes: Any = run.sleep.changes
    return TimeRecord(
        node=tasks.node.copy(),
        gpus=tasks.gpus.copy(),
        joined_s=joined_s,
        start_s=tasks.start_s.copy(),
        end_s=tasks.end_s.copy(),
        outcome=tasks.outcome.copy(),
        mark_s=marks.time_s.copy(),
        energy_j=energy_j,
        gpu_s=run.integrals_at_mark[:, ALLOCATED] / 1000,
        power_w=marks.power_mw / 1000,
        allocated_gpus=marks.allocated_milli / 1000,
        queued=marks.queued.copy(),
        running=marks.running.copy(),
        moment_s=moment_s,
        moment_w=moment_w,
        horizon_s=run.horizon_s,
        patience_s=options.patience_s,
        busy_nodes=marks.busy.copy(),
        asleep_nodes=marks.asleep.copy(),
        transition_nodes=marks.in_transition.copy(),
        wakes=int(run.sleep.now[0].wakes),
        asleep_node_s=float(run.sleep.now[0].asleep_node_s),
        moves=moves.moves if moves is not None else 0,
        paused_gpu_s=moves.paused_gpu_s if moves is not None else 0.0,
        sleep_changes=np.array(changes[: run.sleep.noted[0]]),
    )
