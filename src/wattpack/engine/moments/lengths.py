"""How long tasks still run, where it must be learnt: survival by age, per group of tasks alike.

Of the tasks of a group that got to a bin of age (an octave), some ended in it. Their share is the hazard of the bin; a
group that has seen few tasks leans on its wider group, and that one on a fixed hazard:

    hazard(b) = (ended(b) + LEAN * hazard of the wider group) / (seen through(b) + LEAN)

A group is an owner's tasks of a class where owners are known, its wider one the class, that one's the class of service.

Tasks that still run count as far as they got, so that long ones are not forgotten. A task that has run long
runs longer:
gone[g, a, t] is the probability that a task of age a is gone at t from now.
"""

from __future__ import annotations

from typing import Any

from wattpack.engine.moments.busy_run import BINS, FIRST_S, NOBODY, BusyRun
from wattpack.jit import inner, step

LEAN = 5.0  # tasks that the wider group counts for
FIRST_HAZARD = 0.25  # of an octave, before anything was seen: half of the tasks are gone after 2.4 octaves
MORE_SEEN = 1.3  # curves are made again after this many times as many ended tasks


@step
def hazard(busy: BusyRun, g: int, b: int, lean_on: float) -> float:
    """Share of the tasks in bin `b` of age that end there. Tasks that are in it now count half."""
    ended, passed = busy.ended[g, b], busy.reached[g, b + 1]
    through = ended + passed + 0.5 * (busy.reached[g, b] - ended - passed)
    return (ended + LEAN * lean_on) / (through + LEAN)


@step
def survival(busy: BusyRun, time_s: float) -> float:
    """Of `busy.survive`, at any time: straight lines between the bins' ends, halved by each octave behind the last."""
    low_s, high_s, b = 0.0, FIRST_S, 0
    while time_s >= high_s and b < BINS + 1:
        low_s, high_s = high_s, 2 * high_s
        b += 1
    share = min((time_s - low_s) / (high_s - low_s), 1.0)
    return busy.survive[b] * (1 - share) + busy.survive[b + 1] * share


@step
def ended_tasks(busy: BusyRun, g: int) -> float:
    """Of its widest group, so far."""
    while busy.wider[g] != NOBODY:
        g = busy.wider[g]
    found = busy.reached[g, BINS]
    for b in range(BINS):
        found += busy.ended[g, b]
    return found


@step
def make_curves(busy: BusyRun, g: int) -> None:
    """`weight` and `gone` of a group, from what was seen so far."""
    wide = busy.wider[g]
    widest = busy.wider[wide] if wide != NOBODY else NOBODY
    busy.survive[0] = 1.0
    for b in range(BINS):
        lean_on = FIRST_HAZARD
        if widest != NOBODY:
            lean_on = hazard(busy, widest, b, lean_on)
        if wide != NOBODY:
            lean_on = hazard(busy, wide, b, lean_on)
        busy.survive[b + 1] = busy.survive[b] * (1 - hazard(busy, g, b, lean_on))
    for b in range(BINS, BINS + 2):
        busy.survive[b + 1] = busy.survive[b] / 2
    total, width_s = 0.0, FIRST_S
    for b in range(BINS):
        busy.weight[g, b] = width_s * (busy.survive[b] + busy.survive[b + 1]) / 2
        total += busy.weight[g, b]
        width_s = FIRST_S * 2.0**b
    known = 1.0 if busy.doubt == 0 else ended_tasks(busy, g) / (ended_tasks(busy, g) + busy.doubt)
    for b in range(BINS):
        busy.weight[g, b] *= known / total
    for a in range(BINS):
        age_s = 0.75 * FIRST_S * 2.0**a if a > 0 else 0.0
        left = survival(busy, age_s)
        for b in range(BINS):
            later_s = 0.75 * FIRST_S * 2.0**b
            gone = 1.0 - survival(busy, age_s + later_s) / left
            busy.gone[g, a, b] = min(max(gone, 1e-9), 1.0)  # a product of many stays above 0
    busy.seen[g, 1] = busy.seen[g, 0]


@inner
def count_in(busy: BusyRun, counts: Any, g: int, b: int) -> None:
    """One more task in the group and all wider ones."""
    while g != NOBODY:
        counts[g, b] += 1
        g = busy.wider[g]


@step
def grow_older(busy: BusyRun, i: int, now_s: float) -> int:
    """Count the bins that task `i` has got to. Returns the bin of its age."""
    b, age_s = busy.age_bin[i], now_s - busy.since_s[i]
    while b < BINS - 1 and age_s >= busy.edge_s[b]:
        b += 1
        count_in(busy, busy.reached, busy.group[i], b)
    busy.age_bin[i] = b
    return b


@step
def look_again(busy: BusyRun, n: int, now_s: float) -> None:
    """`node_gone` of a node, from its tasks and their ages."""
    for b in range(BINS):
        busy.node_gone[n, b] = 1.0
    i = busy.first[n]
    while i != NOBODY:
        g, a = busy.group[i], grow_older(busy, i, now_s)
        for b in range(BINS):
            busy.node_gone[n, b] *= busy.gone[g, a, b]
        i = busy.after[i]


@step
def learn_start(busy: BusyRun, i: int, n: int) -> None:
    g = busy.group[i]
    if busy.seen[g, 0] < 0:
        busy.seen[g, 0] = 0
        make_curves(busy, g)
    busy.age_bin[i] = 0
    count_in(busy, busy.reached, g, 0)
    for b in range(BINS):
        busy.node_gone[n, b] *= busy.gone[g, 0, b]


@step
def learn_end(busy: BusyRun, i: int, now_s: float) -> None:
    g, b = busy.group[i], grow_older(busy, i, now_s)
    if now_s >= FIRST_S * 2.0 ** (BINS - 1) + busy.since_s[i]:  # beyond the last bin
        count_in(busy, busy.reached, g, BINS)
    else:
        count_in(busy, busy.ended, g, b)
    busy.seen[g, 0] += 1
    if busy.seen[g, 0] >= MORE_SEEN * busy.seen[g, 1] + 2:
        make_curves(busy, g)


@inner
def part_of_share(busy: BusyRun, g: int, n: int, b: int) -> float:
    """Of four bins from `b` on. Two sums that do not wait for each other."""
    weight, gone = busy.weight[g], busy.node_gone[n]
    first = weight[b] * gone[b] + weight[b + 1] * gone[b + 1]
    return first + (weight[b + 2] * gone[b + 2] + weight[b + 3] * gone[b + 3])


@inner
def share_learnt(busy: BusyRun, g: int, n: int) -> float:
    """By what share of its expected length a new task of the group keeps the node busy for longer.

    The last bins first, which have most of it: `best_of_busy` stops when that is too much already.
    """
    share = 0.0
    for b in range(BINS - 4, -1, -4):
        share += part_of_share(busy, g, n, b)
    return share
