"""A datacenter or a trace from what a user gives: a built-in name, the path of a CSV file, or columns in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path

from wattpack.datasets import alibaba2023, alibaba2026
from wattpack.datasets.columns import Columns, datacenter_from, workload_from
from wattpack.datasets.csv_files import read_datacenter
from wattpack.datasets.edits import edited, split_edits
from wattpack.datasets.power_files import as_profile
from wattpack.datasets.timed_files import read_with_times
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.tasks import Workload

BUILT_IN = {module.NAME: module for module in (alibaba2023, alibaba2026)}
DATACENTERS: tuple[str, ...] = tuple(BUILT_IN)


def load_datacenter(
    source: str | Path | Columns,
    name: str | None = None,
    power: PowerProfile | str | Path | None = None,
    add: Sequence[str] | str = (),
    remove: Sequence[str] | str = (),
    replace: Sequence[str] | str = (),
) -> Datacenter:
    """A built-in datacenter by name, the nodes of a CSV file, or those of columns: a dict of lists or a pandas frame.

    A built-in name wins over a file: write `./NAME` for the file. Columns have the names of the file's. `name` is what
    results call the datacenter; default: that of the built-in one, of the file, or "datacenter".

    `remove`, `replace` and `add` are edits such as `["T4"]`, `["A10=L4"]` and `["20xH100-8"]`, done in this order; they
    may also stand behind the name, as in `"alibaba2023 --remove T4 --add 20xH100-8"`. `power`: a power profile or
    its name, or the path of a power file, that knows the models; default: the paper's and the catalog's models.
    """
    profile = as_profile(power)
    add, remove, replace = _words(add, "add"), _words(remove, "remove"), _words(replace, "replace")
    if isinstance(source, str) and not _is_there(source):
        source, more, less, other = split_edits(source)
        add, remove, replace = (*more, *add), (*less, *remove), (*other, *replace)
    if isinstance(source, Columns) and not isinstance(source, str | Path):
        found = datacenter_from(source, name or "datacenter", profile)
    elif isinstance(source, str) and source in BUILT_IN:
        found = BUILT_IN[source].datacenter()
    else:
        found = read_datacenter(_existing(source, "datacenter", DATACENTERS), profile)
    if add or remove or replace:
        found = edited(found, add, remove, profile, replace)
    return found if name is None else dataclasses.replace(found, name=name)


def load_trace(source: str | Path | Columns, name: str | None = None) -> Workload:
    """A built-in trace by name, the tasks of a CSV file, or those of columns: a dict of lists or a pandas frame.

    A built-in name wins over a file: write `./NAME` for the file. Columns have the names of the file's. `name` is what
    results call the trace; default: that of the built-in one, of the file, or "workload".

    Times in the file or the columns (docs/guide/traces.md) are kept for runs in time.
    """
    if isinstance(source, Columns) and not isinstance(source, str | Path):
        return workload_from(source, name or "workload", with_times=True)
    if isinstance(source, str) and source in alibaba2023.TRACES:
        found = alibaba2023.trace(source)
    else:
        found = read_with_times(_existing(source, "trace", alibaba2023.TRACES))
    return found if name is None else dataclasses.replace(found, name=name)


def as_datacenter(given: Datacenter | str | Path, profile: PowerProfile = PAPER) -> Datacenter:
    """The datacenter given, or the one of this built-in name or path."""
    if isinstance(given, Datacenter):
        return given
    named = _named(given, "datacenter", "a Datacenter (load_datacenter makes one of columns)")
    return load_datacenter(named, power=profile)


def as_workload(given: Workload | str | Path, what: str = "trace") -> Workload:
    """The workload given, or the one of this built-in name or path."""
    if isinstance(given, Workload):
        return given
    return load_trace(_named(given, what, "a Workload (load_trace makes one of columns)"))


def _words(given: object, what: str) -> tuple[str, ...]:
    """The edits of a list, or one alone."""
    words = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    for word in words:
        if not isinstance(word, str):
            raise UserError(f"{what}: {word!r}, expected texts like 'T4', 'T4=L4' or '20xH100-8'")
    return words


def _named(given: object, what: str, kind: str) -> str | Path:
    if not isinstance(given, str | Path):
        text = "None" if given is None else f"of type {type(given).__name__}"
        raise UserError(f"{what}: {text}, expected {kind}, a built-in name or the path of a CSV file")
    return given


def _existing(source: object, what: str, known: Sequence[str]) -> Path:
    if not isinstance(source, str | Path):
        text = "None" if source is None else f"of type {type(source).__name__}"
        raise UserError(f"{what}: {text}, expected a built-in name, the path of a CSV file or columns")
    path = Path(source)
    if not _is_there(path) or str(source) == "":
        raise UserError(f"{str(source)!r}: no {what} of this name and no such file; known: {', '.join(known)}")
    if any("\ud800" <= letter <= "\udfff" for letter in str(path)):  # how Python reads bytes that are no UTF-8
        raise UserError(f"{str(path)!r}: not UTF-8, expected a file name that result files can hold")
    return path


def _is_there(path: str | Path) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long for a file name, or not a file name at all
        return False
