"""The fleet and workload that members of the portfolio are tried on: the same for any order of nodes and tasks.

A large fleet is scaled down in proportion, so that a choice takes a second or two. What is counted are tasks and nodes,
not seconds: every machine chooses alike.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import Workload

MOST_NODES = 1500
NODES_TIMES_CLASSES = 400_000  # each node keeps what it can hold of every class: traces with many classes get fewer


def in_order(datacenter: Datacenter) -> Datacenter:
    """The same nodes sorted by what they are, with numbers for names."""
    models, model = _sorted_texts(datacenter.models, datacenter.model)
    cpu_models, cpu_model = _sorted_texts(datacenter.cpu_models, datacenter.cpu_model)
    same = replace(datacenter, models=models, model=model, cpu_models=cpu_models, cpu_model=cpu_model)
    order = np.lexsort(list(columns_of(same).values())[::-1])
    return replace(same.ordered(order), names=tuple(str(number) for number in range(len(same))), name="fleet")


def columns_of(datacenter: Datacenter) -> dict[str, NDArray[Any]]:
    """The columns of a datacenter by name, whichever it has."""
    found = {field.name: getattr(datacenter, field.name) for field in fields(datacenter)}
    return {name: column for name, column in found.items() if isinstance(column, np.ndarray)}


def _sorted_texts(texts: tuple[str, ...], index: NDArray[np.int64]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    ranked = sorted(texts)
    place = np.array([ranked.index(text) for text in texts], dtype=np.int64)
    return tuple(ranked), place[index]


def counted(trace: Workload) -> Workload:
    """The classes of a trace with their counts, in an order of its own."""
    counts: Counter[Any] = Counter()
    for task, count in zip(trace.classes, trace.counts().tolist(), strict=True):
        counts[task] += count
    return Workload.from_counts(((task, count) for task, count in sorted(counts.items()) if count > 0), name=trace.name)


def scaled(fleet: Datacenter, trace: Workload, most_tasks: int) -> Datacenter:
    """At most as many nodes of `fleet`, evenly spread over the sorted ones, as `most_tasks` tasks of `trace` fill."""
    mean_milli = float(trace.gpu_request_milli().mean())
    tasks = fleet.gpu_milli / mean_milli
    most = min(MOST_NODES, NODES_TIMES_CLASSES // len(trace.classes), int(len(fleet) * most_tasks / tasks))
    kept = min(len(fleet), max(most, 1))
    order = (np.arange(kept, dtype=np.int64) * len(fleet) + len(fleet) // 2) // kept
    found = fleet.ordered(order)
    return fleet if found.gpu_milli == 0 else found


def runs_for(fleet: Datacenter, trace: Workload, tasks: int, least: int, most: int) -> int:
    """How many seeds take in about `tasks` tasks: one task that is refused weighs more in a small fleet."""
    each = fleet.gpu_milli / float(trace.gpu_request_milli().mean())
    return int(min(most, max(least, ceil(tasks / each))))
