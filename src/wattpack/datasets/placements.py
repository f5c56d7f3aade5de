"""Placement files: which node and which GPUs each task of a workload is on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.csv_files import MAX_BYTES, Row, rows_in
from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.errors import UserError
from wattpack.model.nodes import MAX_GPUS, Datacenter
from wattpack.model.tasks import Workload

COLUMNS = ("task", "node", "gpu_index")  # of a placement file, and of the decisions of a run


@dataclass(frozen=True)
class Placements:
    """Where each task of a workload is."""

    file: Path
    node: NDArray[np.int32]  # -1: not placed
    gpus: NDArray[np.int32]  # bit set

    def only(self, tasks: NDArray[np.bool_]) -> Placements:
        """Those of some tasks."""
        return Placements(self.file, self.node[tasks], self.gpus[tasks])


def read_placements(file: Path, datacenter: Datacenter, workload: Workload) -> Placements:
    """`task,node,gpu_index`; a task that is not in the file is not placed."""
    tasks = {name: i for i, name in enumerate(workload.task_names or ())}
    nodes = {name: n for n, name in enumerate(datacenter.names)}
    if len(tasks) < len(workload):
        raise UserError(f"{file}: two tasks of the tasks file have the same name, expected different ones")
    node, gpus = np.full(len(workload), -1, dtype=np.int32), np.zeros(len(workload), dtype=np.int32)
    seen: set[str] = set()
    data = read_bytes_up_to(file, MAX_BYTES, "a CSV file")
    if tasks and not data.strip():  # cut off or never written; it would free every GPU
        raise UserError(f"{file}: empty, expected a header ({','.join(COLUMNS)}) and a line for each task")
    for row in rows_in(file, data, COLUMNS, ()):
        task = row.text("task")
        if task not in tasks or task in seen:
            raise row.fault("task", "a task of the tasks file, once")
        seen.add(task)
        name = row.text("node")
        if name == "":
            continue
        if name not in nodes:
            raise row.fault("node", "empty or a node of the nodes file")
        node[tasks[task]] = nodes[name]
        gpus[tasks[task]] = _bits(row)
    return Placements(file, node, gpus)


def _bits(row: Row) -> int:
    parts = row.text("gpu_index").split("-") if row.text("gpu_index") else []
    numbers = {int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 3}
    if len(numbers) != len(parts) or any(number >= MAX_GPUS for number in numbers):
        raise row.fault("gpu_index", f"empty or different numbers below {MAX_GPUS} like 0-3-4")
    return sum(1 << number for number in numbers)
