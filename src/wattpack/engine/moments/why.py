"""Why a task is where it is: the decision that placed it; or what holds it back at the end of a simulation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wattpack.engine.core.explain import Explanation, explain, explain_pick
from wattpack.engine.core.state import BASE_POWER, CPU_POWER, GPU_POWER, NOWHERE
from wattpack.engine.moments.events import NODE_ASLEEP, NODE_AWAKE
from wattpack.engine.moments.extension import extensions_w
from wattpack.engine.moments.options import FIFO
from wattpack.engine.moments.record import NO_PART, WAITING
from wattpack.engine.moments.simulate import Simulation
from wattpack.model.fit import FITS
from wattpack.model.power import added_power_mw, total_power
from wattpack.model.sleeping import AWAKE, TIERS

# What holds a waiting task back.
NOT_ARRIVED = "not arrived"
NOT_JOINED = "not joined"  # it has slack and waits for a cleaner or cheaper hour
NO_ROOM = "no room"  # it fits no node now
BEHIND = "behind"  # under `fifo`, an earlier task waits
SAME_CLASS = "same class"  # an earlier task of its class waits and is tried first
BUDGET = "budget"  # there is room, but its placement would exceed the power budget
WAKE = "wake"  # it is placed, and its node is not awake yet
STARTS = "starts"  # nothing: it starts at the next moment
SETTLED = "settled"  # it does not wait: it runs, is done, or has left


@dataclass(frozen=True)
class Why:
    """What holds task `task` back at this time, and what there is to say about it."""

    task: int
    held_by: str
    outcome: int  # of record.py, at this time
    explanation: Explanation | None = None  # of the decision for its class, as it would be made now
    waiting: int = 0  # tasks that wait
    ahead: int = 0  # of them, those that joined before it
    first: int = -1  # the task that is tried first: of all under `fifo`, of its class under `backfill`
    added_w: float = 0.0  # what its placement would add
    committed_w: float = 0.0  # what is drawn and promised now
    budget_w: float = float("inf")
    wakes_from_s: float = float("nan")  # when the node that it is placed on begins to wake
    awake_s: float = float("nan")  # and when it is awake


def why(simulation: Simulation, task: int) -> Why:
    """What holds `task` back at the end of the horizon of a simulation that has run to its end."""
    run, engine, state = simulation.run, simulation.engine, simulation.engine.state
    tasks = run.tasks
    outcome = int(tasks.outcome[task])
    if outcome != WAITING:
        return Why(task, NOT_ARRIVED if outcome == NO_PART else SETTLED, outcome)
    if tasks.joined_s[task] > run.horizon_s:
        return Why(task, NOT_JOINED, outcome)
    if tasks.node[task] != NOWHERE:
        wakes_from_s, awake_s = wake_times_s(simulation, int(tasks.node[task]))
        return Why(task, WAKE, outcome, wakes_from_s=wakes_from_s, awake_s=awake_s)
    waits = np.flatnonzero((tasks.outcome == WAITING) & (tasks.node == NOWHERE) & (tasks.joined_s <= run.horizon_s))
    waits = waits[np.argsort(tasks.rank[waits])]
    ahead = int((tasks.rank[waits] < tasks.rank[task]).sum())
    k = int(tasks.task_class[task])
    awake = np.asarray(state.nodes.closed) == AWAKE  # the others are asked only where none of these has room
    explanation = explain(engine, k, run.luck[task], awake)
    if run.busy.on:
        explanation = with_extension(simulation, task, explanation)
    budget_w = float(run.budget_mw[run.now[0].budget_steps]) / 1000
    drawn_mw = int(total_power(*(state.totals[part] for part in (CPU_POWER, GPU_POWER, BASE_POWER))))
    committed_w = (drawn_mw - int(run.sleep.now[0].saved_mw)) / 1000
    added_w, held_by = 0.0, NO_ROOM
    if explanation.node != NOWHERE:
        gpu = max((explanation.gpus & -explanation.gpus).bit_length() - 1, 0)  # the first, for tasks that share one
        node, asked = state.nodes[explanation.node], state.tasks[k]
        added_w = int(added_power_mw(node, asked, gpu, state.world.gpu_draw_mw) - node.wake_mw) / 1000
        held_by = BUDGET if added_w > 0 and committed_w + added_w > budget_w else STARTS
    elif bool(((explanation.verdict == FITS) & (np.asarray(state.nodes.closed) != AWAKE)).any()):
        held_by = BUDGET  # there is room on nodes that are not awake: nothing else would keep the task from them
    discipline = simulation.options.discipline
    same = waits if discipline == FIFO else waits[np.isin(tasks.task_class[waits], (k, int(run.classes.twin[k])))]
    first = int(same[0])
    if first != task and (discipline == FIFO or held_by == STARTS):
        held_by = BEHIND if discipline == FIFO else SAME_CLASS
    return Why(task, held_by, outcome, explanation, len(waits), ahead, first, added_w, committed_w, budget_w)


def placement(simulation: Simulation, task: int) -> Explanation | None:
    """Run up to the moment at which `task` is placed, and explain that decision; None if no node ever takes it.

    Afterwards the engine and the run are as they are just before it is placed; a task that waits for the wake of its
    node is placed when the wake is ordered.
    """
    run = simulation.run
    run.now[0].watched = task
    simulation.to_end()
    if run.now[0].reached == 0:
        return None
    k, nodes = int(run.tasks.task_class[task]), np.asarray(simulation.engine.state.nodes.closed)
    found = explain(simulation.engine, k, run.luck[task], nodes == AWAKE)
    for tier in TIERS[1:]:  # as decide_somewhere of sleep.py
        if found.node == NOWHERE and run.sleep.on:
            found = explain(simulation.engine, k, run.luck[task], closed=tier)
    return with_extension(simulation, task, found) if run.busy.on else found


def with_extension(simulation: Simulation, task: int, found: Explanation) -> Explanation:
    """The decision with what the node's longer busy time costs now, as the run makes it (extension.py)."""
    run, engine = simulation.run, simulation.engine
    more_w = np.zeros(len(found.total))
    extensions_w(engine.state, run, task, float(run.now[0].clock_s), more_w)
    total = found.total - more_w * engine.mix.components[0].weight
    node, gpus = found.node, found.gpus
    if found.takes_part.any():
        node = int(np.argmax(np.where(found.takes_part, total, -np.inf)))
        k = int(run.tasks.task_class[task])
        gpus = int(explain_pick(engine.state, engine.plan, engine.scores, k, node, run.luck[task]))
    return replace(found, total=total, node=node, gpus=gpus, extension_w=np.where(found.takes_part, more_w, np.nan))


def wake_times_s(simulation: Simulation, n: int) -> tuple[float, float]:
    """When a node that tasks wait for begins to wake, and when it is awake."""
    events, wake_s = simulation.run.events, simulation.run.sleep.wake_s
    for place in range(int(events.size[0])):
        event = events.rows[place]
        if event.number == n and event.kind == NODE_AWAKE:
            return float(event.time_s) - wake_s, float(event.time_s)
        if event.number == n and event.kind == NODE_ASLEEP:  # it shuts down first
            return float(event.time_s), float(event.time_s) + wake_s
    raise AssertionError("a node that tasks wait for wakes or shuts down")
