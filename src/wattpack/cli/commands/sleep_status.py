"""`wattpack sleep status`: which nodes sleep, why, and how to get them back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wattpack.cli.ask_nodes import at_cluster
from wattpack.cli.ask_service import ask_json

if TYPE_CHECKING:
    from wattpack.kube.client import Client

COLUMNS = ("node", "state", "since", "why", "promised")


def sleep_status_command(
    *, kubeconfig: Path | None = None, server: str | None = None, json: bool = False, undo: bool = False
) -> None:
    """Which nodes sleep, or are on their way, and why; read from the Nodes, so it works while the service is dead.

    Parameters
    ----------
    kubeconfig
        How to reach the cluster; default: $KUBECONFIG, the service account of the pod, ~/.kube/config.
    server
        Ask a running `wattpack serve` instead, for example http://127.0.0.1:8888: also nodes that are awake, what the
        rule would switch off now, and watts.
    json
        As JSON.
    undo
        Also say how to get each node back without wattpack.
    """
    import msgspec

    if server is not None:
        status = ask_json(server, "/sleep")
        rows = status["nodes"]
    else:
        rows = at_cluster(kubeconfig, from_nodes)
        status = {"nodes": rows}
    if json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(status), indent=2).decode() + "\n")
        return
    print_rows(rows, undo)
    if server is not None:
        print(
            f"mode {status['mode']}: {status['saved_w']:.0f} W saved now, {status['would_save_w']:.0f} W possible; "
            f"{status['free_gpus']} GPUs free and awake, {status['reserve_gpus']} are to be"
            + (f"; stopped: {status['stopped']}" if status["stopped"] else "")
        )


async def from_nodes(client: Client) -> list[dict[str, object]]:
    """A row for each Node with a record, or that is held."""
    from wattpack.kube.sleep.record import HOLD, asked_of, record_of, undo_of

    nodes, _ = await client.list_nodes()
    rows: list[dict[str, object]] = []
    for node in sorted(nodes, key=lambda node: node.metadata.name):
        record, held = record_of(node), asked_of(node) == HOLD
        if record is None and not held:
            continue
        rows.append(
            {
                "node": node.metadata.name,
                "state": record.state.value if record else "awake",
                "since": record.since if record else "",
                "why": record.why if record else "held awake by a person",
                "undo": undo_of(node) if record else "",
                "held": held,
                "promised": [promised.pod for promised in record.promised] if record else [],
            }
        )
    return rows


def print_rows(rows: list[dict[str, object]], undo: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from wattpack.cli.consoles import wide_console

    if not rows:
        print("no node sleeps")
        return
    table = Table(show_edge=False)
    for column in (*COLUMNS, *(("undo",) if undo else ())):
        table.add_column(column)
    for row in rows:
        promised = row["promised"]
        cells = [str(row[column]) for column in COLUMNS[:-1]]
        cells.append(", ".join(promised) if isinstance(promised, list) else "")
        table.add_row(*map(Text, cells), *([Text(str(row["undo"]))] if undo else []))
    wide_console().print(table)
