"""The configuration LP: the most GPU that any placement can serve, and the least power at that service.

The nodes of a type are merged and tasks may be split over them; patterns describe how sharing tasks fill one GPU.
Every placement is a solution of the LP, so no placement serves more, and none that serves as much draws less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import RunError
from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI, PAPER, PowerProfile, draw_table_mw, total_power
from wattpack.model.tasks import TaskClass, task_records
from wattpack.optimise.bound.patterns import Pricing, first_patterns
from wattpack.optimise.bound.rows import allowed_pairs, capacity_rows

Floats = NDArray[np.float64]
Least = tuple[tuple[Floats, float], ...]  # (worth of a task by class, how much of it must be served)

SLACK = 1e-9  # relative: the next solve requires this much less than the last one served, because of rounding
CLOSE_ENOUGH = 1e-5  # relative: pricing stops here; the possible remaining gain is added, so the bound stays valid
MAX_ROUNDS = 300
INFEASIBLE = 2  # status of scipy's linprog
# With more sizes of sharing tasks than this, sizes are rounded down to multiples of 10, 20, 25 or 50 milli: the bound
# stays valid (smaller tasks serve the same request in less room), and its time stays low (97 sizes: 17 s per load).
MOST_SIZES = 50
UNITS_MILLI = (10, 20, 25, 50)


class InfeasibleError(RunError):
    """No placement can serve the required amount."""


def rounded_sizes(gpu_milli: NDArray[Any]) -> NDArray[Any]:
    """The sizes rounded down, never to 0, to at most about `MOST_SIZES` distinct ones."""
    rounded = gpu_milli
    for unit in UNITS_MILLI:
        if len(np.unique(rounded)) <= MOST_SIZES:
            break
        grid = np.unique([1, 2, 5, 10, *range(unit, GPU_MILLI + 1, unit)])
        rounded = grid[np.searchsorted(grid, gpu_milli, side="right") - 1]
    return rounded


@dataclass(frozen=True)
class Plane:
    """A linear bound for every demand and service; it is tight at the one it was solved for.

    Demand and service are right-hand sides of the LP, so its prices give a bound for all of them (weak duality).
    """

    fixed: float
    per_task: Floats  # by class
    per_gpu: float = 0.0  # of a GPU that is served
    per_vcpu: float = 0.0  # of a vCPU that is served to tasks without GPU


@dataclass(frozen=True)
class Bound:
    """What no placement of a demand can beat. Power is that of the whole datacenter, with idle and base power."""

    gpu_requested: float  # GPUs
    gpu_served: float  # GPUs, at most
    cpu_only_requested: float  # vCPU of the tasks without GPU
    cpu_only_served: float  # vCPU: the most once the most GPU is served
    power_w: float  # at least, where that much is served
    cpu_w: float  # of the solution found, like `gpu_w` and `placed`
    gpu_w: float
    placed: Floats  # tasks by [class, node type]
    least_w: Plane  # no placement draws less
    most_gpus: Plane | None = None  # no placement serves more; only from `solve`

    @property
    def grar(self) -> float:
        return self.gpu_served / self.gpu_requested if self.gpu_requested > 0 else 1.0


@dataclass(frozen=True)
class Aim:
    """What the LP minimises: watts above the idle datacenter, or, with `task_worth`, the worth of tasks not served."""

    least: Least = ()
    task_worth: Floats | None = None  # by class


@dataclass(frozen=True)
class Solution:
    value: float  # of the LP over the known patterns
    limit: float  # no solution over all patterns is below this
    plane: Plane  # no solution over all patterns is below it at any demand and service; reaches `limit` here
    placed: Floats  # tasks by [class, node type]
    socket_w: float  # above idle


class ConfigurationLp:
    """The LP of one datacenter, task classes and power profile; `solve` takes any counts. Patterns found are kept."""

    def __init__(self, datacenter: Datacenter, classes: Sequence[TaskClass], profile: PowerProfile = PAPER) -> None:
        self.classes = tuple(classes)
        tasks = task_records(self.classes, datacenter, profile.default_cpu)
        nodes: Any = datacenter.records(profile)
        _, first, self.count = np.unique(nodes.type, return_index=True, return_counts=True)
        self.nodes = nodes[first]  # one of each type, in the order of the type numbers
        self._gpus = self.count * self.nodes.gpus
        watts = draw_table_mw(datacenter.models, profile)[self.nodes.model] / 1000  # [types, 1001]
        self._fill_w = watts - watts[:, :1]  # above idle
        self._idle_cpu_w = float(self.count @ (self.nodes.sockets * self.nodes.socket_idle_mw)) / 1000
        self._base_w = int(nodes.base_mw.sum()) / 1000
        self.idle_w = total_power(self._idle_cpu_w, float(self._gpus @ watts[:, 0]), self._base_w)

        self.request_gpus = tasks.gpu_request / GPU_MILLI
        self.cpu_only_vcpu = np.where(tasks.num_gpu == 0, tasks.cpu_milli / 1000, 0.0)
        sharing = tasks.kind == 0
        exact = tasks.gpu_milli[sharing]
        tasks.gpu_milli[sharing] = rounded_sizes(exact)
        if (tasks.gpu_milli[sharing] != exact).any():
            # A GPU is then fuller than its pattern says, and a table may fall with the fill: the least from there on.
            self._fill_w[:, 1:] = np.minimum.accumulate(self._fill_w[:, :0:-1], axis=1)[:, ::-1]
        self._tasks = tasks
        self.sizes_milli = np.unique(tasks.gpu_milli[sharing])
        self._pricing = Pricing(self.sizes_milli)
        self._patterns = first_patterns(self.sizes_milli)
        self._too_much = np.inf  # GPUs: the least request so far that could not be served whole
        # The columns: x = tasks of a class on a type; e = watts of a type's sockets above idle; y = GPUs of a type that
        # are filled by a pattern. The rows are all of the form A x <= b; those of x and e do not change.
        self._pairs = allowed_pairs(tasks, self.nodes)
        self._rows, self._limits = capacity_rows(tasks, self.nodes, self.count, self._pairs, self.sizes_milli)
        k, t = self._pairs
        self.fits_some_node = np.bincount(k, minlength=len(self.classes)) > 0  # by class
        whole = np.where(tasks.kind > 0, tasks.num_gpu, 0)
        self._cost_w = np.append(whole[k] * self._fill_w[t, GPU_MILLI], np.ones(len(self.nodes)))

    def solve(self, counts: NDArray[Any]) -> Bound:
        """The bound for `counts` tasks of each class; fractions are expected counts.

        Most GPU first, then most vCPU of tasks without GPU, then least power: otherwise, where not everything fits,
        refusing tasks would save power. Power is that at the service found; the limit returned may exceed that service
        by `CLOSE_ENOUGH`.
        """
        asked = counts.astype(np.float64)
        fitting = asked * self.fits_some_node
        requested, cpu_only = float(self.request_gpus @ fitting), float(self.cpu_only_vcpu @ fitting)
        if requested < self._too_much:  # the most is then likely everything: one solve fewer (1.7 of 6.8 s of a curve)
            try:
                everything = Plane(0.0, self.request_gpus * self.fits_some_node)
                return replace(self.least_power(asked, requested, cpu_only), most_gpus=everything)
            except InfeasibleError:
                self._too_much = requested
        gpu = self._most(asked, self.request_gpus)
        most_gpu, plane = min(gpu.limit, requested), gpu.plane
        try:  # in the paper's traces all tasks without GPU always fit beside the most GPU
            return replace(self.least_power(asked, gpu.value, cpu_only), gpu_served=most_gpu, most_gpus=plane)
        except InfeasibleError:
            vcpu = self._most(asked, self.cpu_only_vcpu, ((self.request_gpus, gpu.value),))
            found = self.least_power(asked, gpu.value, vcpu.value)
            vcpu_served = min(vcpu.limit, cpu_only)
            return replace(found, gpu_served=most_gpu, cpu_only_served=vcpu_served, most_gpus=plane)

    def least_power(self, counts: NDArray[Any], gpu_served: float, cpu_only_served: float) -> Bound:
        """The least power of any placement that serves at least these GPUs and this vCPU of tasks without GPU."""
        asked = counts.astype(np.float64)
        found = self._minimise(asked, Aim(((self.request_gpus, gpu_served), (self.cpu_only_vcpu, cpu_only_served))))
        cpu_w = self._idle_cpu_w + found.socket_w
        return Bound(
            gpu_requested=float(self.request_gpus @ asked),
            gpu_served=gpu_served,
            cpu_only_requested=float(self.cpu_only_vcpu @ asked),
            cpu_only_served=cpu_only_served,
            power_w=self.idle_w + found.limit,
            cpu_w=cpu_w,
            gpu_w=self.idle_w - self._base_w + found.value - cpu_w,
            placed=found.placed,
            least_w=replace(found.plane, fixed=self.idle_w + found.plane.fixed),
        )

    def _most(self, counts: Floats, worth: Floats, least: Least = ()) -> Solution:
        """The most `worth` (per task, by class) that can be served; `limit` is an upper bound of it."""
        found = self._minimise(counts, Aim(least, worth))
        # Without a service that must be kept, the plane depends on the demand alone.
        plane = Plane(-found.plane.fixed, -found.plane.per_task)
        return replace(found, value=-found.value, limit=-found.limit, plane=plane)

    def _minimise(self, counts: Floats, aim: Aim) -> Solution:
        """Solve, price all patterns and add the best of each type, until all would gain at most `CLOSE_ENOUGH`."""
        # Of the columns x and e, and of one GPU by its fill.
        cost, fill_cost = self._cost_w, self._fill_w
        if aim.task_worth is not None:
            cost = np.append(-aim.task_worth[self._pairs[0]], np.zeros(len(self.nodes)))
            fill_cost = np.zeros_like(self._fill_w)
        for _ in range(MAX_ROUNDS):
            x, value, price = self._solve_known(counts, cost, fill_cost, aim.least)
            gpu_price, size_price = self._pattern_prices(price)
            fills = self._pricing.fills_milli
            gain, found = self._pricing.best(size_price, fill_cost[:, fills] + gpu_price[:, None])
            # Each GPU holds one pattern, so unknown patterns cannot gain more than this.
            missing = float(self._gpus @ np.maximum(gain, 0.0))
            patterns = np.unique(np.concatenate([self._patterns, found[(gain > 0) & (self._gpus > 0)]]), axis=0)
            if missing <= CLOSE_ENOUGH * max(1.0, abs(value)) or len(patterns) == len(self._patterns):
                return self._solution(value, missing, x, price)
            self._patterns = patterns
        raise RunError(f"the bound did not settle in {MAX_ROUNDS} rounds: please report the datacenter and the trace")

    def _solution(self, value: float, missing: float, x: Floats, price: Floats) -> Solution:
        """value = prices x limits; the possible gain of unknown patterns depends neither on demand nor on service."""
        (k, t), classes, types = self._pairs, len(self.classes), len(self.nodes)
        fixed, per_task, served = np.split(price, [len(self._limits), len(self._limits) + classes])
        per_gpu, per_vcpu = (-served * (1 - SLACK)).tolist() if len(served) == 2 else (0.0, 0.0)
        plane = Plane(float(fixed @ self._limits) - missing, per_task, per_gpu, per_vcpu)
        placed = np.zeros((classes, types))
        placed[k, t] = x[: len(k)]
        return Solution(value, value - missing, plane, placed, float(x[len(k) : len(k) + types].sum()))

    def _pattern_prices(self, price: Floats) -> tuple[Floats, Floats]:
        """Price of a GPU [types], and of room for one task [types, sizes]."""
        types, sizes = len(self.nodes), len(self.sizes_milli)
        return -price[:types], -price[types : types * (1 + sizes)].reshape(types, sizes)

    def _solve_known(
        self, counts: Floats, cost: Floats, fill_cost: Floats, least: Least
    ) -> tuple[Floats, float, Floats]:
        """The LP over the known patterns: solution, value, and the price of each row's limit (0 or below)."""
        from scipy import sparse  # 0.3 s to import, so only where it is needed
        from scipy.optimize import linprog

        types, sizes = len(self.nodes), len(self.sizes_milli)
        k, _ = self._pairs
        one_a_type = sparse.eye_array(types)
        of_patterns = sparse.vstack(
            [
                sparse.kron(one_a_type, np.ones((1, len(self._patterns)))),  # takes a GPU
                sparse.kron(one_a_type, -self._patterns.T),  # gives room to tasks of a size
            ]
        )
        more_rows = len(self._limits) - types * (1 + sizes) + len(counts) + len(least)
        demand = sparse.csr_array((np.ones(len(k)), (k, np.arange(len(k)))), shape=(len(counts), len(cost)))
        served = np.array([np.append(-worth[k], np.zeros(types)) for worth, _ in least]).reshape(len(least), len(cost))
        rows = sparse.hstack(
            [
                sparse.vstack([self._rows, demand, sparse.csr_array(served)]),
                sparse.vstack([of_patterns, sparse.csr_array((more_rows, of_patterns.shape[1]))]),
            ]
        )
        limits = np.concatenate([self._limits, counts, [-amount * (1 - SLACK) for _, amount in least]])
        costs = np.append(cost, fill_cost[:, self._patterns @ self.sizes_milli])
        solved = linprog(costs, rows.tocsr(), limits, method="highs")
        if solved.status == INFEASIBLE:
            raise InfeasibleError("no placement over the patterns known serves that much")
        if solved.status != 0:
            raise RunError(f"the bound could not be computed: {solved.message}")
        return solved.x, float(solved.fun), solved.ineqlin.marginals
