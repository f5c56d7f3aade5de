"""The least extension of a node's busy time: a decision among nodes that would sleep if they were empty.

A task of length d costs what it adds to the time that its node stays awake:

    extension = max(0, now + d - expected end of the node)

A task also pays for the share of the node that it takes, and of the extension for the rest of the node only `price`:

    watts = (idle watts - watts asleep) * (share + price * (1 - share) * extension / d)

With lengths that are learnt, `price` is half on nodes in use, and d counts less while few tasks have ended (`doubt`).
With lengths that are known exactly, an empty node costs `empty_price`, which is less, and a task that would leave long
before its node ends pays `early` for it: it would take room that a longer task could use without an extension.

The whole extension would charge the first task on a large node for all that come after it: on mixed fleets tasks then
crowd on small hungry nodes. An empty node is extended by d. Other policies see its whole idle watts (`wake_mw` of its
record) in the power that is added; here that is taken out again. Scores are cached until a node changes, and the
extension changes with the clock; so it is added at the choice (extended_choice.py).
"""

from __future__ import annotations

from math import sqrt

from wattpack.engine.core.state import State
from wattpack.engine.moments.busy_run import BusyRun, Host
from wattpack.engine.moments.lengths import learn_end, learn_start, look_again, share_learnt
from wattpack.engine.moments.run import NOBODY, MomentRun
from wattpack.jit import inner, kernel, step
from wattpack.model.records import Floats, TaskRecord


@inner
def extension_w(state: State, run: MomentRun, i: int, n: int, now_s: float) -> float:
    """What task `i` costs on the node beyond its score: the extension, less what the score has in its place."""
    busy, host, task = run.busy, run.busy.hosts[n], state.tasks[run.tasks[i].task_class]
    longer, price = slowness(run, i, n), busy.busy_price
    if busy.first[n] == NOBODY:
        share, price = longer, busy.empty_price
    elif busy.learnt:
        share = longer * share_learnt(busy, busy.group[i], n)
    else:
        share = share_told(run, i, n, now_s, longer)
    own = own_share(host, task)
    in_score_w = state.nodes[n].wake_mw / 1000 * (longer if task.batch != 0 else 1.0)
    return host.saved_w * (own * longer + price * (1 - own) * share) - in_score_w


@inner
def share_told(run: MomentRun, i: int, n: int, now_s: float, longer: float) -> float:
    """By what share of its length task `i` keeps the node busy for longer; if it leaves earlier, what that costs."""
    busy = run.busy
    if busy.end_s[n] < now_s:  # its last task is overdue
        find_end(run, n, now_s)
    length_s = max(busy.length_s[i], 1.0)
    runs_s, left_s = length_s * longer, busy.end_s[n] - now_s
    if runs_s >= left_s:
        return (runs_s - left_s) / length_s
    return busy.early * sqrt(1.0 - runs_s / left_s)


@inner
def own_share(host: Host, task: TaskRecord) -> float:
    """The part of the node that the task takes."""
    return max(task.gpu_request / host.gpu_milli, task.cpu_milli / host.cpu_milli)


@inner
def slowness(run: MomentRun, i: int, n: int) -> float:
    """How many times longer the task runs there than at the reference speed."""
    return run.busy.hosts[n].slowness if run.tasks[i].slowed != 0 else 1.0


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
    busy.task_end_s[i] = starts_s + busy.length_s[i] * slowness(run, i, n)
    busy.end_s[n] = max(busy.end_s[n], busy.task_end_s[i])


@step
def task_starts(state: State, run: MomentRun, i: int, n: int, now_s: float) -> None:
    """Task `i` starts there, when it was placed or when the node has woken."""
    busy = run.busy
    busy.since_s[i] = now_s
    if not busy.learnt:
        busy.task_end_s[i] = now_s + busy.length_s[i] * slowness(run, i, n)
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
    if busy.first[n] == NOBODY:
        node_type = busy.type_of[n]
        busy.first_empty[node_type] = min(busy.first_empty[node_type], busy.place[n])


@kernel
def extensions_w(state: State, run: MomentRun, i: int, now_s: float, out: Floats) -> None:
    """`extension_w` of all nodes, for explanations."""
    for n in range(len(out)):
        out[n] = extension_w(state, run, i, n, now_s)
