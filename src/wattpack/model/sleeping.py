"""The rule by which nodes sleep: who goes to sleep, who wakes for the reserve, and where tasks are placed first.

Simulated runs (engine/moments/sleep.py) and the live service (kube/sleep/rule.py) both call it.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import UserError
from wattpack.jit import inner, kernel
from wattpack.model.power import node_power_mw
from wattpack.model.records import Integers, NodeRecord

# States of a node, in the order in which tasks are placed there.
AWAKE = 0
WAKING = 1
SHUTTING_DOWN = 2
ASLEEP = 3

# The first and the last state of each tier. A task goes to the first tier with room; the policy decides within a tier.
TIERS = ((AWAKE, AWAKE), (WAKING, WAKING), (SHUTTING_DOWN, ASLEEP))

RESERVE_PERCENT = 2  # of the GPUs, where nothing else is asked for
MAX_RESERVE = 10**9
MOST_TASKS = 16  # a node with more is not emptied
PAYS_BACK_S = 3600.0  # emptying a node must pay within this time, where nothing else is asked for


def reserve_text(text: str, what: str) -> str:
    """A reserve in one spelling: a number of GPUs, or a share of them like 2%; `what` names it in an error."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,9})?)\s*(%?)", text, re.ASCII)
    share = Fraction(match[1]) if match else Fraction(-1)
    if not match or (match[2] and share > 100) or (not match[2] and (share.denominator > 1 or share > MAX_RESERVE)):
        raise UserError(f"{what}: reserve {text!r}, expected a number of GPUs, or a share of them like 2%")
    return f"{float(share):.15g}{match[2]}"


def reserve_of(text: str, gpus: int) -> int:
    """The GPUs that `reserve_text` asks for, of so many; a share is rounded up."""
    share = Fraction(text.rstrip("%"))
    return ceil(share * gpus / 100) if text.endswith("%") else int(share)


def sleep_order(idle_mw: NDArray[np.int64], gpus: NDArray[np.int64]) -> NDArray[np.int64]:
    """Nodes in the order in which they go to sleep: most idle watts per GPU first, ties by node order."""
    by_need = sorted(range(len(gpus)), key=lambda n: -Fraction(int(idle_mw[n]), max(int(gpus[n]), 1)))
    return np.array(by_need, dtype=np.int64)


def idle_times_s(
    idle_mw: NDArray[np.int64], asleep_mw: NDArray[np.int64], idle_s: float | None, shutdown_and_wake_s: float
) -> NDArray[np.float64]:
    """How long each node must be empty before it sleeps.

    As told, or ski rental: the energy of one shutdown and wake, divided by the watts saved.
    """
    if idle_s is not None:
        return np.full(len(idle_mw), float(idle_s))
    saved_mw = idle_mw - asleep_mw
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = np.where(saved_mw > 0, shutdown_and_wake_s * idle_mw / saved_mw, inf)
    return found


@kernel
def who_sleeps(
    order: Integers, sleepy: Integers, gpus: Integers, free_gpus: int, reserve_gpus: int, found: Integers
) -> int:
    """Fill `found` with the nodes that go to sleep now, in `order`. Returns their number.

    sleepy[n] != 0: node n is awake and has been empty for long enough. `free_gpus`: GPUs with nothing on them, on nodes
    that are awake or waking. A node sleeps if the reserve is still free without its GPUs; else it is passed over.
    """
    count = 0
    for i in range(len(order)):
        n = order[i]
        if sleepy[n] != 0 and free_gpus - gpus[n] >= reserve_gpus:
            free_gpus -= gpus[n]
            found[count] = n
            count += 1
    return count


@kernel
def who_wakes(
    order: Integers, asleep: Integers, gpus: Integers, free_gpus: int, reserve_gpus: int, found: Integers
) -> int:
    """Fill `found` with the nodes that wake because the reserve is short: last in the order of sleep first.

    The live service does so; simulated runs where it is asked for. Returns their number.
    """
    count = 0
    for i in range(len(order) - 1, -1, -1):
        n = order[i]
        if free_gpus >= reserve_gpus:
            break
        if asleep[n] != 0 and gpus[n] > 0:
            free_gpus += gpus[n]
            found[count] = n
            count += 1
    return count


def emptying_order(saved_mw: NDArray[np.int64], tasks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Nodes in the order in which they are emptied so that they can sleep: most watts saved a move first.

    `saved_mw`: what each node draws now less what it draws asleep; ties by node order. Nodes without tasks are left
    out, and nodes with many.
    """
    some = np.flatnonzero((tasks > 0) & (tasks <= MOST_TASKS))
    by_need = sorted(some.tolist(), key=lambda n: (-Fraction(int(saved_mw[n]), int(tasks[n])), n))
    return np.array(by_need, dtype=np.int64)


def emptying_pays(saved_w: float, idle_w: float, shutdown_and_wake_s: float, pays_back_s: float) -> bool:
    """Whether `saved_w`, less what the tasks add elsewhere, pays for one shutdown and wake within this time."""
    return saved_w > 0 and saved_w * pays_back_s >= shutdown_and_wake_s * idle_w


@inner
def added_by_waking_mw(node: NodeRecord, asleep_mw: int) -> int:
    """What a placement on an empty node, or on one that is not awake, adds beside the task's own milliwatts."""
    return node_power_mw(node) - asleep_mw
