"""The configuration LP where empty nodes sleep: the least IT power of any placement of exactly the tasks that run.

Every placement, with any choice of nodes that are awake, is a solution of the LP. What is returned is not the solver's
value but a dual bound worked out anew from its prices, so it holds whatever the solver's tolerances are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import RunError, UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.tasks import TaskClass
from wattpack.optimise.bound.awake import awake_columns, row_types
from wattpack.optimise.bound.lp import (
    CLOSE_ENOUGH,
    INFEASIBLE,
    MAX_ROUNDS,
    SLACK,
    ConfigurationLp,
    Floats,
    InfeasibleError,
)

FITTED = 1e-7  # relative: so few tasks that do not fit are the solver's rounding
UNSETTLED = f"the bound did not settle in {MAX_ROUNDS} rounds: please report the datacenter and the trace"
ROUNDING = 1e-11  # relative: sums of some thousand float64 terms are far more exact than this


@dataclass(frozen=True)
class Floor:
    """A linear function below the least power at every demand and reserve; it is tight where it was solved."""

    fixed_w: float
    per_task_w: Floats  # by class
    per_reserve_gpu_w: float
    price: Floats  # of the capacity rows: all else follows from it and from the price of the reserve
    all_awake: bool

    def power_w(self, counts: NDArray[Any], reserve_gpus: float) -> float:
        value = self.fixed_w + float(self.per_task_w @ counts) + self.per_reserve_gpu_w * reserve_gpus
        return value - ROUNDING * abs(value)


@dataclass(frozen=True)
class _Demand:
    counts: Floats  # by class
    reserve_gpus: float
    all_awake: bool


class AsleepLp(ConfigurationLp):
    """The LP of one datacenter, task classes, power profile and sleep watts. Patterns found are kept between solves.

    Further columns: nodes awake, by group of nodes that are equal in everything, base power included. All capacity is
    that of nodes awake.
    """

    def __init__(
        self, datacenter: Datacenter, classes: Sequence[TaskClass], profile: PowerProfile = PAPER, sleep_w: float = inf
    ) -> None:
        super().__init__(datacenter, classes, profile)
        from scipy import sparse

        row_type, self._line_type = row_types(self.nodes, len(self.sizes_milli))
        self._lines = slice(len(row_type) - len(self._line_type), None)  # the rows of socket watts
        self._awake = awake_columns(datacenter, profile, sleep_w, self.nodes, self._limits, row_type)
        self._capacity = sparse.hstack([self._rows, sparse.csr_array(self._awake.gives)]).tocsr()
        self._known_w = np.append(self._cost_w, self._awake.cost_w)
        k, _ = self._pairs
        self._of_pairs = self._rows[:, : len(k)].T.tocsr()
        self._demand = sparse.csr_array(
            (-np.ones(len(k)), (k, np.arange(len(k)))), shape=(len(self.classes), len(self._known_w))
        )
        # GPUs in use less GPUs awake, by column: the reserve is a limit of it.
        in_use = self._rows[: len(self.nodes)].sum(axis=0)
        self._in_use = np.append(in_use, -self._awake.gpus)
        self.most_in_use = np.array([task.num_gpu for task in self.classes], dtype=np.float64)  # of one task, by class
        self.gpus = int(self._gpus.sum())

    def least_power_w(self, counts: NDArray[Any], reserve_gpus: float = 0.0) -> float:
        """The least power of any placement of exactly `counts` tasks of each class that keeps the reserve.

        Where the reserve cannot be kept, all nodes are awake: no node may go to sleep without it. `InfeasibleError` if
        no placement holds the tasks.
        """
        kept, awake = self.floors(counts, reserve_gpus)
        kept_w = inf if kept is None else kept.power_w(counts, reserve_gpus)
        return kept_w if awake is None else min(kept_w, awake.power_w(counts, 0.0))

    def floors(self, counts: NDArray[Any], reserve_gpus: float) -> tuple[Floor | None, Floor | None]:
        """With the reserve kept (None: impossible), and with all nodes awake (None: the reserve is then kept)."""
        if not reserve_gpus >= 0:
            raise UserError(f"sleep: a reserve of {reserve_gpus:g} GPUs, expected 0 or more")
        lacking = self.may_lack_reserve(counts, reserve_gpus)
        kept = None
        try:
            if reserve_gpus <= self.gpus:
                kept = self.floor(counts, reserve_gpus)
        except InfeasibleError:
            if not lacking:
                raise
        return kept, self.floor(counts, all_awake=True) if lacking else None

    def may_lack_reserve(self, counts: NDArray[Any], reserve_gpus: float) -> bool:
        """Whether some placement of the tasks leaves fewer free GPUs than the reserve although all nodes are awake."""
        return reserve_gpus > 0 and float(self.most_in_use @ counts) + reserve_gpus > self.gpus

    def all_idle(self) -> Floor:
        """A floor for all nodes awake that needs no solve: it charges only what tasks of whole GPUs add."""
        return self._floor_at(np.zeros(len(self._limits)), 0.0, all_awake=True)[0]

    def floor(self, counts: NDArray[Any], reserve_gpus: float = 0.0, all_awake: bool = False) -> Floor:
        """The floor that is tight at these tasks and this reserve; `all_awake`: no node sleeps, and no reserve."""
        demand = _Demand(np.asarray(counts, dtype=np.float64), 0.0 if all_awake else reserve_gpus, all_awake)
        try:
            return self._settled(demand)
        except InfeasibleError:
            self._find_patterns_that_fit(demand)
            return self._settled(demand)

    def at_prices_of(self, floor: Floor) -> Floor:
        """The floor for the classes of this LP at the prices of another, of the same nodes, watts and sharing sizes."""
        return self._floor_at(floor.price, floor.per_reserve_gpu_w, floor.all_awake)[0]

    def _settled(self, demand: _Demand) -> Floor:
        """Solve, price all patterns and add the best of each type, until all would gain at most `CLOSE_ENOUGH`."""
        for _ in range(MAX_ROUNDS):
            value, price, reserve_price = self._solve_awake(demand, self._known_w, self._fill_w)
            floor, gain, found = self._floor_at(price, reserve_price, demand.all_awake)
            value += self._awake.asleep_w
            missing = value - floor.power_w(demand.counts, demand.reserve_gpus)
            if missing <= CLOSE_ENOUGH * max(1.0, abs(value)) or not self._add(found, gain):
                return floor
        raise RunError(UNSETTLED)

    def _find_patterns_that_fit(self, demand: _Demand) -> None:
        """Add patterns until the tasks fit: those known may leave too many gaps. `InfeasibleError` if they never do."""
        for _ in range(MAX_ROUNDS):
            nothing = np.zeros_like(self._known_w), np.zeros_like(self._fill_w)
            unplaced, price, reserve_price = self._solve_awake(demand, *nothing, leave_cost=1.0)
            if unplaced <= FITTED * max(1.0, float(demand.counts.sum())):
                return
            if not self._add(*self._best_patterns(price, reserve_price, nothing[1])):
                raise InfeasibleError("no placement holds the tasks and the reserve")
        raise RunError(UNSETTLED)

    def _best_patterns(self, price: Floats, reserve_price: float, fill_w: Floats) -> tuple[NDArray[np.int64], Floats]:
        """The pattern of each type that gains most at these prices, and its gain."""
        types, sizes = len(self.nodes), len(self.sizes_milli)
        gpu_w = fill_w[:, self._pricing.fills_milli] + (price[:types] + reserve_price)[:, None]
        gain, found = self._pricing.best(price[types : types * (1 + sizes)].reshape(types, sizes), gpu_w)
        return found, np.where(self._gpus > 0, np.maximum(gain, 0.0), 0.0)

    def _add(self, found: NDArray[np.int64], gain: Floats) -> bool:
        """Whether there was a new one among the patterns that gain something."""
        before = len(self._patterns)
        self._patterns = np.unique(np.concatenate([self._patterns, found[gain > 0]]), axis=0)
        return len(self._patterns) > before

    def _floor_at(
        self, capacity_price: Floats, reserve_price: float, all_awake: bool
    ) -> tuple[Floor, Floats, NDArray[np.int64]]:
        """The floor of any prices of 0 or more, mended where they are not those of a dual solution; patterns to add."""
        types = len(self.nodes)
        price = capacity_price.copy()
        # Socket watts cost 1 W a watt: the lines of a type may be worth that together.
        together = np.bincount(self._line_type, price[self._lines], minlength=types)
        price[self._lines] /= np.maximum(together, 1.0)[self._line_type]
        found, gain = self._best_patterns(price, reserve_price, self._fill_w)
        price[:types] += gain  # with a GPU that much dearer no pattern gains anything
        k, _ = self._pairs
        of_pair = self._cost_w[: len(k)] + self._of_pairs @ price + reserve_price * self._in_use[: len(k)]
        per_task_w = np.full(len(self.classes), np.inf)
        np.minimum.at(per_task_w, k, of_pair)  # exactly the tasks asked for are placed, each where it costs least
        per_task_w[np.isinf(per_task_w)] = 0.0  # fits no node
        of_node = self._awake.cost_w + price @ self._awake.gives - reserve_price * self._awake.gpus
        awake_w = float(self._awake.count @ (of_node if all_awake else np.minimum(of_node, 0.0)))
        floor = Floor(self._awake.asleep_w + awake_w, per_task_w, reserve_price, capacity_price, all_awake)
        return floor, gain, found

    def _solve_awake(
        self, demand: _Demand, known_cost: Floats, fill_cost: Floats, leave_cost: float | None = None
    ) -> tuple[float, Floats, float]:
        """The LP over the known patterns: its value, the prices of the capacity rows and of a GPU of the reserve.

        leave_cost: of a task that is not placed and of a GPU that the reserve lacks; None: neither is allowed.
        """
        from scipy import sparse
        from scipy.optimize import linprog

        types, sizes, rows = len(self.nodes), len(self.sizes_milli), len(self._limits)
        of_patterns = sparse.vstack(
            [
                sparse.kron(sparse.eye_array(types), np.ones((1, len(self._patterns)))),  # takes a GPU
                sparse.kron(sparse.eye_array(types), -self._patterns.T),  # gives room to tasks of a size
                sparse.csr_array((rows - types * (1 + sizes), types * len(self._patterns))),
                sparse.csr_array((len(demand.counts), types * len(self._patterns))),
            ]
        )
        known = [self._capacity, self._demand]
        limits = [np.zeros(rows), -demand.counts * (1 - SLACK)]
        if demand.reserve_gpus > 0:
            known.append(sparse.csr_array(self._in_use[None, :]))
            of_patterns = sparse.vstack([of_patterns, np.ones((1, of_patterns.shape[1]))])
            limits.append(np.array([-demand.reserve_gpus * (1 - SLACK)]))
        columns = [sparse.vstack(known), of_patterns]
        costs = [known_cost, fill_cost[:, self._patterns @ self.sizes_milli].ravel()]
        if leave_cost is not None:
            wanted = of_patterns.shape[0] - rows
            columns.append(sparse.vstack([sparse.csr_array((rows, wanted)), -sparse.eye_array(wanted)]))
            costs.append(np.full(wanted, leave_cost))
        cost = np.concatenate(costs)
        bounds = np.column_stack([np.zeros(len(cost)), np.full(len(cost), np.inf)])
        groups = slice(len(self._cost_w), len(self._known_w))
        bounds[groups] = np.column_stack([self._awake.count * demand.all_awake, self._awake.count])
        solved = linprog(cost, sparse.hstack(columns).tocsr(), np.concatenate(limits), bounds=bounds, method="highs")
        if solved.status == INFEASIBLE:
            raise InfeasibleError("no placement over the patterns known holds the tasks and the reserve")
        if solved.status != 0:
            raise RunError(f"the bound could not be computed: {solved.message}")
        price = np.maximum(-solved.ineqlin.marginals, 0.0)
        return float(solved.fun), price[:rows], float(price[rows + len(demand.counts) :].sum())


def least_power_w(
    datacenter: Datacenter,
    classes: Sequence[TaskClass],
    counts: NDArray[Any],
    profile: PowerProfile = PAPER,
    sleep_w: float = inf,
    reserve_gpus: float = 0.0,
) -> float:
    """The least IT power of any placement of exactly `counts` tasks of each class, with empty nodes asleep.

    A node asleep draws `sleep_w`, at most its idle watts, so with `inf` nothing sleeps. At least `reserve_gpus` GPUs
    with nothing on them are on nodes awake, else all nodes are awake.
    """
    return AsleepLp(datacenter, classes, profile, sleep_w).least_power_w(counts, reserve_gpus)
