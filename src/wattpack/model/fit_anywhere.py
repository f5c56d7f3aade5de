"""Which classes of tasks fit some node of the empty datacenter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wattpack.model.fit import FITS, fits
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile
from wattpack.model.tasks import TaskClass, task_records


def fit_anywhere(datacenter: Datacenter, classes: Sequence[TaskClass], profile: PowerProfile) -> Iterator[bool]:
    """For each class, looked at one by one; nodes alike are looked at once."""
    tasks, nodes = task_records(classes, datacenter, profile.default_cpu), datacenter.records(profile)
    kinds = [nodes[n] for n in dict(zip(datacenter.types.tolist(), range(len(datacenter)), strict=True)).values()]
    for k in range(len(classes)):
        yield any(fits(node, tasks[k]) == FITS for node in kinds)
