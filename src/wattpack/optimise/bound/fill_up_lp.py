"""The bound of a whole fill-up in which nothing moves: the least mean watts per GPU over several loads.

The configuration LP (lp.py) packs each load anew. Here what is placed stays: one LP has all loads, and a task that
comes between two loads is placed then or never. Every fill-up is a solution, so none that serves as much draws less in
the mean. The LP knows all tasks beforehand and merges the nodes of a type, so policies stay above it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import RunError
from wattpack.optimise.bound.lp import INFEASIBLE, SLACK, ConfigurationLp, Floats, InfeasibleError

CLOSE = 2e-4  # relative: pricing stops here; the possible remaining gain is taken off, so the bound stays valid
MOST_ROUNDS = 100


class Served(NamedTuple):
    """What a fill-up must serve at least, by load."""

    gpus: Floats
    cpu_only_vcpu: Floats


class FillUpLp(ConfigurationLp):
    """`ConfigurationLp` over several loads at once."""

    def least_w_per_gpu(self, counts: NDArray[Any], least: Served) -> float:
        """The least mean over the loads of watts per GPU served.

        counts: [loads, classes] tasks that have come by each load; means over several runs give a bound for the means.
        """
        came = counts.astype(np.float64)
        most = np.array([self._most_gpus(asked) for asked in came])
        weight = 1 / (np.maximum(most, 1e-9) * len(came))
        for _ in range(MOST_ROUNDS):
            value, missing, patterns = self._solve_loads(came, least, weight)
            known = len(self._patterns)
            self._patterns = np.unique(np.concatenate([self._patterns, patterns]), axis=0)
            if missing <= CLOSE * value or len(self._patterns) == known:
                break
        return value - missing

    def _most_gpus(self, asked: Floats) -> float:
        """GPUs that can be served at most; finds the patterns of this load on the way."""
        return min(self.solve(asked).gpu_served, float(self.request_gpus @ asked))

    def _solve_loads(self, came: Floats, least: Served, weight: Floats) -> tuple[float, float, NDArray[np.int64]]:
        """Over the patterns known: the value, what unknown patterns may take off it, and the best of those.

        Columns: tasks placed between two loads, for each load; then socket watts and patterns at each load.
        """
        from scipy import sparse  # 0.3 s to import, so only where it is needed
        from scipy.optimize import linprog

        (k, _), loads, types, sizes = self._pairs, len(came), len(self.nodes), len(self.sizes_milli)
        pairs = len(k)
        at_load = sparse.vstack(
            [
                sparse.kron(sparse.eye_array(types), np.ones((1, len(self._patterns)))),
                sparse.kron(sparse.eye_array(types), -self._patterns.T),
                sparse.csr_array((len(self._limits) - types * (1 + sizes), types * len(self._patterns))),
            ]
        )
        each = sparse.eye_array(loads)
        so_far = sparse.csr_array(np.tril(np.ones((loads, loads))))
        of_class = sparse.csr_array((np.ones(pairs), (k, np.arange(pairs))), shape=(came.shape[1], pairs))
        served = sparse.csr_array(-np.stack([self.request_gpus[k], self.cpu_only_vcpu[k]]))
        rows = sparse.block_array(
            [
                [
                    sparse.kron(so_far, self._rows[:, :pairs]),
                    sparse.kron(each, self._rows[:, pairs:]),
                    sparse.kron(each, at_load),
                ],
                [sparse.kron(each, of_class), None, None],
                [sparse.kron(so_far, served), None, None],
            ]
        )
        new = np.maximum(np.diff(came, axis=0, prepend=0), 0.0)
        wanted = np.stack([least.gpus, least.cpu_only_vcpu], axis=1) * (1 - SLACK)
        later = np.cumsum(weight[::-1])[::-1]  # a whole GPU draws its watts from the load at which it is placed
        fill_w = self._fill_w[:, self._patterns @ self.sizes_milli]
        cost = [np.outer(later, self._cost_w[:pairs]), np.outer(weight, np.ones(types)), np.outer(weight, fill_w)]
        solved = linprog(
            np.concatenate([one.ravel() for one in cost]),
            rows.tocsr(),
            np.concatenate([np.tile(self._limits, loads), new.ravel(), -wanted.ravel()]),
            method="highs",
        )
        if solved.status == INFEASIBLE:
            raise InfeasibleError("no fill-up over the patterns known serves that much")
        if solved.status != 0:
            raise RunError(f"the bound of the fill-up could not be computed: {solved.message}")
        prices = solved.ineqlin.marginals[: loads * len(self._limits)].reshape(loads, -1)
        missing, patterns = self._price_patterns(prices, weight)
        return float(solved.fun + self.idle_w * weight.sum()), missing, patterns

    def _price_patterns(self, prices: Floats, weight: Floats) -> tuple[float, NDArray[np.int64]]:
        """What unknown patterns may take off the value, and the best of them. prices: [loads, rows] of the limits."""
        missing, patterns = 0.0, [self._patterns[:0]]
        for price, weight_w in zip(prices, weight.tolist(), strict=True):
            gpu_price, size_price = self._pattern_prices(price)
            fill_cost = self._fill_w[:, self._pricing.fills_milli] * weight_w + gpu_price[:, None]
            gain, found = self._pricing.best(size_price, fill_cost)
            missing += float(self._gpus @ np.maximum(gain, 0.0))
            patterns.append(found[(gain > 0) & (self._gpus > 0)])
        return missing, np.concatenate(patterns)
