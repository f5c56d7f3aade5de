"""A running `wattpack serve` as the page shows it: read-only, asked by this server, never by the page."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from wattpack.errors import RunError, UserError
from wattpack.kube.authentication import TOKEN, UNAUTHORISED, with_token
from wattpack.kube.decision import DecisionLine
from wattpack.kube.measured import Power
from wattpack.kube.questions import State
from wattpack.kube.shadow import ShadowTable
from wattpack.kube.sleep.states import State as SleepState
from wattpack.kube.sleep.status import SleepStatus
from wattpack.model.power import GPU_MILLI
from wattpack.ui.answers import LiveModel, LiveSleep, LiveView

TIMEOUT_S = 10
MAX_BYTES = 256 << 20  # the state of 100,000 nodes
NOT_THERE = 404  # shadow mode or [sleep] is off, or an earlier version
AWAKE, ASLEEP = SleepState.AWAKE.value, SleepState.ASLEEP.value
SLEEP_NODES = 40
COUNTED = re.compile(r'^wattpack_sleep_(changes|errors)_total\{\w+="([^"]*)"\} ([0-9.e+]+)$', re.MULTILINE)


def check_live(address: str) -> None:
    """Refuse what cannot be the address of a service."""
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good or not address.isprintable() or any(letter.isspace() for letter in address):
        raise UserError(f"--live {address!r}, expected an address like http://127.0.0.1:8888")


async def live_view(address: str) -> LiveView:
    """The cluster now. Nodes are added up by model: a page need not hold them all."""
    if not address:
        raise UserError("no service is watched, expected `wattpack ui --live ADDRESS`")
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)) as session:
        state, decisions, shadow, power, sleep, metrics = await asyncio.gather(
            _get(session, address, "/state", State),
            _get(session, address, "/decisions", list[DecisionLine]),
            _get(session, address, "/shadow", ShadowTable),
            _get(session, address, "/power", Power),
            _get(session, address, "/sleep", SleepStatus),
            _get(session, address, "/metrics", str),
        )
    if state is None:
        raise RunError(f"{address}: no /state there, expected a running `wattpack serve`")
    models = by_model(
        state,
        {} if sleep is None else {own["node"]: own["asleep_w"] for own in sleep["nodes"] if own["state"] == ASLEEP},
    )
    return LiveView(
        address=address,
        policy=state["policy"],
        auto=state["auto"],
        mode=state["mode"],
        ready=state["ready"],
        leader=state["leader"],
        power_w=state["power_w"],
        fragmentation_gpus=state["fragmentation_gpus"],
        nodes=len(state["nodes"]),
        gpus=sum(model.gpus for model in models),
        gpus_in_use=sum(model.in_use for model in models),
        tasks=sum(node["tasks"] for node in state["nodes"]),
        waiting=state["waiting"],
        reserved=len(state["promised"]),
        models=models,
        not_understood=[
            f"{name}: {why}"
            for kind in ("unreadable_nodes", "unreadable_pods", "gpu_conflicts", "closed_nodes")
            for name, why in sorted(state[kind].items())[:20]
        ]
        + [  # nodes and pods that are skipped are among the unreadable ones
            f"{name}: {why}"
            for name, why in sorted(state["skipped"].items())[:20]
            if not name.startswith(("nodes ", "pods "))
        ],
        decisions=decisions or [],
        shadow=shadow,
        measured=[] if power is None else power["models"],
        sleep=None if sleep is None else asleep(sleep, metrics or ""),
    )


def asleep(status: SleepStatus, metrics: str) -> LiveSleep:
    """Nodes that sleep or change, the latest first; nodes that merely may sleep are only counted."""
    changed = [node for node in status["nodes"] if node["state"] != AWAKE]
    would = [node for node in status["nodes"] if node["would_sleep"]]
    changed.sort(key=lambda node: node["since"], reverse=True)
    found = COUNTED.findall(metrics)
    return LiveSleep(
        mode=status["mode"],
        acting=status["acting"],
        stopped=status["stopped"],
        reserve_gpus=status["reserve_gpus"],
        free_gpus=status["free_gpus"],
        saved_w=status["saved_w"],
        would_save_w=status["would_save_w"],
        may_sleep=len(status["nodes"]),
        would_sleep=len(would),
        states=dict(Counter(node["state"] for node in changed)),
        nodes=[*changed, *would][:SLEEP_NODES],
        changes={label: int(float(count)) for name, label, count in found if name == "changes"},
        errors=sum(int(float(count)) for name, _, count in found if name == "errors"),
    )


def by_model(state: State, asleep_w: dict[str, float]) -> list[LiveModel]:
    """Nodes, GPUs and watts of each GPU model; nodes without GPUs last. `asleep_w`: what nodes asleep draw."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0, 0.0])
    for node in state["nodes"]:
        row, left = sums[node["model"]], node["gpu_left_milli"]
        row[0] += 1
        row[1] += len(left)
        row[2] += sum(GPU_MILLI - milli for milli in left) / GPU_MILLI
        row[3] += asleep_w.get(node["node"], node["power_w"])
    found = [LiveModel(model, int(row[0]), int(row[1]), row[2], row[3]) for model, row in sums.items()]
    return sorted(found, key=lambda own: (own.model == "", own.model))


async def _get(session: aiohttp.ClientSession, address: str, path: str, kind: Any) -> Any:
    """The answer as a type, or as text; None where the service has no such page."""
    try:
        async with session.get(address.rstrip("/") + path, allow_redirects=False, headers=with_token()) as answer:
            if answer.status == NOT_THERE:
                return None
            if answer.status == UNAUTHORISED:
                raise RunError(f"{address}{path}: answered 401, expected its token in {TOKEN}")
            if answer.status != 200:
                raise RunError(f"{address}{path}: answered {answer.status}")
            if answer.content_length is not None and answer.content_length > MAX_BYTES:
                raise RunError(f"{address}{path}: {answer.content_length:,} bytes, expected at most {MAX_BYTES:,}")
            if kind is str:
                return await answer.text()
            return msgspec.json.decode(await answer.read(), type=kind)
    except (aiohttp.ClientError, TimeoutError, OSError) as fault:
        raise RunError(f"{address}: {fault or type(fault).__name__}; is `wattpack serve` running there?") from None
    except msgspec.DecodeError as fault:
        raise RunError(f"{address}{path}: {fault}, expected a `wattpack serve` of this version") from None
