"""The least extension of a node's busy time: a decision among nodes that would sleep if they were empty.

A task of length d costs what it adds to the time that its node stays awake:

    extension = max(0, now + d - expected end of the node)

A task also pays for the share of the node that it takes, and of the extension for the rest of the node only `price`:

    watts = (idle watts - watts asleep) * (share + price * (1 - share) * extension / d)

The whole extension would charge the first task on a large node for all that come after it: on mixed fleets tasks then
crowd on small hungry nodes. An empty node is extended by d. Other policies see its whole idle watts (`wake_mw` of its
record) in the power that is added; here that is taken out again. Scores are cached until a node changes, and the
extension changes with the clock; so it is added at the choice: for each node whose score may still win.
"""

from __future__ import annotations

import numpy as np

from wattpack.engine.core.columns import fits_class
from wattpack.engine.core.combine import rank_buckets, rank_nodes
from wattpack.engine.core.decide import decide
from wattpack.engine.core.faults import KIND, NO_FAULT, NOT_FINITE
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.scores import filter_and_score, scattered
from wattpack.engine.core.state import NOWHERE, State
from wattpack.engine.moments.busy_run import BusyRun
from wattpack.engine.moments.lengths import learn_end, learn_start, look_again, share_learnt
from wattpack.engine.moments.run import NOBODY, MomentRun
from wattpack.jit import inner, kernel, step
from wattpack.model.power import GPU_MILLI
from wattpack.model.records import Floats

LOOKED_AT = 2  # nodes at each decision whose tasks have grown older


@inner
def extension_w(state: State, run: MomentRun, i: int, n: int, now_s: float) -> float:
    """What task `i` costs on the node beyond its score: the extension, less what the score has in its place."""
    busy, node = run.busy, state.nodes[n]
    task = state.tasks[run.tasks[i].task_class]
    longer = slowness(state, run, i, n)
    if busy.first[n] == NOBODY:
        share = longer
    elif busy.learnt:
        share = longer * share_learnt(busy, busy.group[i], n)
    else:
        if busy.end_s[n] < now_s:  # its last task is overdue
            find_end(run, n, now_s)
        length_s = max(busy.length_s[i], 1.0)
        share = max(0.0, now_s + length_s * longer - busy.end_s[n]) / length_s
    own = max(task.gpu_request / max(GPU_MILLI * node.gpus, 1), task.cpu_milli / max(node.cpu_milli, 1))
    in_score_w = node.wake_mw / 1000 * (longer if task.batch != 0 else 1.0)
    return busy.saved_w[n] * (own * longer + busy.price * (1 - own) * share) - in_score_w


@inner
def slowness(state: State, run: MomentRun, i: int, n: int) -> float:
    """How many times longer the task runs there than at the reference speed."""
    return state.nodes[n].slowness if run.tasks[i].slowed != 0 else 1.0


@step
def decide_with_extension(
    state: State, plan: Plan, scores: Scores, run: MomentRun, k: int, i: int, now_s: float
) -> int:
    """`decide` for task `i` of class `k`, whose only policy scores in watts, with the extension."""
    column = state.columns.of[k].column
    filter_and_score(state, plan, scores, column)
    asked, scratch = scores.cache.asked[column], scores.scratch
    if asked.overflow == NOT_FINITE:
        return decide(state, plan, scores, k, 0.0)
    if run.busy.learnt:
        look_at_some(run, now_s)
    if scattered(plan, asked):
        feasible = 0
        for n in range(len(scratch.mask)):
            scratch.mask[n] = 0 if fits_class(state, k, n) else -1
            feasible += scratch.mask[n] >= 0
        if feasible == 0:
            return NOWHERE
        rank_nodes(state, plan, scores, k, 0.0, scratch.mask, feasible)
        if state.fault[KIND] != NO_FAULT:
            return NOWHERE
        return choose_extended(state, scores, run, i, now_s)
    rows = rank_buckets(state, plan, scores, k)
    best, chosen = -np.inf, NOWHERE
    if rows == 0:
        return NOWHERE
    busy = run.busy
    # No node record is read before a node may win: they lie far apart.
    most_often = busy.longest if run.tasks[i].slowed != 0 else 1.0
    bucket, total = scores.cache.bucket[column], scratch.bucket_total
    for n in range(len(bucket)):
        if bucket[n] < 0:
            continue
        value = most = total[bucket[n]]
        if busy.first[n] == NOBODY:
            most += busy.saved_w[n] * most_often
        if most > best:
            value -= extension_w(state, run, i, n, now_s)
            if value > best:
                best, chosen = value, n
    return chosen


