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
    base_mw = np.zeros(len(datacenter)) if datacenter.own_base_mw is None else datacenter.own_base_mw
    kinds = np.stack([datacenter.types, base_mw], axis=1)
    _, firsts, counts = np.unique(kinds, axis=0, return_index=True, return_counts=True)
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
    """The columns of a nodes file that holds this datacenter: optional ones only where they say something."""
    return (*NODE_COLUMNS, *_optional(datacenter))


def _optional(datacenter: Datacenter) -> dict[str, list[str]]:
    """The optional columns that say something."""
    base_mw = [] if datacenter.own_base_mw is None else datacenter.own_base_mw.tolist()
    capacity_milli = [] if datacenter.own_capacity_milli is None else datacenter.own_capacity_milli.tolist()
    pools = [datacenter.pools[pool] for pool in datacenter.pool.tolist()]
    columns = {
        "cpu_model": [datacenter.cpu_models[model] for model in datacenter.cpu_model.tolist()],
        "pool": [pool.name for pool in pools],
        "only": [pool.only for pool in pools],
        "base_w": ["" if mw < 0 else f"{mw / 1000:.12g}" for mw in base_mw],
        "capacity_milli": ["" if milli < 0 else str(milli) for milli in capacity_milli],
    }
    return {column: texts for column, texts in columns.items() if any(texts)}


def file_rows(datacenter: Datacenter) -> Iterator[tuple[object, ...]]:
    """One row a node, in node order."""
    numbers = (column.tolist() for column in (datacenter.cpu_milli, datacenter.memory_mib, datacenter.gpus))
    models = [datacenter.models[model] for model in datacenter.model.tolist()]
    yield from zip(datacenter.names, *numbers, models, *_optional(datacenter).values(), strict=True)
