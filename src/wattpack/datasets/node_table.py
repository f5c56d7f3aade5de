"""Built-in datacenters are tables of node types with counts; this makes the nodes, and tells what is built in."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from wattpack.model.nodes import Datacenter

NODE_TYPE_COLUMNS = ("cpu_milli", "memory_mib", "gpu", "model", "count")


class About(NamedTuple):
    """What `wattpack datacenters` says of a built-in datacenter beside its numbers."""

    summary: str
    source: str
    assumptions: tuple[str, ...]


@cache
def table(file: str) -> tuple[dict[str, str], ...]:
    """The rows of a table of this package."""
    text = (files("wattpack.datasets") / "tables" / file).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def nodes_of(file: str, name: str) -> Datacenter:
    """The nodes of a table, type after type in its order: by model, GPUs, vCPU, memory.

    A node is named after its model and GPU count and numbered from 1 among those: `g2-8-0001`, `p100-2-0131`.
    """
    names: list[str] = []
    cpu_milli: list[int] = []
    memory_mib: list[int] = []
    gpus: list[int] = []
    models: list[str] = []
    named: Counter[str] = Counter()
    for row in table(file):
        prefix = f"{row['model'].lower()}-{row['gpu']}"
        for _ in range(int(row["count"])):
            named[prefix] += 1
            names.append(f"{prefix}-{named[prefix]:04d}")
            cpu_milli.append(int(row["cpu_milli"]))
            memory_mib.append(int(row["memory_mib"]))
            gpus.append(int(row["gpu"]))
            models.append(row["model"])
    return Datacenter.of(names, cpu_milli, memory_mib, gpus, models, name=name)