@step
def choose_extended(state: State, scores: Scores, run: MomentRun, i: int, now_s: float) -> int:
    """The choice among the nodes with mask[n] >= 0, whose scores are in `Scratch.total`."""
    mask, total = scores.scratch.mask, scores.scratch.total
    best, chosen = -np.inf, NOWHERE
    for n in range(len(mask)):
        if mask[n] >= 0:
            value = total[n] - extension_w(state, run, i, n, now_s)
            if value > best:
                best, chosen = value, n
    return chosen


@step
def look_at_some(run: MomentRun, now_s: float) -> None:
    """Tasks grow older without an event: look at a few nodes in turn."""
    busy = run.busy
    for _ in range(LOOKED_AT):
        n = busy.next_node[0]
        look_again(busy, n, now_s)
        busy.next_node[0] = (n + 1) % len(busy.first)


@step
def find_end(run: MomentRun, n: int, now_s: float) -> None:
    """The expected end of the node's last task. A task that has outlived its estimate gets twice the estimate."""
    busy = run.busy
    busy.end_s[n] = 0.0
    i = busy.first[n]
    while i != NOBODY:
        while busy.task_end_s[i] < now_s:
            busy.task_end_s[i] += max(busy.task_end_s[i] - busy.since_s[i], 60.0)
        busy.end_s[n] = max(busy.end_s[n], busy.task_end_s[i])
        i = busy.after[i]


@step
def task_comes(state: State, run: MomentRun, i: int, n: int, now_s: float) -> None:
    """Task `i` was placed on the node."""
    busy = run.busy
    join_node(busy, i, n)
    busy.since_s[i] = now_s
    if busy.learnt:
        learn_start(busy, i, n)
        return
    starts_s = now_s if state.nodes[n].closed == 0 else now_s + run.sleep.wake_s
    busy.task_end_s[i] = starts_s + busy.length_s[i] * slowness(state, run, i, n)
    busy.end_s[n] = max(busy.end_s[n], busy.task_end_s[i])


@step
def task_starts(state: State, run: MomentRun, i: int, n: int, now_s: float) -> None:
    """Task `i` starts there, when it was placed or when the node has woken."""
    busy = run.busy
    busy.since_s[i] = now_s
    if not busy.learnt:
        busy.task_end_s[i] = now_s + busy.length_s[i] * slowness(state, run, i, n)
        busy.end_s[n] = max(busy.end_s[n], busy.task_end_s[i])


@step
def task_goes(run: MomentRun, i: int, n: int, now_s: float) -> None:
    """Task `i` has left the node."""
    leave_node(run.busy, i, n)
    if run.busy.learnt:
        learn_end(run.busy, i, now_s)
    refresh(run, n, now_s)


@step
def task_moves(run: MomentRun, i: int, source: int, to: int, now_s: float) -> None:
    """Running task `i` was moved from one node to another."""
    leave_node(run.busy, i, source)
    join_node(run.busy, i, to)
    refresh(run, source, now_s)
    refresh(run, to, now_s)


@step
def refresh(run: MomentRun, n: int, now_s: float) -> None:
    if run.busy.learnt:
        look_again(run.busy, n, now_s)
    else:
        find_end(run, n, now_s)


@step
def join_node(busy: BusyRun, i: int, n: int) -> None:
    busy.before[i], busy.after[i] = NOBODY, busy.first[n]
    if busy.first[n] != NOBODY:
        busy.before[busy.first[n]] = i
    busy.first[n] = i


@step
def leave_node(busy: BusyRun, i: int, n: int) -> None:
    before, after = busy.before[i], busy.after[i]
    if before == NOBODY:
        busy.first[n] = after
    else:
        busy.after[before] = after
    if after != NOBODY:
        busy.before[after] = before


@kernel
def extensions_w(state: State, run: MomentRun, i: int, now_s: float, out: Floats) -> None:
    """`extension_w` of all nodes, for explanations."""
    for n in range(len(out)):
        out[n] = extension_w(state, run, i, n, now_s)
