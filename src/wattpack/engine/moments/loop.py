"""The one loop of every run in which tasks come and go: steady states, batch windows, a month with a queue.

A moment is an instant at which something happens; it has five steps:

    1 leave     tasks whose time is over, by number
    2 wake      nodes that have woken become awake, and tasks placed there start; shutdowns end (sleep.py)
    3 join      arrivals join the queue, by number; then tasks whose patience has ended give up
    4 pass      over the queue in order of arrival: tasks start (queue.py)
    5 sleep     nodes that were empty for long shut down

While events are due at the same instant, the steps repeat. A new kind of event is a function and its line in
`take_steps`, and its time in `next_event_s`. What only Python can do, it does between two calls of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

import numpy as np

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import ALLOCATED, State
from wattpack.engine.moments.events import DEPARTURE, is_due, pop
from wattpack.engine.moments.extension import task_goes
from wattpack.engine.moments.queue import DROPS, give_up, join_queue, oldest_waiting, pass_over_queue, start
from wattpack.engine.moments.record import DONE
from wattpack.engine.moments.run import HELD, NOBODY, MomentRun
from wattpack.engine.moments.sleep import (
    next_idle_end_s,
    nodes_go_to_sleep,
    nodes_wake_and_fall_asleep,
    nodes_wake_for_the_reserve,
    release_there,
)
from wattpack.engine.moments.totals import fill_mark, note_moment, pass_time, restart_integrals
from wattpack.jit import inner, kernel, step
from wattpack.model.tasks import Workload

# What `run_moments` returns.
GOES_ON = 0
ENDED = 1  # at the end of the horizon, after a fault (`state.fault`), or before the task that is watched is placed
MOVES = 2  # Python moves placed tasks, then it goes on
WINDOW_CLOSES = 3  # Python places the tasks of a batch window, then it goes on

MOMENTS_A_CALL = 20_000  # some 0.1 s: Ctrl-C is heard between two calls of the kernel


def run_to_end(
    engine: Engine, workload: Workload, run: MomentRun, handlers: Mapping[int, Callable[[], None]] | None = None
) -> None:
    """Let the run happen up to the end of its horizon. `handlers`: what Python does at MOVES and WINDOW_CLOSES."""
    found = GOES_ON
    while found != ENDED:
        found = int(run_moments(engine.state, engine.plan, engine.scores, run, MOMENTS_A_CALL))
        engine.stop_if_faulty(workload)
        if handlers is not None and found in handlers:
            handlers[found]()


@kernel
def run_moments(state: State, plan: Plan, scores: Scores, run: MomentRun, moments: int) -> int:
    """Let the next `moments` moments happen, or all up to the end of the horizon, or until Python is needed."""
    if moves_due(run):  # after a window
        return MOVES
    for _ in range(moments):
        now_s = next_event_s(state, run)
        if now_s > run.horizon_s:
            pass_time(state, run, run.horizon_s)
            while run.now[0].marks < len(run.marks):
                fill_mark(state, run)
            return ENDED
        pass_time(state, run, now_s)
        if run.now[0].next_move_s <= now_s:  # before all else that happens at this instant
            run.now[0].next_move_s += run.move_every_s
            run.now[0].look_again = 1
            return MOVES
        found = GOES_ON
        while found == GOES_ON and next_event_s(state, run) <= now_s:
            found = take_steps(state, plan, scores, run, now_s)
        note_moment(state, run)
        if found != GOES_ON:
            return found
    return GOES_ON


@inner
def take_steps(state: State, plan: Plan, scores: Scores, run: MomentRun, now_s: float) -> int:
    """The steps of a moment, once. Returns what `run_moments` does."""
    run.now[0].look_again = 0
    for w in range(len(run.words)):
        run.words[w].tried = 0
    tasks_leave(state, plan, run, now_s)  # 1
    if run.sleep.on:
        tasks_start_on_woken_nodes(state, run, nodes_wake_and_fall_asleep(state, run, now_s), now_s)  # 2
    budget_steps_begin(run, now_s)
    more = True
    while more:
        more = tasks_join(state, plan, run, now_s)  # 3
        if more and run.discipline == HELD:
            return WINDOW_CLOSES
        if pass_over_queue(state, plan, scores, run, now_s):  # 4
            return ENDED
        if moves_due(run):
            return MOVES
    if run.sleep.on:
        nodes_go_to_sleep(state, run, now_s)  # 5
        if run.sleep.wake_for_reserve:
            nodes_wake_for_the_reserve(state, run, now_s)
    return GOES_ON


@step
def next_event_s(state: State, run: MomentRun) -> float:
    """The time of the next event, inf if there is none."""
    found, now = run.now[0].next_move_s, run.now[0]
    if now.look_again != 0:
        return now.clock_s
    if run.events.size[0] > 0:
        found = min(found, run.events.rows[0].time_s)
    if now.joined < len(run.order):
        found = min(found, run.tasks[run.order[now.joined]].joined_s)
    if run.patience_s < inf:
        i = oldest_waiting(run)
        if i != NOBODY:
            found = min(found, run.tasks[i].joined_s + run.patience_s)
    if now.budget_steps < len(run.budget_s):
        found = min(found, run.budget_s[now.budget_steps])
    if run.sleep.on:
        found = next_idle_end_s(state, run, found)
    return found


@inner
def tasks_leave(state: State, plan: Plan, run: MomentRun, now_s: float) -> None:
    """Step 1. The classes that fit the node now may have room again."""
    while is_due(run.events, DEPARTURE, now_s):
        i = pop(run.events)
        task = run.tasks[i]
        left: Any = (np.int64(task.task_class), np.int64(task.node), np.int64(task.gpus))
        release_there(state, plan, run, left[0], left[1], left[2], now_s)
        if run.busy.on:
            task_goes(run, i, left[1], now_s)
        task.outcome = DONE
        run.now[0].running -= 1
        for w in range(len(run.words)):
            run.words[w].no_room &= ~state.fit[left[1], w]


@inner
def tasks_start_on_woken_nodes(state: State, run: MomentRun, woken: int, now_s: float) -> None:
    """Step 2, of the tasks that waited for a wake: on the first `woken` of the nodes that are due, in this order."""
    for place in range(woken):
        n = run.sleep.due[place]
        i = run.sleep.nodes[n].first
        while i != NOBODY:
            task = run.tasks[i]
            k: Any = np.int64(task.task_class)
            run.hidden[ALLOCATED] -= state.tasks[k].gpu_request
            gpus: Any = np.int64(task.gpus)
            start(state, run, i, n, gpus, now_s)
            i = task.next
        run.sleep.nodes[n].first = NOBODY


@inner
def tasks_join(state: State, plan: Plan, run: MomentRun, now_s: float) -> bool:
    """Step 3. Returns whether more tasks may join at this instant, after the pass or after a batch window was placed.

    Under `drop` each task is passed over before the next one joins: nobody waits there, so it is the same pass, and
    policies that learn from arrivals see each before the next.
    """
    now = run.now[0]
    while now.joined < len(run.order):
        i = run.order[now.joined]
        if run.tasks[i].joined_s > now_s:
            break
        join_queue(state, plan, run, i)
        if i <= run.measured_from and (run.discipline != HELD or run.tasks[i].closes_window != 0):
            restart_integrals(run)
        if run.discipline == DROPS or run.tasks[i].closes_window != 0:
            return True
    if run.patience_s < inf:
        give_up(state, run, now_s)
    return False


@step
def moves_due(run: MomentRun) -> bool:
    """Whether enough tasks have arrived since the last round of moves, and more will."""
    now, every = run.now[0], run.move_every
    if every == 0 or now.joined // every == now.moved_at // every:
        return False
    now.moved_at = now.joined
    return now.joined < len(run.order)


@step
def budget_steps_begin(run: MomentRun, now_s: float) -> None:
    now = run.now[0]
    while now.budget_steps < len(run.budget_s) and run.budget_s[now.budget_steps] <= now_s:
        now.budget_steps += 1
