"""Asks a running `wattpack serve` for a decision, and prints decisions in a live cluster."""

from __future__ import annotations

import contextlib
import http.client
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from wattpack.cli.consoles import wide_console
from wattpack.errors import RunError, UserError
from wattpack.kube.authentication import TOKEN, UNAUTHORISED, with_token
from wattpack.kube.decision import Decision

SERVER = "http://127.0.0.1:8888"
DECISION = msgspec.json.Decoder(Decision)
JSON = msgspec.json.Decoder()


def ask(server: str, path: str, body: bytes | None = None) -> Decision:
    """A decision from a running `wattpack serve`."""
    return _ask(server, path, body, DECISION)


def ask_json(server: str, path: str) -> Any:
    """Any answer of it."""
    return _ask(server, path, None, JSON)


def _ask(server: str, path: str, body: bytes | None, decoder: Any) -> Any:
    if not server.startswith(("http://", "https://")):
        raise UserError(f"--server {server}: expected an address like {SERVER}")
    try:
        request = urllib.request.Request(server.rstrip("/") + path, body, {"Content-Type": "application/json"})
        for name, value in with_token().items():
            request.add_unredirected_header(name, value)  # another server does not get it
        with urllib.request.urlopen(request, timeout=30) as answer:
            return decoder.decode(answer.read())
    except urllib.error.HTTPError as fault:
        text = fault.read()[:500].decode(errors="replace")
        with contextlib.suppress(msgspec.DecodeError, KeyError, TypeError):
            text = str(msgspec.json.decode(text)["error"])
        if fault.code == UNAUTHORISED:
            raise UserError(f"{server}: {text} in {TOKEN}") from None
        raise (UserError if fault.code in (400, 404, 422) else RunError)(f"{server}: {text}") from None
    except (ValueError, http.client.InvalidURL) as fault:  # a port that is no number, half of an IPv6 address, a space
        raise UserError(f"--server {server}: {fault}, expected an address like {SERVER}") from None
    except (OSError, http.client.HTTPException, msgspec.DecodeError) as fault:
        reason = getattr(fault, "reason", fault)
        raise RunError(f"{server}: {reason}; is `wattpack serve` running there?") from None


def print_decision(decision: Decision) -> None:
    """One decision: the sentence, the best nodes, what is missing elsewhere."""
    console = wide_console()
    task = decision.task
    gpu = f"{task.num_gpu} GPU x {task.gpu_milli} milli" if task.num_gpu else "no GPU"
    model = f", model {task.gpu_spec}" if task.gpu_spec else ""
    name = f"{decision.namespace}/{decision.pod}".strip("/") or "pod"
    console.print(Text(f"{name} ({task.cpu_milli} milli-vCPU, {task.memory_mib} MiB, {gpu}{model})"))
    if decision.note:
        console.print(Text(decision.note))
    if decision.best and decision.best[0].scores:
        console.print(score_table(decision))
    if decision.nearest:
        table = Table(show_edge=False)
        table.add_column("nearest nodes")
        table.add_column("missing")
        for lack in decision.nearest:
            table.add_row(Text(lack.node), Text(lack.missing))
        console.print(table)
    reasons = "; ".join(f"{reason}: {count}" for reason, count in decision.refused.items())
    if reasons:
        console.print(Text(f"{sum(decision.refused.values())} of {decision.offered} nodes do not fit ({reasons})"))
    console.print(Text(f"decision: {decision.words()}"))


def score_table(decision: Decision) -> Table:
    table = Table(show_edge=False)
    table.add_column("node")
    costed = decision.best[0].watts is not None
    for name in decision.best[0].scores:
        table.add_column(f"{name}\nraw", justify="right")
        table.add_column(f"{name}\nnormalised", justify="right")
    for name in ("total", *(("watts", "fragmented\nGPUs") if costed else ())):
        table.add_column(name, justify="right")
    for row in decision.best:
        cells = [f"{value:g}" for pair in row.scores.values() for value in pair]
        cells.append(f"{row.total:g}")
        if row.watts is not None and row.fragmentation_gpus is not None:
            cells += [f"{row.watts:+.1f}", f"{row.fragmentation_gpus:+.3f}"]
        table.add_row(Text(f"{row.node} <-" if row.node == decision.node else row.node), *cells)
    return table
