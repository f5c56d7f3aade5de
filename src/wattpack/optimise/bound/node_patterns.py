"""What one node can hold: the patterns of whole nodes, priced by an exact knapsack over GPUs, parts of a GPU and vCPU.

A pattern says how many tasks of each class are together on one node. vCPU are counted in steps, rounded down for each
task, so a pattern may hold a little more than a node does, and never less: what is worked out from the best pattern is
a bound for every placement. Memory and the limit of tasks per node are left out here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.jit import kernel
from wattpack.model.power import GPU_MILLI, cpu_power_mw
from wattpack.model.records import Floats, Integers

STEPS_MILLI = (100, 200, 500, 1000, 2000, 5000)  # of vCPU: the first that cuts a node into at most so many steps
# On 16 settings of random fleets 320 and 1280 steps give a bound 0.10 % lower and 0.03 % higher than 640.
MOST_STEPS = 640
KEPT = 6  # patterns that one pricing returns, at most: the best with each number of GPUs in use
IMPOSSIBLE = -1e300
NOTHING, FEWER_GPUS = -1, -2  # instead of the item added last


@kernel
def price_gpu(sizes: Integers, vcpu: Integers, worth: Floats, value: Floats, last: Integers) -> None:
    """The most that tasks on one GPU are worth, by exact fill and at most so many steps of vCPU.

    sizes, vcpu, worth: of the sharing tasks, sizes in units of the table. value: float64[fills, steps], overwritten;
    last: int64[fills, steps], overwritten with the task added last.
    """
    fills, steps = value.shape
    for c in range(steps):
        value[0, c] = 0.0
        last[0, c] = NOTHING
    for u in range(1, fills):
        for c in range(steps):
            value[u, c] = IMPOSSIBLE
            last[u, c] = NOTHING
        for i in range(len(sizes)):
            if sizes[i] > u:
                continue
            for c in range(vcpu[i], steps):
                found = value[u - sizes[i], c - vcpu[i]] + worth[i]
                if found > value[u, c]:
                    value[u, c] = found
                    last[u, c] = i


@kernel
def price_node(gpus: Integers, vcpu: Integers, worth: Floats, value: Floats, last: Integers) -> None:
    """The most that items on one node are worth, with at most so many GPUs and steps of vCPU; each as often as it fits.

    gpus, vcpu, worth: of the items; one without GPU needs a step of vCPU at least. value: float64[GPUs + 1, steps],
    overwritten; last: int64[GPUs + 1, steps], overwritten with the item added last.
    """
    rows, steps = value.shape
    for g in range(rows):
        for c in range(steps):
            value[g, c] = 0.0 if g == 0 else value[g - 1, c]
            last[g, c] = NOTHING if g == 0 else FEWER_GPUS
        for i in range(len(gpus)):
            if gpus[i] == 0 or gpus[i] > g:
                continue
            for c in range(vcpu[i], steps):
                found = value[g - gpus[i], c - vcpu[i]] + worth[i]
                if found > value[g, c]:
                    value[g, c] = found
                    last[g, c] = i
        for i in range(len(gpus)):
            if gpus[i] > 0:
                continue
            for c in range(vcpu[i], steps):
                found = value[g, c - vcpu[i]] + worth[i]
                if found > value[g, c]:
                    value[g, c] = found
                    last[g, c] = i


@dataclass(frozen=True)
class NodePattern:
    """What one node may hold, and what that draws above an idle node."""

    counts: NDArray[np.int64]  # by class
    gpu_w: float
    socket_w: float

    @property
    def power_w(self) -> float:
        return self.gpu_w + self.socket_w


class _SharedGpu(NamedTuple):
    """A GPU with sharing tasks."""

    steps: int  # of vCPU, at most
    gain: float
    parts: list[int]  # classes of its tasks


class NodePricing:
    """The knapsack of one node type."""

    def __init__(
        self,
        node: Any,
        tasks: Any,
        classes: NDArray[np.int64],
        fills_milli: NDArray[np.int64],
        fill_w: NDArray[np.float64],
    ) -> None:
        """node: empty; tasks: records of all classes; classes: those that fit it. fills_milli: of a GPU, all that sums
        of sharing sizes come to, equally far apart; fill_w: [1001] watts of a GPU above idle by its fill."""
        self._fill_w, self._fills, self._gpus = fill_w, fills_milli, int(node.gpus)
        cpu_milli = int(node.cpu_milli)
        step = next((one for one in STEPS_MILLI if cpu_milli // one < MOST_STEPS), cpu_milli // MOST_STEPS + 1)
        self._steps = cpu_milli // step + 1
        self.vcpu = tasks.cpu_milli // step  # steps, by class
        self._size = tasks.gpu_milli // max(1, int(fills_milli[1]))
        self._whole = np.where(tasks.kind > 0, tasks.num_gpu, 0)
        without_gpu, sharing = tasks.num_gpu[classes] == 0, tasks.kind[classes] == 0
        # A task without GPU that takes no step could be on a node any number of times.
        self.free = classes[without_gpu & (self.vcpu[classes] == 0)]
        self._sharing = classes[sharing]
        self._others = np.setdiff1d(classes[~sharing], self.free)
        left = cpu_milli - np.arange(self._steps) * step
        watts = np.array([cpu_power_mw(node, milli) for milli in left.tolist()]) / 1000
        self._socket_w: NDArray[np.float64] = watts - watts[0]  # above an empty node, by steps in use
        self.empty_w = float(watts[0]) - int(node.sockets * node.socket_idle_mw) / 1000

    @property
    def work(self) -> int:
        """Steps of the two loops that price this node type, at most."""
        sharing, others = len(self._rooms(self._sharing)), len(self._rooms(self._others))
        items = others + min(self._steps, sharing * len(self._fills))
        return self._steps * (len(self._fills) * sharing + (self._gpus + 1) * items)

    def pattern(self, counts: NDArray[np.int64], fills_milli: NDArray[np.int64]) -> NodePattern:
        """fills_milli: of the node's GPUs."""
        return NodePattern(counts, float(self._fill_w[fills_milli].sum()), float(self._socket_w[counts @ self.vcpu]))

    def best(self, worth: NDArray[np.float64], less_watts: bool) -> tuple[float, list[NodePattern]]:
        """The largest worth of any pattern, less its watts or not, and the patterns that come near it, the best first.

        worth: by class.
        """
        cost = float(less_watts)
        fill_w = cost * self._fill_w
        shared = self._shared_gpus(worth, fill_w)
        others = self._best_of_each_room(self._others, worth - fill_w[GPU_MILLI] * self._whole)
        gpus = np.append(np.ones(len(shared), dtype=np.int64), self._whole[others])
        vcpu = np.append(np.array([steps for steps, _, _ in shared], dtype=np.int64), self.vcpu[others])
        gain = np.append([gain for _, gain, _ in shared], worth[others] - fill_w[GPU_MILLI] * self._whole[others])
        if len(gain) == 0:
            return 0.0, []
        value = np.empty((self._gpus + 1, self._steps))
        last = np.empty(value.shape, dtype=np.int64)
        price_node(gpus, vcpu, gain, value, last)
        net = value - cost * self._socket_w
        found = list[tuple[float, NodePattern]]()
        for g in range(self._gpus + 1):
            c = int(net[g].argmax())
            if net[g, c] > (found[-1][0] if found else 0.0):  # with each number of GPUs that is worth more than less
                found.append((float(net[g, c]), self._made_of(last, g, c, gpus, vcpu, shared, others)))
        found = found[: -KEPT - 1 : -1]
        return (found[0][0], [pattern for _, pattern in found]) if found else (0.0, [])

    def _made_of(
        self,
        last: NDArray[np.int64],
        row: int,
        steps: int,
        gpus: NDArray[np.int64],
        vcpu: NDArray[np.int64],
        shared: Sequence[_SharedGpu],
        others: NDArray[np.int64],
    ) -> NodePattern:
        """The pattern behind a cell of `price_node`."""
        counts, fills = np.zeros(len(self.vcpu), dtype=np.int64), list[int]()
        while (item := int(last[row, steps])) != NOTHING:
            if item == FEWER_GPUS:
                row -= 1
                continue
            if item < len(shared):
                np.add.at(counts, shared[item].parts, 1)
                fills.append(int(self._size[shared[item].parts].sum() * self._fills[1]))
            else:
                counts[others[item - len(shared)]] += 1
                fills += [GPU_MILLI] * int(gpus[item])
            row, steps = row - int(gpus[item]), steps - int(vcpu[item])
        return self.pattern(counts, np.array(fills, dtype=np.int64))

    def _rooms(self, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.unique(np.stack([self._whole, self._size, self.vcpu])[:, classes], axis=1).T

    def _best_of_each_room(self, classes: NDArray[np.int64], worth: NDArray[np.float64]) -> NDArray[np.int64]:
        """Those worth something for which no other class takes as much GPU, no more vCPU, and is worth as much."""
        classes = classes[worth[classes] > 0]
        order = np.lexsort((-worth[classes], self.vcpu[classes], self._size[classes], self._whole[classes]))
        classes = classes[order]
        kept, before, most = list[int](), (-1, -1), 0.0
        for k, gpus, size, of_task in zip(
            classes.tolist(),
            self._whole[classes].tolist(),
            self._size[classes].tolist(),
            worth[classes].tolist(),
            strict=True,
        ):
            if (gpus, size) != before or of_task > most:
                kept.append(k)
                before, most = (gpus, size), of_task
        return np.array(kept, dtype=np.int64)

    def _shared_gpus(self, worth: NDArray[np.float64], fill_w: NDArray[np.float64]) -> list[_SharedGpu]:
        """A GPU with sharing tasks as an item, one for each number of steps from which more is worth having."""
        sharing = self._best_of_each_room(self._sharing, worth)
        if len(sharing) == 0 or self._gpus == 0:
            return []
        value = np.empty((len(self._fills), self._steps))
        last = np.empty(value.shape, dtype=np.int64)
        price_gpu(self._size[sharing], self.vcpu[sharing], worth[sharing], value, last)
        net = value - fill_w[self._fills][:, None]
        fill = net.argmax(axis=0)
        best = net[fill, np.arange(self._steps)]
        more = best > np.maximum.accumulate(np.append(0.0, best[:-1]))
        found = []
        for steps in np.flatnonzero(more).tolist():
            parts, u, used = list[int](), int(fill[steps]), steps
            while u > 0:
                k = int(sharing[last[u, used]])
                parts.append(k)
                u, used = u - int(self._size[k]), used - int(self.vcpu[k])
            found.append(_SharedGpu(steps, float(best[steps]), parts))
        return found
