"""A datacenter or a trace from what a user types: a built-in name or the path of a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wattpack.datasets import alibaba2023
from wattpack.datasets.csv_files import read_datacenter, read_workload
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import Workload

DATACENTERS: tuple[str, ...] = (alibaba2023.NAME,)


def load_datacenter(name_or_path: str | Path) -> Datacenter:
    """A built-in datacenter by name, else the nodes of a file. A name wins over a file: write `./NAME` for the file."""
    if name_or_path in DATACENTERS:
        return alibaba2023.datacenter()
    return read_datacenter(_existing(name_or_path, "datacenter", DATACENTERS))


def load_trace(name_or_path: str | Path) -> Workload:
    """A built-in trace by name, else the tasks of a file. A name wins over a file: write `./NAME` for the file."""
    if name_or_path in alibaba2023.TRACES:
        return alibaba2023.trace(str(name_or_path))
    return read_workload(_existing(name_or_path, "trace", alibaba2023.TRACES))


def _existing(name_or_path: str | Path, what: str, known: Sequence[str]) -> Path:
    path = Path(name_or_path)
    try:
        exists = path.exists()
    except (OSError, ValueError):  # too long for a file name, or not a file name at all
        exists = False
    if not exists or str(name_or_path) == "":
        raise UserError(f"{str(name_or_path)!r}: no {what} of this name and no such file; known: {', '.join(known)}")
    if any("\ud800" <= letter <= "\udfff" for letter in str(path)):  # how Python reads bytes that are no UTF-8
        raise UserError(f"{str(path)!r}: not UTF-8, expected a file name that result files can hold")
    return path
