"""A datacenter as node types with counts, and as rows of a nodes file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wattpack.datasets.csv_files import NODE_COLUMNS
from wattpack.model.nodes import Datacenter


class TypeOfNodes(NamedTuple):
    """Equal nodes of a datacenter."""

    nodes: int
    gpus: int  # of one node
    model: str
    cpu_milli: int
    memory_mib: int
    cpu_model: str  # "" for the default of the power profile
    first: int  # the first of them, in node order


def types_of(datacenter: Datacenter) -> list[TypeOfNodes]:
    """In the order of their first nodes."""
    _, firsts, counts = np.unique(datacenter.types, return_index=True, return_counts=True)
    found = [
        TypeOfNodes(
            count,
            int(datacenter.gpus[n]),
            datacenter.models[datacenter.model[n]],
            int(datacenter.cpu_milli[n]),
            int(datacenter.memory_mib[n]),
            datacenter.cpu_models[datacenter.cpu_model[n]],
            n,
        )
        for n, count in zip(firsts.tolist(), counts.tolist(), strict=True)
    ]
    return sorted(found, key=lambda one: one.first)


def file_header(datacenter: Datacenter) -> tuple[str, ...]:
    """The columns of a nodes file that holds this datacenter: CPU models and base power only where there are some."""
    cpu = ("cpu_model",) if any(datacenter.cpu_models) else ()
    return (*NODE_COLUMNS, *cpu, *(("base_w",) if datacenter.own_base_mw is not None else ()))


def file_rows(datacenter: Datacenter) -> Iterator[tuple[object, ...]]:
    """One row a node, in node order."""
    with_cpu, base = any(datacenter.cpu_models), datacenter.own_base_mw
    base_w = [()] * len(datacenter) if base is None else [("" if mw < 0 else f"{mw / 1000:g}",) for mw in base.tolist()]
    columns = (datacenter.cpu_milli, datacenter.memory_mib, datacenter.gpus, datacenter.model, datacenter.cpu_model)
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    for name, (cpu, memory, gpus, model, cpu_model), last in zip(datacenter.names, numbers, base_w, strict=True):
        row = (name, cpu, memory, gpus, datacenter.models[model])
        yield (*row, *([datacenter.cpu_models[cpu_model]] if with_cpu else []), *last)
