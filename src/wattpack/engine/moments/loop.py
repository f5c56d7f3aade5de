"""The loop over moments. A moment is an instant at which something happens; it has three steps:

    1 leave     tasks whose time is over, by number
    2 join      arrivals join the queue, by number; then tasks whose patience has ended give up
    3 pass      over the queue in order of arrival: tasks start (queue.py)

While events are due at the same instant, the steps repeat. Arrivals, patience and the steps of a budget are in order
already, so a place in a list is their queue; departures are in the queue of events (runs/events.py).
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import State, release
from wattpack.engine.moments.queue import DROPS, give_up, join_queue, oldest_waiting, pass_over_queue
from wattpack.engine.moments.record import DONE
from wattpack.engine.moments.run import BUDGET_STEPS, JOINED, MARKS, NOBODY, RUNNING_TASKS, MomentRun
from wattpack.engine.moments.totals import fill_mark, note_moment, pass_time
from wattpack.engine.runs.events import pop
from wattpack.jit import inner, kernel, step


@kernel
def run_moments(state: State, plan: Plan, scores: Scores, run: MomentRun, moments: int) -> bool:
    """Let the next `moments` moments happen, or all up to the end of the horizon. Returns whether that is reached.

    Also returns True after a fault (`state.fault`).
    """
    for _ in range(moments):
        now_s = next_event_s(run)
        if now_s > run.horizon_s:
            pass_time(state, run, run.horizon_s)
            while run.counts[MARKS] < len(run.mark_s):
                fill_mark(state, run)
            return True
        pass_time(state, run, now_s)
        while next_event_s(run) <= now_s:
            if take_steps(state, plan, scores, run, now_s):
                return True
        note_moment(state, run, now_s)
    return False


@inner
def take_steps(state: State, plan: Plan, scores: Scores, run: MomentRun, now_s: float) -> bool:
    """The steps of a moment, once. Returns whether there was a fault."""
    for w in range(len(run.tried)):
        run.tried[w] = 0
    tasks_leave(state, plan, run, now_s)  # 1
    steps_begin(run, now_s)
    if tasks_join(state, plan, scores, run, now_s):  # 2
        return True
    return pass_over_queue(state, plan, scores, run, now_s)  # 3


@step
def next_event_s(run: MomentRun) -> float:
    """The time of the next event, inf if there is none."""
    found = inf
    if run.departures.size[0] > 0:
        found = run.departures.time_s[0]
    if run.counts[JOINED] < len(run.order):
        found = min(found, run.joined_s[run.order[run.counts[JOINED]]])
    if run.patience_s < inf:
        i = oldest_waiting(run)
        if i != NOBODY:
            found = min(found, run.joined_s[i] + run.patience_s)
    if run.counts[BUDGET_STEPS] < len(run.budget_s):
        found = min(found, run.budget_s[run.counts[BUDGET_STEPS]])
    return found


@inner
def tasks_leave(state: State, plan: Plan, run: MomentRun, now_s: float) -> None:
    """Step 1. The classes that fit the node now may have room again."""
    while run.departures.size[0] > 0 and run.departures.time_s[0] <= now_s:
        _, _, i = pop(run.departures)
        left: Any = (np.int64(run.sequence[i]), np.int64(run.node[i]), np.int64(run.gpus[i]))
        release(state, plan, left[0], left[1], left[2])
        run.outcome[i] = DONE
        run.counts[RUNNING_TASKS] -= 1
        for w in range(len(run.no_room)):
            run.no_room[w] &= ~state.fit[left[1], w]


@inner
def tasks_join(state: State, plan: Plan, scores: Scores, run: MomentRun, now_s: float) -> bool:
    """Step 2. Returns whether there was a fault: under `drop` each task is passed over before the next one arrives.

    Nobody waits there, so it is the same pass, and policies that learn from arrivals decide as in a steady state.
    """
    while run.counts[JOINED] < len(run.order):
        i = run.order[run.counts[JOINED]]
        if run.joined_s[i] > now_s:
            break
        join_queue(state, plan, run, i)
        if run.discipline == DROPS and pass_over_queue(state, plan, scores, run, now_s):
            return True
    if run.patience_s < inf:
        give_up(state, run, now_s)
    return False


@step
def steps_begin(run: MomentRun, now_s: float) -> None:
    """The steps of the budget that begin now."""
    while run.counts[BUDGET_STEPS] < len(run.budget_s) and run.budget_s[run.counts[BUDGET_STEPS]] <= now_s:
        run.counts[BUDGET_STEPS] += 1
