"""THE CONTRACT of a policy. Policies and engine both know this page, and not each other.

A policy says how good a node is for a task. Higher is better, always. Infeasible nodes are never scored.

    score(node, task, world, params, memory, terms) -> gpu
        Writes the score of placing `task` on `node` into terms[0] and returns the GPU it would use, for a sharing task
        (`ANY_GPU` if the policy has no preference; ignored for other tasks). It may read
            node    one `NODE` record (model/node_record.py): cpu_left, gpu_left[g], gpu_total, gpu_free, ...
            task    one `TASK` record (model/tasks.py): cpu_milli, num_gpu, gpu_milli, gpu_request, kind, ...
            world   fixed for a run: target workload and power tables (`World` below)
            params  float64[], made once per run by `prepare`
        and nothing else: the engine calls it again only when the node has changed.
        Types for all of these are in model/records.py: mypy then finds a misspelt field.

A policy whose weights depend on the whole datacenter has several terms and sets their prices at each decision:

    weigh(task, world, params, memory, prices)
        Fills prices[0..terms): the score of a node is then sum(prices[t] * terms[t]). It may read `memory`.
        (Two kinds of `Normalise` below first normalise the first term over the feasible nodes.)
    remember(event, node, task, world, params, memory)
        Keeps `memory` (float64[memory_size], part of the State) up to date. `event` is ARRIVAL (of a task, placed or
        not), DEPARTURE, BEFORE_CHANGE and AFTER_CHANGE (a node, around each place and release; also AFTER_CHANGE
        once per node when a run starts). Whole numbers below 2**53 stay exact.
        It may write node.notes[0..NOTES) at AFTER_CHANGE, for `score` to read: values that depend on the node alone
        and that `score` would otherwise compute for every class. In a mix only one kind of policy may do so (`notes`).

All three are kernels (plain loops; `wattpack.jit.kernel` compiles them).

How a node is chosen by the scores is declared, not written: which nodes are looked at (`Look`), whether neighbours
count together (`stretch`), how ties are broken (`Ties`) and in which order nodes stand for all of these (`Order`). In a
mix the part with the largest weight decides, as it picks the GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.jit import kernel
from wattpack.model.fragmentation import adds_table
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile, draw_table_mw
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord
from wattpack.model.target import Target

ANY_GPU = -1

ARRIVAL = 0
DEPARTURE = 1
BEFORE_CHANGE = 2
AFTER_CHANGE = 3


class Normalise(IntEnum):
    """How the scores of the feasible nodes of one decision are normalised before they are weighted."""

    NONE = 0  # the policy scores 0..100 by itself, or is real-valued
    MIN_MAX_100 = 1  # (s - min) * 100 // (max - min); all equal: 100
    MIN_MAX_0 = 2  # the same; all equal: 0
    DRAW = 3  # 100 for one node drawn at random, 0 for the rest
    # For policies with several terms: the first one is normalised over the feasible nodes before prices are applied.
    FIRST_TERM_100 = 4  # sum of prices[t] * terms[t], the first term as by MIN_MAX_100: a mix whose weights may change
    FIRST_TERM_WITHIN = 5  # only nodes whose first term is within prices[0] of the largest; sum of prices[t] * terms[t]


class Pick(IntEnum):
    """Which GPU of the chosen node a sharing task gets."""

    OWN = 0  # the one `score` returned
    TIGHTEST = 1  # least left that fits, first of equals
    RANDOM = 2  # any that fits


class Look(IntEnum):
    """Which of the feasible nodes of a decision are scored."""

    ALL = 0
    WINDOW = 1  # as many as kube-scheduler looks at, on from where the last decision stopped (`window_size`)


class Ties(IntEnum):
    """Which of several nodes with the largest total is chosen."""

    FIRST = 0  # the first in the policy's order
    DRAWN = 1  # any of them, drawn at random
    HEAP = 2  # the root of a binary heap built of the nodes looked at, in the order in which they were met


class Order(IntEnum):
    """The order of the nodes for ties, windows and neighbours."""

    RUN = 0  # the node order of the run
    NAME = 1  # by node name
    FILE = 2  # as in the file of nodes, whatever order the run has drawn


class World(NamedTuple):
    """What kernels read besides node and task. Fixed for a run, except for the scratch."""

    target: Any  # TARGET records: M
    gpu_draw_mw: NDArray[np.int64]  # [models, 1001] milliwatts by milli-GPU in use
    adds: NDArray[np.int32]  # [1001, distinct gpu_milli of M, padded] see model/fragmentation.py
    cpu_most: int  # the largest cpu_milli of M
    # [3, distinct gpu_milli of M, padded] scratch: two rows for model/fragmentation.py, and one whose first number is 1
    # after a score that is not finite (engine/core/faults.py). One array, since each costs 2 ns per call of a score.
    tally: NDArray[np.int32]


def new_world(datacenter: Datacenter, target: Target, profile: PowerProfile) -> World:
    """Each run has its own world: threads must not share the scratch."""
    adds = adds_table(target.sizes())
    scratch = np.zeros((3, adds.shape[1]), dtype=np.int32)
    cpu_most = max((task.cpu_milli for task in target.classes), default=0)
    tables = (target.records(datacenter.models), draw_table_mw(datacenter.models, profile), adds)
    return World(*tables, cpu_most, scratch)


def no_params(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
    return np.zeros(0)


@kernel
def fixed_price(task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, prices: Floats) -> None:
    """The price of a score with one term."""
    prices[0] = 1.0


@kernel
def price_of_one(task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, prices: Floats) -> None:
    """The prices of a score that is the sum of its terms."""
    for term in range(len(prices)):
        prices[term] = 1.0


@kernel
def no_memory(
    event: int, node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats
) -> None:
    """A policy that remembers nothing."""


@dataclass(frozen=True)
class Policy:
    """One policy of the registry: its name, how it scores, and the choices that the contract leaves open."""

    name: str
    summary: str  # one line for `wattpack policies`
    score: Callable[..., int]
    normalise: Normalise = Normalise.NONE
    pick: Pick = Pick.OWN
    terms: int = 1
    weigh: Callable[..., None] = fixed_price
    remember: Callable[..., None] = no_memory
    memory_size: int = 0
    prepare: Callable[[Datacenter, Target, PowerProfile], NDArray[np.float64]] = no_params
    term_names: tuple[str, ...] = ("score",)
    # Whether `score` reads neither memory_mib nor the models of a task (the filter does). Classes that differ only in
    # these then share their scores.
    amounts_only: bool = False
    # Whether the score is negative watts, to which the engine may add those of keeping a node awake for longer
    # (engine/moments/extension.py). Only where it stands alone in an expression.
    extends: bool = False
    by_work: bool = False  # whether `score` reads `batch` of tasks and `slowness` of nodes, where speeds are known
    notes: bool = False  # whether `remember` writes node.notes
    # The terms that `score` writes with these params; the others have no price. None: all terms.
    used_terms: Callable[[NDArray[np.float64]], Sequence[int]] | None = None
    # What numbered terms stand for with these params and GPU models, by name: `slots_1` says nothing. For `explain`.
    say_terms: Callable[[NDArray[np.float64], tuple[str, ...]], Mapping[str, str]] | None = None
    with_knob: Callable[[float], Policy] | None = None  # what NAME@VALUE in an expression means
    look: Look = Look.ALL
    # Only the stretch of neighbouring feasible nodes whose scores add up to the most takes part; the first of equals.
    stretch: bool = False
    ties: Ties = Ties.FIRST
    order: Order = Order.RUN

    @property
    def plain_choice(self) -> bool:
        """Whether the first node of the run's order with the largest total is chosen: what nearly all policies want."""
        return (self.look, self.stretch, self.ties, self.order) == (Look.ALL, False, Ties.FIRST, Order.RUN)


class Component(NamedTuple):
    """A policy with its weight in thousandths, as parsed from an expression like `pwr:0.1+fgd:0.9`."""

    policy: Policy
    weight: int


class Mix(NamedTuple):
    """A whole policy expression, as the engine takes it."""

    expression: str
    components: tuple[Component, ...]
    picker: int  # index of the component whose GPU picker is used
