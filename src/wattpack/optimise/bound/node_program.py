"""The LP over the patterns of whole nodes that are known: how many nodes of each type hold which pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.errors import RunError
from wattpack.optimise.bound.lp import SLACK, Aim, Floats
from wattpack.optimise.bound.node_columns import NodeColumns

SERVED = 1e-7  # relative: less that is not served is the solver's rounding


class Prices(NamedTuple):
    """Of the LP's rows, 0 or above. The rows of nodes have none: what a node may cost follows from the others."""

    task: Floats  # by class: of the demand
    service: Floats
    fluid: Floats  # [2, types]: of a type's memory and vCPU, taken for one large node

    def toward(self, other: Prices, share: float) -> Prices:
        return Prices(*((1 - share) * mine + share * theirs for mine, theirs in zip(self, other, strict=True)))


class Services(NamedTuple):
    """What must be served."""

    worth: Floats  # [services, classes]: of a task
    amounts: Floats

    @classmethod
    def of(cls, aim: Aim, classes: int) -> Services:
        worth = np.array([worth for worth, _ in aim.least], dtype=np.float64).reshape(-1, classes)
        return cls(worth, np.array([amount * (1 - SLACK) for _, amount in aim.least]))


class Found(NamedTuple):
    value: float  # what is not served included, at its price
    cost: float  # without it
    served_all: bool
    nodes: Floats  # by column
    too_dear: Floats  # by column: by how much it would have to cost less to be used
    prices: Prices


@dataclass(frozen=True)
class NodeProgram:
    """The rows that do not depend on the demand."""

    count: NDArray[np.int64]  # nodes of each type
    fluid: Floats  # [2, types, classes]: memory and vCPU of a task, in units of a node
    free: NDArray[np.int64]  # classes that count as served wherever they are

    def solve(
        self, columns: NodeColumns, counts: Floats, services: Services, worth: Floats | None, unserved_price: Floats
    ) -> Found:
        """Least watts, or, with `worth` (of a task, by class), most worth. unserved_price: of each service."""
        from scipy import sparse  # 0.3 s to import, so only where it is needed
        from scipy.optimize import linprog

        types, classes, known, free = len(self.count), len(counts), len(columns), len(self.free)
        cost = np.append(columns.power_w, np.zeros(free))
        if worth is not None:
            cost = -np.append(columns.counts @ worth, worth[self.free])

        def of_type(values: Floats) -> sparse.csr_array:
            return sparse.csr_array((values, (columns.type_of, np.arange(known))), shape=(types, known))

        held = columns.counts.astype(np.float64)
        fluid = [of_type((held * of_class[columns.type_of]).sum(axis=1)) for of_class in self.fluid]
        # Further columns: tasks that count as served, and what is not served of the services.
        alone = sparse.csr_array((np.ones(free), (self.free, np.arange(free))), shape=(classes, free))
        wanted = len(services.amounts)
        of_nodes = [sparse.vstack([of_type(np.ones(known)), *fluid]), None]
        demand = [sparse.csr_array(held.T), alone]
        served = [sparse.csr_array(-(services.worth @ held.T)), sparse.csr_array(-services.worth[:, self.free])]
        rows = [[*of_nodes, None], [*demand, None], [*served, -sparse.eye_array(wanted)]]
        solved = linprog(
            np.append(cost, unserved_price),
            sparse.block_array(rows if wanted else [of_nodes, demand]).tocsr(),
            np.concatenate([np.tile(self.count, 3), counts, -services.amounts]),
            method="highs",
        )
        if solved.status != 0:
            raise RunError(f"the bound could not be computed: {solved.message}")
        price = np.maximum(-solved.ineqlin.marginals, 0.0)
        _, fluid_price, task, service = np.split(price, [types, 3 * types, 3 * types + classes])
        unserved = float(solved.x[known + free :].sum())
        return Found(
            value=float(solved.fun),
            cost=float(cost @ solved.x[: known + free]),
            served_all=unserved <= SERVED * max(1.0, float(services.amounts.sum())),
            nodes=solved.x[:known],
            too_dear=solved.lower.marginals[:known],
            prices=Prices(task, service, fluid_price.reshape(2, types)),
        )


def placed(columns: NodeColumns, nodes: Sequence[float] | Floats, types: int) -> Floats:
    """Tasks by [class, node type]."""
    on_type = np.zeros((types, len(nodes)))
    on_type[columns.type_of, np.arange(len(nodes))] = nodes
    found: Floats = (on_type @ columns.counts).T
    return found
