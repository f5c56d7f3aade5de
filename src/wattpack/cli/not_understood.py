"""Nodes that take no new tasks, or none with GPUs: closed in the datacenter that a command works on, and named."""

from __future__ import annotations

from pathlib import Path

from wattpack.cli.streams import note
from wattpack.datasets.csv_files import Row, read_rows
from wattpack.datasets.sources import DATACENTERS
from wattpack.model.nodes import Datacenter
from wattpack.model.pools import CPU, NAMED, NONE

# Beside the files of `wattpack import`: pods on nodes that are not tasks. Where they ask for accelerators, those GPUs
# would look free; without (an empty `resource`) only their CPU and memory is taken.
NOT_UNDERSTOOD = "not-understood.csv"
COLUMNS = ("pod", "node", "resource")
SHOWN = 3


def with_closed_nodes(datacenter: Datacenter, nodes: Path, *others: Path) -> Datacenter:
    """The datacenter of the file `nodes`; nodes with pods that were not understood take no tasks with GPUs.

    Looks for the list of such pods beside each file: any of them may lie in the folder of the import.
    """
    held = _not_understood(nodes, *others)
    closed = datacenter.closed_to_gpu_tasks(held) if held else datacenter
    if all(pool.only in ("", NAMED) for pool in closed.pools):
        return closed
    # A built-in datacenter and a pipe have no reasons to read.
    plain = str(nodes) not in DATACENTERS and nodes.is_file()
    rows = read_rows(nodes, ("sn",), ("why",)) if plain else ()
    why = {row.text("sn"): row.text("why") for row in rows}
    why |= {name: f"{'; '.join(pods[:SHOWN])}{more(pods)}" for name, pods in held.items()}
    for word, what in ((NONE, "no new task"), (CPU, "no new task with GPUs")):
        names = [n for n, p in zip(closed.names, closed.pool.tolist(), strict=True) if word in closed.pools[p].only]
        if names:
            said = [f"{name} ({why[name]})" if why.get(name) else name for name in names[:SHOWN]]
            takes = "node takes" if len(names) == 1 else "nodes take"
            note(f"{len(names)} {takes} {what}: {', '.join(said)}{more(names)}")
    return closed


def nodes_with_others(*files: Path) -> frozenset[str]:
    """Nodes with pods that are not tasks, by the lists beside the files: without tasks they are not empty."""
    return frozenset(row.text("node") for row in _listed(*files))


def more(names: list[str]) -> str:
    return f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""


def _not_understood(*files: Path) -> dict[str, list[str]]:
    """Node -> its pods that hold accelerators which could not be counted, with what they ask for."""
    found: dict[str, list[str]] = {}
    for row in _listed(*files):
        if row.text("resource"):
            found.setdefault(row.text("node"), []).append(f"{row.text('pod')} asks for {row.text('resource')}")
    return found


def _listed(*files: Path) -> list[Row]:
    listed = [folder / NOT_UNDERSTOOD for folder in dict.fromkeys(file.parent for file in files)]
    return [row for path in listed if path.is_file() for row in read_rows(path, COLUMNS, ())]
