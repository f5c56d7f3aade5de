"""The built-in datacenter and the 13 traces of the paper: counts of the Alibaba GPU trace of 2023 (see NOTICE).

The tables hold the number of nodes of each type and of tasks of each class, sorted, and nothing else from the published
files: no names, no times, no order of arrival. `tools/make_tables.py` writes them.
"""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from importlib.resources import files

from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import TaskClass, Workload

NAME = "alibaba2023"

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

NODE_TYPE_COLUMNS = ("cpu_milli", "memory_mib", "gpu", "model", "count")
CLASS_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec")


@cache
def datacenter() -> Datacenter:
    """The 1,213 nodes with GPUs, type after type in the order of the table: by model, GPUs, vCPU, memory.

    A node is named after its model and GPU count and numbered from 1 among those: `g2-8-0001`, `p100-2-0131`.
    """
    names: list[str] = []
    cpu_milli: list[int] = []
    memory_mib: list[int] = []
    gpus: list[int] = []
    models: list[str] = []
    named: Counter[str] = Counter()
    for row in _table("nodes.csv"):
        prefix = f"{row['model'].lower()}-{row['gpu']}"
        for _ in range(int(row["count"])):
            named[prefix] += 1
            names.append(f"{prefix}-{named[prefix]:04d}")
            cpu_milli.append(int(row["cpu_milli"]))
            memory_mib.append(int(row["memory_mib"]))
            gpus.append(int(row["gpu"]))
            models.append(row["model"])
    return Datacenter.of(names, cpu_milli, memory_mib, gpus, models, name=NAME)


@cache
def trace(name: str) -> Workload:
    """A trace of the paper by name. Only its counts are facts; the order of arrival is that of the table."""
    if name not in TRACES:
        raise UserError(f"unknown trace {name!r}, expected one of {', '.join(TRACES)}")
    counts = [(_task_class(row), int(row[name])) for row in _table("classes.csv") if row[name] != ""]
    return Workload.from_counts(counts, name=name)


def _task_class(row: dict[str, str]) -> TaskClass:
    return TaskClass(
        int(row["cpu_milli"]), int(row["memory_mib"]), int(row["num_gpu"]), int(row["gpu_milli"]), row["gpu_spec"]
    )


@cache
def _table(file: str) -> tuple[dict[str, str], ...]:
    text = (files("wattpack.datasets") / "tables" / file).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))
