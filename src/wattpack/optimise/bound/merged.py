"""Fewer task classes for the bound: similar classes become one that is no larger than any of them.

A task that is replaced by a smaller one fits wherever it did and draws no more: a bound for the merged classes holds.
It is loose, but its prices are good: charging the real classes at them gives a bound that is nearly tight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass
from wattpack.optimise.bound.lp import rounded_sizes

# Measured on 3,000 made-up classes with 50 sharing sizes, built-in datacenter: 76 s for the first solve and 1 to 20 s
# for the next ones; merged to 217 classes 6 s and 0.1 to 1.5 s, with the same bound to six digits.
MOST_CLASSES = 250
# vCPU and memory of classes that become one differ by less than these factors; memory seldom binds.
FACTORS = ((1.0, 2.0), (1.05, 4.0), (1.1, 4.0), (1.2, 4.0), (1.5, 8.0), (2.0, 8.0), (4.0, 64.0), (64.0, 64.0))


def merged_classes(
    classes: Sequence[TaskClass], most: int = MOST_CLASSES
) -> tuple[tuple[TaskClass, ...], NDArray[np.int64]]:
    """At most about `most` classes, and which of them stands for each of `classes`. Few classes stay as they are."""
    found, place = tuple(classes), np.arange(len(classes))
    if len(classes) <= most:
        return found, place
    sharing = np.array([0 < task.gpu_milli < GPU_MILLI for task in classes])
    milli = np.array([task.gpu_milli for task in classes])
    milli[sharing] = rounded_sizes(milli[sharing])
    for vcpu_factor, memory_factor in FACTORS:
        places: dict[tuple[object, ...], int] = {}
        smallest: list[TaskClass] = []
        for i, task in enumerate(classes):
            key = (
                _step(task.cpu_milli, vcpu_factor),
                _step(task.memory_mib, memory_factor),
                milli[i],
                task._replace(cpu_milli=0, memory_mib=0, gpu_milli=0),
            )
            place[i] = places.setdefault(key, len(places))
            if place[i] == len(smallest):
                smallest.append(task._replace(gpu_milli=int(milli[i])))
            kept = smallest[place[i]]
            least = min(kept.cpu_milli, task.cpu_milli), min(kept.memory_mib, task.memory_mib)
            smallest[place[i]] = kept._replace(cpu_milli=least[0], memory_mib=least[1])
        found = tuple(smallest)
        if len(found) <= most:
            break
    return found, place


def _step(amount: int, factor: float) -> int:
    """The same for amounts that lie between two powers of `factor`; with a factor of 1, for equal amounts."""
    return amount if factor == 1 or amount == 0 else 1 + int(np.log(amount) / np.log(factor))
