"""The bound with whole nodes: an LP over what single nodes hold, which does not merge the nodes of a type.

The configuration LP (lp.py) takes the nodes of a type for one large node. On fleets of few node types, or of nodes that
hold few tasks, its bound is 1 to 5 % lower (random fleets). Here a column is a pattern of a whole node
(node_patterns.py), so tasks that do not fit a node together are not together in the bound. Column generation: from any
prices of tasks and services, the best pattern of each node type gives a bound (weak duality), so it may stop any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.tasks import TaskClass
from wattpack.optimise.bound.first_nodes import packed_nodes
from wattpack.optimise.bound.lp import Aim, ConfigurationLp, Floats, InfeasibleError, Plane, Solution
from wattpack.optimise.bound.node_columns import NodeColumns
from wattpack.optimise.bound.node_patterns import NodePattern, NodePricing
from wattpack.optimise.bound.node_program import Found, NodeProgram, Prices, Services, placed

ENOUGH = 1e-3  # relative: how far the bound may be below the LP over the patterns known; a third takes 20 % longer
ENOUGH_SERVED = 1e-4  # the same of the most service
# Relative: the configuration LP is kept where a solution over whole nodes is at most this much above it.
WORTHWHILE = 2e-3
MOST_ROUNDS = 150
# Patterns are priced between the prices of the best bound so far and those of the LP, which jump: on fleets 0 and 2
# 0.5 and 0.8 save a tenth to a third of the rounds against 0, and the bound is close to the LP much earlier.
SMOOTH = 0.8
PACKED = 300  # nodes of each type that are packed to start with, with as large a share of the tasks
# What a GPU or vCPU that is not served costs, in multiples of what it is worth in the configuration LP; and how much
# more where the LP has settled and not everything is served.
FAR_ABOVE, DEARER = 4.0, 8.0
CHECKED = 25  # rounds after which a service that is not reached is checked
IMPOSSIBLE = 2e-4  # relative: a service is impossible if prices prove that so much of it is too much

# Larger cases stay with the configuration LP. The built-in datacenter has 15 node types: a load would take 1 to 5 s
# instead of 0.1 s, and its bound would be at most 0.3 % higher.
MOST_TYPES, MOST_CLASSES = 12, 500
MOST_WORK = 60_000_000  # steps of the knapsacks of a round, 0.1 s; random fleets have at most 21 million


class _Priced(NamedTuple):
    """What prices say: a bound, and the patterns that gain most."""

    limit: float
    plane: Plane
    patterns: list[tuple[int, NodePattern]]
    prices: Prices

    def at(self, counts: Floats, services: Services) -> _Priced:
        """The same prices for another demand."""
        limit = self.plane.fixed + float(self.plane.per_task @ counts) + float(self.prices.service @ services.amounts)
        return self._replace(limit=limit)


class NodePatternLp(ConfigurationLp):
    """`ConfigurationLp` with a bound at least as high at any service. Patterns found are kept between solves."""

    def __init__(self, datacenter: Datacenter, classes: Sequence[TaskClass], profile: PowerProfile = PAPER) -> None:
        super().__init__(datacenter, classes, profile)
        tasks, (k, t), types = self._tasks, self._pairs, len(self.nodes)
        fills = self._pricing.fills_milli
        self._of_node = [
            NodePricing(node, tasks, k[t == n], fills, self._fill_w[n]) for n, node in enumerate(self.nodes)
        ]
        self._empty_w = float(self.count @ np.array([one.empty_w for one in self._of_node]))
        self._allowed = np.zeros((len(self.classes), types))
        self._allowed[k, t] = 1.0
        of_node = [(tasks.memory_mib, self.nodes.memory_mib), (tasks.cpu_milli, self.nodes.cpu_milli)]
        fluid = np.array([amount / np.maximum(has, 1)[:, None] for amount, has in of_node])
        free = np.unique(np.concatenate([one.free for one in self._of_node]))
        self._program = NodeProgram(self.count, fluid, free)
        self._columns = NodeColumns(types, len(self.classes))
        self._before = list[_Priced]()  # the best prices of solves before

    @property
    def work(self) -> int:
        """Steps of the knapsacks of a round."""
        return sum(one.work for one in self._of_node)

    def _minimise(self, counts: Floats, aim: Aim) -> Solution:
        merged = super()._minimise(counts, aim)
        services = Services.of(aim, len(self.classes))
        self._add_packed(counts, merged.placed)
        first = self._first_priced(counts, aim, services, merged)
        found, best = self._settled(counts, aim, services, merged, first)
        if aim.task_worth is None:
            self._before.append(best._replace(patterns=[]))
            if best.limit <= merged.limit:
                return merged
        limit, plane = (best.limit, best.plane) if best.limit > merged.limit else (merged.limit, merged.plane)
        on_types = placed(self._columns, found.nodes, len(self.nodes))
        if aim.task_worth is not None:
            # What both LPs serve, so that it can be asked for: here some tasks without GPU take no memory.
            return Solution(max(found.cost, merged.value), limit, plane, on_types, 0.0)
        # Sockets and GPUs of the solution found, in the same shares as far as the bound goes.
        socket_w = float(found.nodes @ self._columns.socket_w)
        above_w, added_w = limit - self._empty_w, found.cost
        return Solution(limit, limit, plane, on_types, self._empty_w + socket_w * above_w / max(added_w, 1e-9))

    def _settled(
        self, counts: Floats, aim: Aim, services: Services, merged: Solution, best: _Priced
    ) -> tuple[Found, _Priced]:
        """The LP over the patterns known in the end, and the best bound of any prices."""
        beside_w, empty_w = (self.idle_w, self._empty_w) if aim.task_worth is None else (0.0, 0.0)
        enough, worthwhile = (ENOUGH, WORTHWHILE) if aim.task_worth is None else (ENOUGH_SERVED, ENOUGH_SERVED)
        unserved_price = self._first_unserved_price(aim, merged)
        patterns = best.patterns
        for number in range(1, MOST_ROUNDS + 1):
            self._columns.add(patterns)
            found = self._program.solve(self._columns, counts, services, aim.task_worth, unserved_price)
            value, scale = found.value + empty_w, beside_w + abs(found.value + empty_w)
            settled = value - best.limit <= enough * scale
            if found.served_all and (settled or value - merged.limit <= worthwhile * scale):
                break
            patterns = []
            if not settled:
                for prices in (found.prices.toward(best.prices, SMOOTH), found.prices):
                    priced = self._priced(counts, aim, services, prices)
                    best = priced if priced.limit > best.limit else best
                    patterns = self._columns.unknown(priced.patterns)
                    if patterns:
                        break
            if not patterns and found.served_all:
                break
            if not found.served_all and (not patterns or number % CHECKED == 0):
                self._check_possible(counts, aim, services, found.prices)
            if not patterns:
                unserved_price = unserved_price * DEARER
            elif number < MOST_ROUNDS:
                self._columns.drop(found.too_dear)
        return found, best

    def _add_packed(self, counts: Floats, on_types: Floats) -> None:
        """Nodes packed as the configuration LP places the tasks, and with the tasks of all nodes."""
        for n, node in enumerate(self.nodes):
            of_type = np.minimum(on_types[:, n], counts) * (PACKED / self.count[n])
            of_all = counts * self._allowed[:, n] * (PACKED / self.count.sum())
            for left, small in ((np.floor(of_type + 0.5), False), (np.ceil(of_type), True), (np.ceil(of_all), False)):
                packed = packed_nodes(node, self._tasks, left, self._of_node[n], small)
                self._columns.add([(n, one) for one in packed])

    def _first_priced(self, counts: Floats, aim: Aim, services: Services, merged: Solution) -> _Priced:
        """The best of what is known: the prices of the configuration LP, and of solves before."""
        service, fluid = np.zeros(len(services.amounts)), np.zeros((2, len(self.nodes)))
        if aim.task_worth is not None:
            return self._priced(counts, aim, services, Prices(-merged.plane.per_task, service, fluid))
        service[:] = merged.plane.per_gpu, merged.plane.per_vcpu
        here = self._priced(counts, aim, services, Prices(-merged.plane.per_task, service, fluid))
        return max([here, *(one.at(counts, services) for one in self._before)], key=lambda one: one.limit)

    def _first_unserved_price(self, aim: Aim, merged: Solution) -> Floats:
        if aim.task_worth is not None:
            return np.full(len(aim.least), FAR_ABOVE * max(1.0, float(aim.task_worth.max(initial=0.0))))
        of_merged = np.array([merged.plane.per_gpu, merged.plane.per_vcpu])
        return FAR_ABOVE * np.maximum(of_merged, [max(1.0, float(self._fill_w.max())), 1.0])

    def _check_possible(self, counts: Floats, aim: Aim, services: Services, prices: Prices) -> None:
        """`InfeasibleError` if the prices, without watts, prove that the service is impossible."""
        if aim.task_worth is not None:
            return
        no_worth = Aim(aim.least, np.zeros(len(self.classes)))
        lacking = self._priced(counts, no_worth, services, prices).limit
        if lacking > IMPOSSIBLE * float(prices.service @ services.amounts):
            raise InfeasibleError("no placement over whole nodes serves that much")

    def _priced(self, counts: Floats, aim: Aim, services: Services, prices: Prices) -> _Priced:
        """The bound at these prices, with the best pattern of each node type; it needs no solution of the LP."""
        worth, task_price, free = prices.service @ services.worth - prices.task, prices.task.copy(), self._program.free
        worth += 0.0 if aim.task_worth is None else aim.task_worth
        # Tasks that count as served wherever they are cost at least what they are worth.
        task_price[free] += np.maximum(worth[free], 0.0)
        worth[free] = 0.0
        gain, patterns = np.zeros(len(self.nodes)), list[tuple[int, NodePattern]]()
        for n, of_node in enumerate(self._of_node):
            of_type = worth - prices.fluid[:, n] @ self._program.fluid[:, n]
            gain[n], best = of_node.best(of_type, aim.task_worth is None)
            patterns += [(n, one) for one in best]
        fixed = -float(self.count @ (gain + prices.fluid.sum(axis=0)))
        fixed += self._empty_w if aim.task_worth is None else 0.0
        per_gpu, per_vcpu = prices.service.tolist() if len(services.amounts) == 2 else (0.0, 0.0)
        plane = Plane(fixed, -task_price, per_gpu, per_vcpu)
        return _Priced(0.0, plane, patterns, prices).at(counts, services)


def bound_lp(
    datacenter: Datacenter, classes: Sequence[TaskClass], profile: PowerProfile = PAPER, whole_nodes: bool = False
) -> ConfigurationLp:
    """The LP of a bound; with `whole_nodes` the one over whole nodes, where the case is small enough for it."""
    if whole_nodes and len(np.unique(datacenter.types)) <= MOST_TYPES and len(classes) <= MOST_CLASSES:
        found = NodePatternLp(datacenter, classes, profile)
        if found.work <= MOST_WORK:
            return found
    return ConfigurationLp(datacenter, classes, profile)
