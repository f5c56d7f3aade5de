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
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass, Workload

MOST_NODES = 1500
# A score of FGD looks at every class of the target: traces with many classes are tried on fewer tasks. Of still more,
# shares of a GPU are rounded up to twentieths and every n-th task is taken: 6,000 classes took minutes.
MANY_CLASSES, LEAST_SHARE = 200, 0.4
MOST_CLASSES, SAMPLE, SHARE_MILLI = 500, 150, 50


def in_order(datacenter: Datacenter) -> Datacenter:
    """The same nodes sorted by what they are, with numbers for names."""
    models, model = _ranked(datacenter.models, datacenter.model)
    cpu_models, cpu_model = _ranked(datacenter.cpu_models, datacenter.cpu_model)
    pools, pool = _ranked(datacenter.pools, datacenter.pool)
    same = replace(datacenter, model=model, models=models, cpu_model=cpu_model, cpu_models=cpu_models)
    same = replace(same, pool=pool, pools=pools)
    order = np.lexsort(list(columns_of(same).values())[::-1])
    return replace(same.ordered(order), names=tuple(str(number) for number in range(len(same))), name="fleet")


def columns_of(datacenter: Datacenter) -> dict[str, NDArray[Any]]:
    """The columns of a datacenter by name, whichever it has."""
    found = {field.name: getattr(datacenter, field.name) for field in fields(datacenter)}
    return {name: column for name, column in found.items() if isinstance(column, np.ndarray)}


def _ranked(names: tuple[Any, ...], index: NDArray[np.int64]) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """The names sorted, and the index of each node's name among them."""
    ranked = sorted(names, key=repr)
    place = np.array([ranked.index(name) for name in names], dtype=np.int64)
    return tuple(ranked), place[index]


def counted(trace: Workload) -> Workload:
    """The classes of a trace with their counts, sorted by what they ask for; of very many, a sample in proportion."""
    counts: Counter[TaskClass] = Counter()
    for task, count in zip(trace.classes, trace.counts().tolist(), strict=True):
        counts[task] += count
    ranked = sorted(
        ((task, count) for task, count in counts.items() if count > 0),
        key=lambda pair: (pair[0].num_gpu, pair[0].gpu_milli, pair[0].gpu_spec, pair[0]),
    )
    found = Workload.from_counts(ranked, name=trace.name)
    if len(ranked) <= MOST_CLASSES:
        return found
    places = (np.arange(SAMPLE, dtype=np.int64) * len(found) + len(found) // 2) // SAMPLE
    kept = Counter(_rounded(found.classes[k]) for k in found.sequence[places].tolist())
    return Workload.from_counts(kept.items(), name=trace.name)


def _rounded(task: TaskClass) -> TaskClass:
    """With one of few shares of a GPU."""
    return task._replace(gpu_milli=min(GPU_MILLI, -(-task.gpu_milli // SHARE_MILLI) * SHARE_MILLI))


def scaled(fleet: Datacenter, trace: Workload, most_tasks: int) -> Datacenter:
    """At most as many nodes of `fleet`, evenly spread over the sorted ones, as `most_tasks` tasks of `trace` fill."""
    mean_milli = float(trace.gpu_request_milli().mean())
    tasks = fleet.gpu_milli / mean_milli
    share = max(LEAST_SHARE, min(1.0, MANY_CLASSES / len(trace.classes)))
    most = min(MOST_NODES, int(len(fleet) * share * most_tasks / tasks))
    kept = min(len(fleet), max(most, 1))
    order = (np.arange(kept, dtype=np.int64) * len(fleet) + len(fleet) // 2) // kept
    found = fleet.ordered(order)
    return fleet if found.gpu_milli == 0 else found


def runs_for(fleet: Datacenter, trace: Workload, tasks: int, least: int, most: int) -> int:
    """How many seeds take in about `tasks` tasks: one task that is refused weighs more in a small fleet."""
    each = fleet.gpu_milli / float(trace.gpu_request_milli().mean())
    return int(min(most, max(least, ceil(tasks / each))))
