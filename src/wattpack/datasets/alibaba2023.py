"""The built-in datacenter and the 13 traces of the paper: counts of the Alibaba GPU trace of 2023 (see NOTICE).

The tables hold the number of nodes of each type and of tasks of each class, sorted, and nothing else from the published
files: no names, no times, no order of arrival. `tools/make_tables.py` writes them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from wattpack.datasets.node_table import About, nodes_of, table
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import TaskClass, Workload

NAME = "alibaba2023"
TABLE = "nodes.csv"

ABOUT = About(
    summary="the datacenter of the paper: 1,213 nodes of 2023 with T4, P100, V100 and two unnamed models",
    source="node list of cluster-trace-gpu-v2023, published by Alibaba Group, nodes with GPUs; counts only",
    assumptions=(
        "G2 is taken for A10 and G3 for A100, as in the paper",
        "CPU models are not published: the default CPU of the power profile, the paper's Xeon E5-2682 v4",
    ),
)

TRACES: tuple[str, ...] = (
    "default",
    "multigpu20",
    "multigpu30",
    "multigpu40",
    "multigpu50",
    "gpushare40",
    "gpushare60",
    "gpushare80",
    "gpushare100",
    "gpuspec10",
    "gpuspec20",
    "gpuspec25",
    "gpuspec33",
)

CLASS_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec")


@cache
def datacenter() -> Datacenter:
    """The 1,213 nodes with GPUs, type after type in the order of the table: by model, GPUs, vCPU, memory."""
    return nodes_of(TABLE, NAME)


@cache
def trace(name: str) -> Workload:
    """A trace of the paper by name. Only its counts are facts: the order is that of the table, not one of arrival."""
    if name not in TRACES:
        raise UserError(f"unknown trace {name!r}, expected one of {', '.join(TRACES)}")
    counts = [(_task_class(row), int(row[name])) for row in table("classes.csv") if row[name] != ""]
    return replace(Workload.from_counts(counts, name=name), in_order=False)


def _task_class(row: dict[str, str]) -> TaskClass:
    return TaskClass(
        int(row["cpu_milli"]), int(row["memory_mib"]), int(row["num_gpu"]), int(row["gpu_milli"]), row["gpu_spec"]
    )
