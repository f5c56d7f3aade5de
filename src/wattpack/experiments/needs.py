"""Checks of inputs that every experiment makes, with the same message in all commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wattpack.datasets.inflation import UP_TO, run_workload, seeded
from wattpack.errors import UserError
from wattpack.experiments.curves import at, unreached_loads
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import Workload


def need_gpus(name: str, datacenter: Datacenter) -> None:
    """Loads, GRAR and savings at a load are shares of GPUs: without any there is nothing to compare."""
    if datacenter.gpu_milli == 0:
        raise UserError(f"{name}: no node has a GPU, expected at least one")


def need_tasks(name: str, trace: Workload) -> None:
    if len(trace) == 0:
        raise UserError(f"{name}: no tasks, expected at least one")


def need_loads(
    name: str, trace: Workload, datacenter: Datacenter, loads: Sequence[float], seeds: Iterable[int]
) -> None:
    """Runs end before the first task that would exceed the load 1.3: a large one may end them before `loads`."""
    capacity_milli, largest_milli = datacenter.gpu_milli, int(trace.gpu_request_milli().max(initial=0))
    if largest_milli <= (UP_TO - max(loads)) * capacity_milli:
        return
    for seed in seeds:
        drawn = run_workload(trace, capacity_milli, seeded(seed).workload)
        unreached = unreached_loads(int(drawn.gpu_request_milli().sum()), capacity_milli)
        for load in loads:
            if unreached[at(load)]:
                raise UserError(f"{name}: no run reaches load {load:g}, expected --loads below")
