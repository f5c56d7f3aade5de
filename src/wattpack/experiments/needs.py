"""What every experiment needs of its inputs, refused in the same words by all commands."""

from __future__ import annotations

from collections.abc import Iterable

from wattpack.datasets.inflation import UP_TO, run_workload, seeded
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import Workload


def need_gpus(name: str, datacenter: Datacenter) -> None:
    """Loads, GRAR and savings at a load are shares of GPUs: without any there is nothing to compare."""
    if datacenter.gpu_milli == 0:
        raise UserError(f"{name}: no node has a GPU, expected at least one")


def need_tasks(name: str, trace: Workload) -> None:
    if len(trace) == 0:
        raise UserError(f"{name}: no tasks, expected at least one")


def need_gpu_tasks(name: str, trace: Workload, datacenter: Datacenter, seeds: Iterable[int]) -> None:
    """A run ends before the first task that asks for more GPUs than are left; it must not end before its first one."""
    if int(trace.gpu_request_milli().max(initial=0)) <= UP_TO * datacenter.gpu_milli:
        return
    for seed in seeds:
        drawn = run_workload(trace, datacenter.gpu_milli, seeded(seed).workload)
        if int(drawn.gpu_request_milli().sum()) == 0:
            gpus = int(datacenter.gpus.sum())
            raise UserError(
                f"{name}: no run reaches any load, since with seed {seed} the first GPU task asks for more than the "
                f"datacenter's {gpus} GPUs, expected smaller tasks or more nodes"
            )
