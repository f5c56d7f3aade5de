"""Nodes that sleep: placing on them, waking, shutting down, and who goes to sleep (steps 2 and 5 of a moment).

A node that is not awake is closed: it fits no class, so that decisions are among nodes awake. Only where none of them
has room, the others are asked (`decide_somewhere`). `run.hidden` has what the totals of the State say for closed nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wattpack.engine.core.decide import decide, decide_among_closed
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import (
    ALLOCATED,
    BASE_POWER,
    CPU_POWER,
    GPU_POWER,
    NOWHERE,
    State,
    log_change,
    place,
    release,
)
from wattpack.engine.moments.events import IDLE_ENDS, NODE_ASLEEP, NODE_AWAKE, is_due, pop, push
from wattpack.engine.moments.extended_choice import choose_extended, decide_with_extension
from wattpack.engine.moments.run import NOBODY, MomentRun
from wattpack.jit import inner, step
from wattpack.model.sleeping import (
    ASLEEP,
    AWAKE,
    SHUTTING_DOWN,
    TIERS,
    WAKING,
    added_by_waking_mw,
    who_sleeps,
    who_wakes,
)


@inner
def decide_somewhere(state: State, plan: Plan, scores: Scores, run: MomentRun, k: int, i: int, now_s: float) -> int:
    """The node for task `i` of class `k`: awake, else waking, else asleep or shutting down; or NOWHERE."""
    luck = run.luck[i, 0]
    if run.busy.on:
        n = decide_with_extension(state, plan, scores, run, k, i, now_s)
    else:
        n = decide(state, plan, scores, k, luck)
    if n == NOWHERE and run.sleep.on:
        now = run.sleep.now[0]
        tier = 1
        while n == NOWHERE and tier < len(TIERS):
            first, last = TIERS[tier]
            there = now.waking_nodes if first == WAKING else now.asleep_nodes + now.transition_nodes - now.waking_nodes
            if there > 0:
                n = decide_among_closed(state, plan, scores, k, luck, first, last)
                if run.busy.on and n != NOWHERE and scores.scratch.taking_part[0] > 1:
                    n = choose_extended(state, scores, run, i, now_s)
            tier += 1
    return n


@step
def hide(run: MomentRun, node: Any, sign: int) -> None:
    """Add (1) or subtract (-1) what the totals of the State have for a node that is not awake."""
    run.hidden[CPU_POWER] += sign * node.cpu_power_mw
    run.hidden[GPU_POWER] += sign * node.gpu_power_mw
    run.hidden[BASE_POWER] += sign * node.base_mw


@inner
def place_there(state: State, plan: Plan, run: MomentRun, k: int, n: int, gpus: int) -> None:
    """Put a task on the node, whatever its state."""
    free = state.nodes[n].gpu_free
    if run.sleep.on:
        before_placing(state, run, n)
    place(state, plan, k, n, gpus)  # once: it is long, and each call of it is compiled
    if run.sleep.on:
        after_placing(state, run, k, n, free)


@step
def before_placing(state: State, run: MomentRun, n: int) -> None:
    if run.sleep.nodes[n].sleepy != 0:
        no_longer_sleepy(state, run, n)
    if state.nodes[n].closed != AWAKE:
        hide(run, state.nodes[n], -1)


@step
def after_placing(state: State, run: MomentRun, k: int, n: int, free: int) -> None:
    """What the next placement there adds has changed. `free`: GPUs before."""
    node = state.nodes[n]
    node.wake_mw = 0
    if node.closed != AWAKE:
        hide(run, node, 1)
        run.hidden[ALLOCATED] += state.tasks[k].gpu_request
        node.wake_mw = added_by_waking_mw(node, run.sleep.nodes[n].asleep_mw)
    elif node.tasks == 1:
        run.sleep.now[0].busy_nodes += 1
    if node.closed <= WAKING:
        run.sleep.now[0].free_gpus += node.gpu_free - free


@inner
def release_there(state: State, plan: Plan, run: MomentRun, k: int, n: int, gpus: int, now_s: float) -> None:
    """Take a task that has run off its node."""
    free = state.nodes[n].gpu_free
    release(state, plan, k, n, gpus)
    if run.sleep.on:
        after_releasing(state, run, n, free, now_s)


@step
def after_releasing(state: State, run: MomentRun, n: int, free: int, now_s: float) -> None:
    """A node that is empty now may sleep later. `free`: GPUs before."""
    node, sleeper = state.nodes[n], run.sleep.nodes[n]
    run.sleep.now[0].free_gpus += node.gpu_free - free
    if node.tasks == 0:
        run.sleep.now[0].busy_nodes -= 1
        node.wake_mw = added_by_waking_mw(node, sleeper.asleep_mw)
        sleeper.empty_since_s = now_s
        start_timer(run, n)


@step
def start_timer(run: MomentRun, n: int) -> None:
    """An event when the node has been empty for long enough. A timer that is there is earlier, and put off then."""
    sleeper = run.sleep.nodes[n]
    end_s = sleeper.empty_since_s + sleeper.idle_s
    if sleeper.timer == 0 and end_s <= run.horizon_s:
        push(run.sleep.idle_ends, end_s, IDLE_ENDS, n)
        sleeper.timer = 1


@step
def stop_timer(state: State, run: MomentRun) -> Any:
    """Take the first timer. It starts again if its node is empty, but only since later. Returns the node."""
    time_s = run.sleep.idle_ends.rows[0].time_s
    n = pop(run.sleep.idle_ends)
    run.sleep.nodes[n].timer = 0
    if is_awake_and_empty(state, n) and run.sleep.nodes[n].empty_since_s + run.sleep.nodes[n].idle_s > time_s:
        start_timer(run, n)
    return n


@step
def no_longer_sleepy(state: State, run: MomentRun, n: int) -> None:
    run.sleep.nodes[n].sleepy = 0
    run.sleep.sleepy_by_gpus[state.nodes[n].gpus] -= 1


@step
def wait_for_wake(state: State, run: MomentRun, i: int, n: int, gpus: int, now_s: float) -> None:
    """Task `i` was placed on a node that is not awake, and starts when it is. A node asleep begins to wake."""
    task, sleeper = run.tasks[i], run.sleep.nodes[n]
    task.node, task.gpus, task.next = n, gpus, NOBODY
    if sleeper.first == NOBODY:
        sleeper.first = i
    else:
        run.tasks[sleeper.last].next = i
    sleeper.last = i
    if state.nodes[n].closed == ASLEEP:
        leave_sleep(state, run, n)
        push(run.events, now_s + run.sleep.wake_s, NODE_AWAKE, n)


@step
def become(state: State, run: MomentRun, n: int, node_state: int) -> None:
    """The node is in this state from now on."""
    state.nodes[n].closed = node_state
    if len(run.sleep.changes) > 0:
        change = run.sleep.changes[run.sleep.noted[0]]
        change.time_s, change.node, change.state = run.now[0].clock_s, n, node_state
        run.sleep.noted[0] += 1


@step
def leave_sleep(state: State, run: MomentRun, n: int) -> None:
    """A node asleep begins to wake."""
    now, sleeper = run.sleep.now[0], run.sleep.nodes[n]
    now.asleep_mw -= sleeper.asleep_mw
    now.saved_mw -= sleeper.idle_mw - sleeper.asleep_mw
    now.asleep_nodes -= 1
    now.transition_mw += sleeper.idle_mw
    now.transition_nodes += 1
    now.waking_nodes += 1
    now.free_gpus += state.nodes[n].gpu_free
    now.wakes += 1
    become(state, run, n, WAKING)


@step
def fall_asleep(state: State, run: MomentRun, n: int) -> None:
    """The shutdown of a node has ended."""
    now, sleeper = run.sleep.now[0], run.sleep.nodes[n]
    now.transition_mw -= sleeper.idle_mw
    now.transition_nodes -= 1
    now.asleep_mw += sleeper.asleep_mw
    now.saved_mw += sleeper.idle_mw - sleeper.asleep_mw
    now.asleep_nodes += 1
    become(state, run, n, ASLEEP)


@inner
def open_node(state: State, run: MomentRun, n: int, now_s: float) -> None:
    """The wake of a node has ended: it is awake, with the tasks placed there, or empty if it woke for the reserve."""
    node, now, sleeper = state.nodes[n], run.sleep.now[0], run.sleep.nodes[n]
    hide(run, node, -1)
    now.transition_mw -= sleeper.idle_mw
    now.transition_nodes -= 1
    now.waking_nodes -= 1
    node.wake_mw = 0
    become(state, run, n, AWAKE)
    if node.tasks > 0:
        now.busy_nodes += 1
    else:
        node.wake_mw = added_by_waking_mw(node, sleeper.asleep_mw)
        sleeper.empty_since_s = now_s
        start_timer(run, n)
    log_change(state, n)


@inner
def shut_down(state: State, run: MomentRun, n: int) -> None:
    node, now = state.nodes[n], run.sleep.now[0]
    no_longer_sleepy(state, run, n)
    now.free_gpus -= node.gpu_free
    hide(run, node, 1)
    now.transition_mw += run.sleep.nodes[n].idle_mw
    now.transition_nodes += 1
    become(state, run, n, SHUTTING_DOWN)
    log_change(state, n)


@inner
def nodes_wake_and_fall_asleep(state: State, run: MomentRun, now_s: float) -> int:
    """Step 2: nodes that have woken become awake, in node order; then nodes whose shutdown has ended are asleep, or
    begin to wake if tasks were placed there meanwhile. Returns how many have woken: the first of `due`.

    All that is due is taken from the queue first: a wake of no length ends in the next round of the moment.
    """
    sleep, woken, due = run.sleep, 0, 0
    while is_due(run.events, NODE_AWAKE, now_s):
        sleep.due[due] = pop(run.events)
        due += 1
    woken = due
    while is_due(run.events, NODE_ASLEEP, now_s):
        sleep.due[due] = pop(run.events)
        due += 1
    for i in range(woken):
        open_node(state, run, sleep.due[i], now_s)
    for i in range(woken, due):
        n = sleep.due[i]
        fall_asleep(state, run, n)
        if sleep.nodes[n].first != NOBODY:
            leave_sleep(state, run, n)
            push(run.events, now_s + sleep.wake_s, NODE_AWAKE, n)
    return woken


@inner
def nodes_go_to_sleep(state: State, run: MomentRun, now_s: float) -> None:
    """Step 5: nodes that were empty for long enough shut down, as far as the reserve of free GPUs allows."""
    sleep, now = run.sleep, run.sleep.now[0]
    while is_due(sleep.idle_ends, IDLE_ENDS, now_s):
        n = stop_timer(state, run)
        if is_empty_for_long(state, run, n, now_s):
            sleep.nodes[n].sleepy = 1
            sleep.sleepy_by_gpus[state.nodes[n].gpus] += 1
    fewest = 0
    while fewest < len(sleep.sleepy_by_gpus) and sleep.sleepy_by_gpus[fewest] == 0:
        fewest += 1
    if fewest == len(sleep.sleepy_by_gpus) or now.free_gpus - fewest < sleep.reserve_gpus:
        return  # nobody is sleepy, or the reserve lets nobody go
    going = who_sleeps(sleep.order, sleep.nodes.sleepy, state.nodes.gpus, now.free_gpus, sleep.reserve_gpus, sleep.due)
    for i in range(going):
        shut_down(state, run, sleep.due[i])
        push(run.events, now_s + sleep.shutdown_s, NODE_ASLEEP, sleep.due[i])


@inner
def nodes_wake_for_the_reserve(state: State, run: MomentRun, now_s: float) -> None:
    """Step 5, after nodes went to sleep, where it is asked for: the reserve is short, so nodes asleep begin to wake."""
    sleep, now = run.sleep, run.sleep.now[0]
    if now.asleep_nodes == 0 or now.free_gpus >= sleep.reserve_gpus:
        return
    for n in range(len(state.nodes)):
        sleep.asleep[n] = 1 if state.nodes[n].closed == ASLEEP else 0
    waking = who_wakes(sleep.order, sleep.asleep, state.nodes.gpus, now.free_gpus, sleep.reserve_gpus, sleep.due)
    for i in range(waking):
        leave_sleep(state, run, sleep.due[i])
        push(run.events, now_s + sleep.wake_s, NODE_AWAKE, sleep.due[i])


@step
def is_awake_and_empty(state: State, n: int) -> bool:
    return state.nodes[n].closed == AWAKE and state.nodes[n].tasks == 0


@step
def is_empty_for_long(state: State, run: MomentRun, n: int, time_s: float) -> bool:
    """Whether the node may sleep from `time_s` on, and that was not seen before."""
    sleeper = run.sleep.nodes[n]
    return is_awake_and_empty(state, n) and sleeper.sleepy == 0 and sleeper.empty_since_s + sleeper.idle_s <= time_s


@step
def next_idle_end_s(state: State, run: MomentRun, found: float) -> float:
    """The time at which a node has been empty for long enough, if it is before `found`."""
    ends = run.sleep.idle_ends
    while ends.size[0] > 0 and ends.rows[0].time_s < found:
        n: Any = np.int64(ends.rows[0].number)
        if is_empty_for_long(state, run, n, ends.rows[0].time_s):
            return ends.rows[0].time_s
        stop_timer(state, run)
    return found
