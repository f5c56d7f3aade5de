"""What every experiment needs of its inputs, refused in the same words by all commands."""

from __future__ import annotations

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
