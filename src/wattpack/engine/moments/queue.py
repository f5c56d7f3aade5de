"""The queue of waiting tasks: who joins, who gives up, and the pass over it, in which tasks start.

Tasks of one class are interchangeable: where one cannot start, no later one of the class is tried in the same pass. So
the pass tries classes, not tasks. And a class that fitted no node is not tried again before a task has left a node
that fits it: a departure clears the bits of the classes that fit its node. A queue of 10,000 tasks costs little more
than an empty one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.engine.core.faults import faulty
from wattpack.engine.core.pick import pick
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import FAILED as FAILED_TOTAL
from wattpack.engine.core.state import NOWHERE, State, arrive
from wattpack.engine.moments.events import DEPARTURE, push
from wattpack.engine.moments.extension import task_comes, task_starts
from wattpack.engine.moments.options import BACKFILL, DISCIPLINES, DROP, FIFO
from wattpack.engine.moments.record import FAILED, GAVE_UP, REFUSED, RUNNING, WAITING
from wattpack.engine.moments.run import HELD, NOBODY, PLACED, MomentRun
from wattpack.engine.moments.sleep import decide_somewhere, place_there, wait_for_wake
from wattpack.engine.moments.totals import committed_mw
from wattpack.jit import inner, step
from wattpack.model.power import added_power_mw
from wattpack.model.sleeping import ASLEEP, AWAKE

DROPS, WAITS_IN_LINE, MAY_BE_OVERTAKEN = (DISCIPLINES.index(name) for name in (DROP, FIFO, BACKFILL))

# What came of a try to start a task.
STARTED = 0  # or placed on a node that wakes first
CANNOT = 1  # it fits no node, or its placement would exceed the budget
FAULT = 2  # of a score or price; the run must end
REACHED = 3  # the decision for the task that is watched; the run ends before it is placed


@step
def join_queue(state: State, plan: Plan, run: MomentRun, i: int) -> None:
    """Task `i` arrives: it joins the queue, or is refused. One that is held arrives when its window is placed."""
    task, now = run.tasks[i], run.now[0]
    k: Any = np.int64(task.task_class)
    now.joined += 1
    if run.discipline == HELD:
        return
    arrive(state, plan, k)
    if run.classes[k].refused != 0:
        task.outcome = REFUSED
        state.totals[FAILED_TOTAL] += 1
        return
    now.queued += 1
    if run.discipline == MAY_BE_OVERTAKEN:
        of_class = run.classes[k]
        if of_class.first == NOBODY:
            of_class.first = i
            run.words[state.columns.of[k].word].waiting |= state.columns.of[k].bit
        else:
            run.tasks[of_class.last].next = i
        of_class.last = i


@step
def leave_queue(state: State, run: MomentRun, i: int) -> None:
    """Task `i` waits no more. Under `backfill` it is the first of its class: all of a class leave in order."""
    run.now[0].queued -= 1
    if run.discipline == MAY_BE_OVERTAKEN:
        k: Any = np.int64(run.tasks[i].task_class)
        of_class = run.classes[k]
        of_class.first = run.tasks[i].next
        if of_class.first == NOBODY:
            run.words[state.columns.of[k].word].waiting &= ~state.columns.of[k].bit


@step
def oldest_waiting(run: MomentRun) -> int:
    """The waiting task that joined first, or NOBODY."""
    now = run.now[0]
    while now.oldest < now.joined:
        i = run.order[now.oldest]
        if run.tasks[i].outcome == WAITING:
            return i
        now.oldest += 1
    return NOBODY


@inner
def give_up(state: State, run: MomentRun, now_s: float) -> None:
    """Tasks whose patience has ended leave the queue. All are equally patient, so the oldest leaves first."""
    i = oldest_waiting(run)
    while i != NOBODY and run.tasks[i].joined_s + run.patience_s <= now_s:
        leave_queue(state, run, i)
        run.tasks[i].outcome = GAVE_UP
        i = oldest_waiting(run)


@inner
def try_to_start(state: State, plan: Plan, scores: Scores, run: MomentRun, i: int, now_s: float) -> int:
    """Start task `i` where the policy wants it, now or when the node is awake; or say why not."""
    k: Any = np.int64(run.tasks[i].task_class)
    place_of = state.columns.of[k]
    word = run.words[place_of.word]
    if (word.no_room | word.tried) & place_of.bit != 0:
        return CANNOT
    n = decide_somewhere(state, plan, scores, run, k, i, now_s)
    if faulty(state, k, i):
        return FAULT
    if n == NOWHERE:
        word.no_room |= place_of.bit
        return CANNOT
    gpus = pick(state, plan, scores, k, n, run.luck[i, 1])
    if len(run.budget_s) > 0 and exceeds_budget(state, run, k, n, gpus):
        return CANNOT
    if i == run.now[0].watched:
        run.now[0].reached = 1
        return REACHED
    leave_queue(state, run, i)
    place_there(state, plan, run, k, n, gpus)
    if run.busy.on:
        task_comes(state, run, i, n, now_s)
    if state.nodes[n].closed == AWAKE:
        start(state, run, i, n, gpus, now_s)
    else:
        run.tasks[i].outcome = PLACED
        wait_for_wake(state, run, i, n, gpus, now_s)
    return STARTED


@step
def exceeds_budget(state: State, run: MomentRun, k: int, n: int, gpus: int) -> bool:
    """Whether the placement raises the committed power, and above the budget."""
    gpu = 0
    while gpus != 0 and (gpus >> gpu) & 1 == 0:
        gpu += 1
    node = state.nodes[n]
    added_mw = added_power_mw(node, state.tasks[k], gpu, state.world.gpu_draw_mw) - node.wake_mw
    if node.closed == ASLEEP:
        added_mw += run.sleep.nodes[n].idle_mw - run.sleep.nodes[n].asleep_mw
    return added_mw > 0 and committed_mw(state, run) + added_mw > run.budget_mw[run.now[0].budget_steps]


@step
def start(state: State, run: MomentRun, i: int, n: int, gpus: int, now_s: float) -> None:
    """Task `i` runs from now on; its departure is an event if it lies within the horizon."""
    task = run.tasks[i]
    length_s = task.duration_s
    if task.slowed != 0:
        length_s = length_s * run.reference_speed / run.speed[state.nodes[n].model]
    task.node, task.gpus, task.outcome = n, gpus, RUNNING
    task.start_s, task.end_s = now_s, now_s + length_s
    run.now[0].running += 1
    if run.busy.on:
        task_starts(state, run, i, n, now_s)
    if task.end_s <= run.horizon_s:
        push(run.events, task.end_s, DEPARTURE, i)


@inner
def pass_over_queue(state: State, plan: Plan, scores: Scores, run: MomentRun, now_s: float) -> bool:
    """Step 4 of a moment: start what can start, in order of arrival. Returns whether the run ends here."""
    while True:
        i = first_untried(run) if run.discipline == MAY_BE_OVERTAKEN else oldest_waiting(run)
        if i == NOBODY:
            return False
        result = try_to_start(state, plan, scores, run, i, now_s)
        if result in (FAULT, REACHED):
            return True
        if result == CANNOT and run.discipline == WAITS_IN_LINE:
            return False
        if result == CANNOT:
            k: Any = np.int64(run.tasks[i].task_class)
            twin = run.classes[k].twin
            run.words[state.columns.of[k].word].tried |= state.columns.of[k].bit
            run.words[state.columns.of[twin].word].tried |= state.columns.of[twin].bit
            if run.discipline == DROPS:
                leave_queue(state, run, i)
                run.tasks[i].outcome = FAILED
                state.totals[FAILED_TOTAL] += 1


@step
def first_untried(run: MomentRun) -> int:
    """The waiting task that joined first, of the classes that may fit and were not tried in this pass; or NOBODY."""
    found = NOBODY
    for w in range(len(run.words)):
        word = run.words[w]
        left = word.waiting & ~word.no_room & ~word.tried
        bit = 0
        while left != 0:
            while left & 1 == 0:
                left >>= 1
                bit += 1
            i = run.classes[run.class_of_bit[w, bit]].first
            if found == NOBODY or run.tasks[i].rank < run.tasks[found].rank:
                found = i
            left >>= 1
            bit += 1
    return found
