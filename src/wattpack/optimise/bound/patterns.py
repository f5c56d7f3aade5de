"""How sharing tasks can fill one GPU: the patterns of the configuration LP, priced by an exact knapsack.

A pattern says how many tasks of each size share one GPU. There are millions; the LP needs about a hundred, which
`Pricing` finds from the LP's prices. No pattern is excluded, so the bound holds for every placement.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattpack.model.power import GPU_MILLI

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Pricing:
    """The knapsack over the sizes: the best way to fill one GPU, given the worth of each task on it."""

    def __init__(self, sizes_milli: Integers) -> None:
        self.sizes_milli = sizes_milli
        # Sizes in the paper's traces are multiples of 10, so the table has 101 entries, not 1001.
        self._unit = int(np.gcd.reduce(np.append(sizes_milli, GPU_MILLI)))
        self._length = GPU_MILLI // self._unit + 1
        self._steps = sizes_milli // self._unit
        self.fills_milli = np.arange(self._length, dtype=np.int64) * self._unit

    def best(self, worth: Floats, cost: Floats) -> tuple[Floats, Integers]:
        """The largest worth - cost over all patterns, per node type, and the pattern that reaches it.

        worth: [types, sizes] of one task; cost: [types, fills] of a GPU with that fill. The fill is exact, so a cost
        that grows with the fill is charged for the actual fill.
        """
        types, steps = len(worth), self._steps
        value = np.full((types, self._length), -np.inf)
        value[:, 0] = 0.0
        last = np.full((types, self._length), -1, dtype=np.int64)  # the size added last
        for fill in range(1, self._length):
            fitting = int(np.searchsorted(steps, fill, side="right"))
            if fitting == 0:
                continue
            gains = value[:, fill - steps[:fitting]] + worth[:, :fitting]
            best = gains.argmax(axis=1)
            value[:, fill] = gains[np.arange(types), best]
            last[:, fill] = best
        gain = value - cost
        at = gain.argmax(axis=1)
        return gain[np.arange(types), at], np.stack([self._pattern(last[t], int(at[t])) for t in range(types)])

    def _pattern(self, last: Integers, fill: int) -> Integers:
        counts = np.zeros(len(self._steps), dtype=np.int64)
        while fill > 0:
            counts[last[fill]] += 1
            fill -= int(self._steps[last[fill]])
        return counts


def first_patterns(sizes_milli: Integers) -> Integers:
    """Each size alone on a GPU, and as often as it fits: with these the LP has a solution for every demand."""
    alone = np.eye(len(sizes_milli), dtype=np.int64)
    if len(sizes_milli) == 0:
        return alone
    return np.unique(np.concatenate([alone, alone * (GPU_MILLI // sizes_milli)[:, None]]), axis=0)
